package onnx

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// random is what a node draws from: a generator of its own if an attribute is a seed, else the default one. Runs with random numbers are not
// captured.
func (c *call) random() *tensor.Generator {
	c.r.random = true
	switch a := c.attr("seed"); {
	case a == nil:
	case a.kind == attrInt:
		return tensor.NewGenerator(uint64(a.i))
	case a.kind == attrFloat:
		return tensor.NewGenerator(uint64(math.Float32bits(a.f)))
	default:
		c.fail("its seed is no number")
	}
	return tensor.DefaultGenerator()
}

// draws are uniform random numbers from 0 to 1 on the node's device.
func (c *call) draws(shape ...int) t {
	return c.random().RandOf(dtype.F32, shape...).On(c.r.eng.Name())
}

// drawn is an output of random numbers.
func (c *call) drawn(x t, e Elem) []*Value {
	v := c.out(x, e)
	v.known = false
	return []*Value{v}
}

func (c *call) shapeAttr() []int {
	shape, _ := c.attrInts("shape")
	for _, n := range shape {
		if n < 0 {
			c.fail("there is no shape %v", shape)
		}
		c.limited(n)
	}
	return shape
}

func (c *call) likeElem() Elem {
	return c.elemAttr("dtype", c.elem(0))
}

func (c *call) uniform(shape []int) t {
	lo, hi := c.attrFloat("low", 0), c.attrFloat("high", 1)
	return c.draws(shape...).Mul(hi - lo).Add(lo)
}

func (c *call) normal(shape []int) t {
	return c.random().Normal(c.attrFloat("mean", 0), c.attrFloat("scale", 1), shape...).On(c.r.eng.Name())
}

func bernoulli(c *call) []*Value {
	x := wide(c.t(0))
	return c.drawn(c.draws(x.Shape()...).To(x.DType()).Lt(x), c.likeElem())
}

func multinomial(c *call) []*Value {
	x := wide(c.t(0))
	n := c.attrInt("sample_size", 1)
	if x.Rank() != 2 || n < 1 || n > 1<<24 {
		c.fail("%d samples of %v", n, x.Shape())
	}
	noise := c.draws(x.Dim(0), n, x.Dim(1)).Maximum(1e-30).Log().Neg().Log().Neg()
	return c.drawn(x.Unsqueeze(1).Add(noise.To(x.DType())).ArgMax(2), c.elemAttr("dtype", Int32))
}

func init() {
	// The random numbers of Dropout with a seed attribute are those of its generator, too.
	register("", map[string]operator{
		"RandomUniform":     func(c *call) []*Value { return c.drawn(c.uniform(c.shapeAttr()), c.elemAttr("dtype", Float32)) },
		"RandomNormal":      func(c *call) []*Value { return c.drawn(c.normal(c.shapeAttr()), c.elemAttr("dtype", Float32)) },
		"RandomUniformLike": func(c *call) []*Value { return c.drawn(c.uniform(c.value(0).shape), c.likeElem()) },
		"RandomNormalLike":  func(c *call) []*Value { return c.drawn(c.normal(c.value(0).shape), c.likeElem()) },
		"Bernoulli":         bernoulli, "Multinomial": multinomial,
	})
}
