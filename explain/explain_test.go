package explain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/backends/look"
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/explain"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// linked asserts that every step begins where the one before ended.
func linked(t *testing.T, c *explain.Chain) {
	now := c.First
	for i, s := range c.Steps {
		require.Equal(t, now, s.Before, "%s: step %d, %s", c.Title, i, s.Law)
		require.NotEqual(t, s.Before, s.After, "%s: step %d, %s, changes nothing", c.Title, i, s.Law)
		assert.NotEmpty(t, s.Law)
		assert.Regexp(t, `^(schedule|symbolic|codegen)((/\w+)+\.go(:\d+)?)?$`, s.At, "where the law is")
		now = s.After
	}
}

// told explains a graph and asserts that the story is whole: it gives as many steps of kernels as there are.
func told(t *testing.T, language string, whole bool, nodes ...*uop.UOp) (steps int, rest []string) {
	e, err := look.Open(language)
	require.NoError(t, err)
	x, err := e.Explain(explain.MostLaws, nodes...)
	require.NoError(t, err)
	s := explain.New(x.History)
	g := s.Graph()
	linked(t, g)
	for _, step := range g.Steps {
		if strings.HasPrefix(step.Law, "phase ") {
			rest = append(rest, step.Before+"------\n"+step.After)
		}
	}
	k := 0
	for _, st := range x.Schedule.Steps {
		if st.Spec == nil {
			continue
		}
		c := s.Kernel(k)
		linked(t, c)
		assert.Equal(t, codegen.PrintSpec(st.Spec), c.Last(), "the last step of kernel %d is its Spec", k)
		assert.Empty(t, c.Left)
		steps += len(c.Steps)
		for i, step := range c.Steps {
			if step.Law == "elements are found and simplified" {
				rest = append(rest, step.Before+"------\n"+step.After)
			}
			if i == 0 && whole {
				assert.NotEmpty(t, step.Old)
			}
		}
		p, err := s.Passes(k, func(see func(codegen.Lowering)) (string, error) { return x.Passes(k, see) })
		require.NoError(t, err)
		linked(t, p)
		assert.Equal(t, c.Last(), p.First)
		k++
	}
	assert.Equal(t, s.Kernels(), k)
	return steps, rest
}

// Attention, as the page of the site has it: every step is a law's, none is left out.
func TestAttention(t *testing.T) {
	for _, language := range []string{"wgsl", "c"} {
		e, err := look.Open(language)
		require.NoError(t, err)
		q, k, v := holder(t, e, 2, 4, 64, 32), holder(t, e, 2, 4, 64, 32), holder(t, e, 2, 4, 64, 32)
		steps, rest := told(t, language, true, tensor.ScaledDotProduct(q, k, v, tensor.Attention{}).Node())
		assert.Empty(t, rest)
		assert.Greater(t, steps, 20)
		t.Logf("%s: %d steps", language, steps)
	}
}

// A training step of a convolutional network: forward, backward, update.
func TestTrainingStep(t *testing.T) {
	e, err := look.Open("wgsl")
	require.NoError(t, err)
	x, w, b := holder(t, e, 8, 1, 16, 16), holder(t, e, 4, 1, 3, 3), holder(t, e, 10, 4*7*7)
	loss := x.Conv2D(w, nil, tensor.Conv{}).ReLU().MaxPool2D(2).Flatten(1).MatMul(b.T()).LogSoftmax(-1).Mean()
	g := loss.Grad(w, b)
	steps, rest := told(t, "wgsl", true, loss.Node(), w.Sub(g[0].Mul(0.1)).Node(), b.Sub(g[1].Mul(0.1)).Node())
	assert.Empty(t, rest, strings.Join(rest, "\n"))
	t.Logf("%d steps", steps)
}

func holder(t *testing.T, e *engine.Engine, shape ...int) *tensor.Tensor {
	u, err := e.Empty(dtype.F32, shape)
	require.NoError(t, err)
	return tensor.FromNode(u, e)
}

