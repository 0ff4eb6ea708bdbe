package fuzz

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// faultsOf are the errors that the bounds expect of what f makes of some numbers.
func faultsOf(t *testing.T, f func(x T) T, x ...float32) (*result, T) {
	graphs()
	s := newState(effort)
	leaf := tensor.Of(x, len(x))
	b, err := leaf.Bytes(background)
	require.NoError(t, err)
	s.eval.set(leaf.Node(), decode(dtype.F32, b))
	y := f(leaf)
	return &result{y.DType(), y.Shape(), s.eval.of(y.Node()), s.eval.faults(y.Node())}, y
}

// Where values make no sense an error must come, and no other; where that depends on rounding it may.
func TestFaults(t *testing.T) {
	list := func(x T) T { return x.To(dtype.I32) }
	for name, c := range map[string]struct {
		f    func(x T) T
		x    []float32
		want []fault
	}{
		"places inside":         {func(x T) T { return x.Gather(0, list(x)) }, []float32{0, 2, 1}, nil},
		"a place outside":       {func(x T) T { return x.Gather(0, list(x)) }, []float32{0, 5, 1}, []fault{{"Gather", "index 5 is out of range for axis 0 of size 3", true, true}}},
		"a place below":         {func(x T) T { return x.Gather(0, list(x)) }, []float32{0, -9, 1}, []fault{{"Gather", "index -9 is out of range for axis 0 of size 3", true, true}}},
		"what comes of it":      {func(x T) T { return x.Gather(0, list(x)).Sum().Detach() }, []float32{0, 5, 1}, []fault{{"Gather", "index 5 is out of range for axis 0 of size 3", true, true}}},
		"a singular matrix":     {func(x T) T { return x.Reshape(2, 2).Inv() }, []float32{1, 2, 2, 4}, []fault{{"Inv", "the matrix is singular: pivot 2 is 0", true, true}}},
		"a matrix that may be":  {func(x T) T { return x.Sin().Mul(0.1).Reshape(2, 2).Inv() }, []float32{1, 2, 1, 2}, []fault{{"Inv", "the matrix is singular: pivot %d is 0", false, false}}},
		"a matrix that is fine": {func(x T) T { return x.Reshape(2, 2).Inv() }, []float32{1, 2, 2, 5}, nil},
	} {
		w, y := faultsOf(t, c.f, c.x...)
		assert.Equal(t, c.want, w.faults, name)
		what, why := w.read(y)
		assert.Equal(t, Right, what, "%s: %s", name, why)
		other, z := faultsOf(t, func(x T) T { return x.Neg().Reshape(y.Shape()...) }, make([]float32, y.Numel())...)
		if len(c.want) > 0 && c.want[0].must {
			what, _ = w.read(z)
			assert.Equal(t, Wrong, what, "%s: a device that gives no error is wrong", name)
			what, _ = other.read(y)
			assert.Equal(t, Wrong, what, "%s: a device that gives an error of its own is wrong", name)
			w.faults[0].reason = "another"
			what, _ = w.read(y)
			assert.Equal(t, Wrong, what, "%s: a device that says something else is wrong", name)
		}
	}
}
