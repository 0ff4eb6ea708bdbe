package torchops

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// typeOr is the dtype argument or d.
func (c *call) typeOr(d dtype.DType) dtype.DType {
	if t, ok := c.DType("dtype"); ok {
		return t
	}
	return d
}

// natural is the type that torch gives host values.
func natural(vs ...any) dtype.DType {
	d := dtype.I64
	for _, v := range vs {
		switch v.(type) {
		case float64:
			return dtype.F32
		case bool:
			d = dtype.Bool
		}
	}
	return d
}

var creationOps = map[string]op{
	"torch.zeros": one("size, *, dtype=None", func(c *call) T { return tensor.Full(0, c.typeOr(dtype.F32), c.Ints("size")...) }),
	"torch.ones":  one("size, *, dtype=None", func(c *call) T { return tensor.Full(1, c.typeOr(dtype.F32), c.Ints("size")...) }),
	"torch.full": one("size, fill_value, *, dtype=None", func(c *call) T {
		return tensor.Full(c.value("fill_value"), c.typeOr(natural(c.value("fill_value"))), c.Ints("size")...)
	}),
	"torch.zeros_like": one("input, *, dtype=None", like(0)),
	"torch.ones_like":  one("input, *, dtype=None", like(1)),
	"torch.full_like": one("input, fill_value, *, dtype=None", func(c *call) T {
		x := c.T("input")
		return tensor.Full(c.value("fill_value"), c.typeOr(x.DType()), x.Shape()...)
	}),
	"torch.arange": one("start=None, end=None, step=1, *, dtype=None", arange),
	"torch.linspace": one("start, end, steps, *, dtype=None", func(c *call) T {
		return tensor.LinspaceOf(c.typeOr(dtype.F32), c.Float("start"), c.Float("end"), c.Int("steps"))
	}),
	"torch.logspace": one("start, end, steps, base=10.0, *, dtype=None", func(c *call) T {
		d := c.typeOr(dtype.F32)
		wide := dtype.F32
		if d == dtype.F64 || d.IsInt() {
			wide = dtype.F64
		}
		return tensor.LinspaceOf(wide, c.Float("start"), c.Float("end"), c.Int("steps")).RPow(c.Float("base")).To(d)
	}),
	"torch.eye": one("n, m=None, *, dtype=None", func(c *call) T {
		m := c.Int("n")
		if !c.None("m") {
			m = c.Int("m")
		}
		return tensor.Eye(c.Int("n"), m).To(c.typeOr(dtype.F32))
	}),
	"torch.tril_indices": one("row, col, offset=0, *, dtype=None", func(c *call) T { return triangle(c, true) }),
	"torch.triu_indices": one("row, col, offset=0, *, dtype=None", func(c *call) T { return triangle(c, false) }),
	"torch.vander":       one("x, N=None, increasing=False", vander),
}

func like(v int) func(c *call) T {
	return func(c *call) T {
		x := c.T("input")
		return tensor.Full(v, c.typeOr(x.DType()), x.Shape()...)
	}
}

func arange(c *call) T {
	start, end, step := c.value("start"), c.value("end"), c.value("step")
	if end == nil || !c.given["start"] {
		if !c.given["end"] {
			end = start
		}
		start = 0
	}
	return tensor.ArangeOf(c.typeOr(natural(start, end, step)), start, end, step)
}

func triangle(c *call, lower bool) T {
	y := tensor.TriangleIndices(c.Int("row"), c.Int("col"), c.Int("offset"), lower)
	return y.To(c.typeOr(dtype.I64))
}

func vander(c *call) T {
	n := c.T("x").Numel()
	if !c.None("N") {
		n = c.Int("N")
	}
	return c.T("x").Vander(n, c.Bool("increasing"))
}