// Other programs: whatever is not a law's own step is told as one of a phase, and what there is in the end is the kernel all the same.
func TestOthers(t *testing.T) {
	e, err := look.Open("c")
	require.NoError(t, err)
	x := func(shape ...int) *tensor.Tensor { return holder(t, e, shape...) }
	whole := func(v *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{v} }
	index := func() *tensor.Tensor { return x(7).ArgSort(0, false) }
	for name, roots := range map[string][]*tensor.Tensor{
		"one number":            whole(x(1).Add(1)),
		"nothing":               whole(x(0, 3).Add(1)),
		"a copy":                whole(x(3, 5).T()),
		"a matrix product":      whole(x(13, 17).MatMul(x(17, 11))),
		"softmax":               whole(x(5, 300).Softmax(-1)),
		"a strided convolution": whole(x(2, 3, 15, 13).Conv2D(x(4, 3, 3, 3), x(4), tensor.Conv{Stride: 2, Padding: 1})),
		"its gradient":          strided(x),
		"a large sum":           whole(x(1 << 20).Sum()),
		"a running sum":         whole(x(3, 1000).CumSum(1)),
		"a gather":              whole(x(7, 4).IndexSelect(0, index())),
		"an embedding's sum":    whole(x(7, 4).IndexSelect(0, index()).Sum(0)),
		"a sort":                whole(x(33).ArgSort(0, false)),
		"concatenation":         whole(tensor.Cat(0, x(3, 2), x(5, 2), x(1, 2)).Mul(2)),
		"windows":               whole(x(2, 3, 11, 9).MaxPool2D(2)),
		"a reshape across":      whole(x(6, 35).Reshape(14, 15).Add(x(15)).Reshape(7, 30)),
		"attention in blocks":   whole(tensor.ScaledDotProduct(x(2, 4, 256, 32), x(2, 4, 256, 32), x(2, 4, 256, 32), tensor.Attention{})),
		"a sum of sums":         whole(x(64, 32, 16).Sum(2).Reshape(32, 64).T().Sum(0)),
		"two results":           {x(4, 4).Exp(), x(4, 4).Exp().Sum(0)},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes []*uop.UOp
			for _, r := range roots {
				nodes = append(nodes, r.Node())
			}
			steps, rest := told(t, "c", false, nodes...)
			assert.Empty(t, rest)
			t.Logf("%d steps", steps)
		})
	}
}

func strided(x func(shape ...int) *tensor.Tensor) []*tensor.Tensor {
	in, w := x(2, 3, 15, 13), x(4, 3, 3, 3)
	return in.Conv2D(w, nil, tensor.Conv{Stride: 2, Padding: 1}).Square().Sum().Grad(in, w)
}

// What is too much to keep is told in a sentence, and what the kernels compute is there all the same.
func TestTooMuch(t *testing.T) {
	e, err := look.Open("c")
	require.NoError(t, err)
	x := holder(t, e, 4, 30)
	x2, err := e.Explain(3, x.Reshape(8, 15).Softmax(-1).T().Reshape(30, 4).Add(1).Node())
	require.NoError(t, err)
	s := explain.New(x2.History)
	require.Positive(t, s.Kernels())
	for k := range s.Kernels() {
		c := s.Kernel(k)
		assert.Contains(t, c.Left, "laws were applied")
		assert.Equal(t, codegen.PrintSpec(x2.Schedule.Steps[k].Spec), c.Last())
	}

	long := holder(t, e, 8)
	for i := range 1100 {
		long = long.Mul(float64(i) + 0.5).Exp()
	}
	x3, err := e.Explain(explain.MostLaws, long.Node())
	require.NoError(t, err)
	assert.Contains(t, explain.New(x3.History).Graph().Left, "are not told")
}

// Recording leaves no trace: a plan made while it is recorded is the one that is made otherwise.
func TestSamePlan(t *testing.T) {
	e, err := look.Open("wgsl")
	require.NoError(t, err)
	y := holder(t, e, 2, 4, 64, 32)
	node := tensor.ScaledDotProduct(y, y, y, tensor.Attention{}).Node()
	before, err := e.Plan(node)
	require.NoError(t, err)
	x, err := e.Explain(explain.MostLaws, node)
	require.NoError(t, err)
	assert.Equal(t, before.String(), x.View.String())
}
