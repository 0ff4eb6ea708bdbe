package engine_test

import (
	"context"
	"encoding/binary"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// checked is x, which is right where the elements of index are below n.
func checked(x, index *uop.UOp, n int, op string) *uop.UOp {
	a := uop.CheckArg{Op: op, Reason: "number %d of " + op, N: n}
	return x.Check(index.OutsideCode(a), a)
}

func integers(t *testing.T, e *engine.Engine, v ...int32) *uop.UOp {
	t.Helper()
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(x))
	}
	u, err := e.FromBytes(dtype.I32, []int{len(v)}, raw)
	require.NoError(t, err)
	return u
}

func readError(e *engine.Engine, u *uop.UOp) error {
	return e.Read(context.Background(), u, make([]byte, u.Shape().Numel()*u.DType().Size()))
}

// Flags come back with a lost device, wherever it is lost.
func TestFlagsOutliveTheDevice(t *testing.T) {
	ctx := context.Background()
	run := func(s *slot) {
		e, err := engine.New(s.backend(), engine.Options{})
		require.NoError(t, err)
		defer e.Close()
		x := floats(t, e, []float32{1, 2}, 2)
		bad := checked(x.Mul(x), integers(t, e, 1, 7), 4, "bad")
		good := checked(x.Mul(x), integers(t, e, 1, 3), 4, "good")
		require.NoError(t, e.Realize(ctx, bad, good))
		more := bad.Add(good)
		require.NoError(t, e.Realize(ctx, more))
		third := checked(good.Add(x), integers(t, e, 2), 4, "third").Add(checked(x, integers(t, e, 2, 2), 2, "fourth"))
		require.NoError(t, e.Realize(ctx, third))
		assert.EqualError(t, readError(e, third), "tensor: fourth: number 2 of fourth", "of two plays' flags")
		assert.EqualError(t, readError(e, more), "tensor: bad: number 7 of bad")
		assert.EqualError(t, readError(e, bad), "tensor: bad: number 7 of bad")
		assert.Equal(t, []float32{1, 4}, read(t, e, good))
	}
	whole := &slot{}
	run(whole)
	for at := 1; at <= whole.calls; at++ {
		for _, silent := range []bool{false, true} {
			run(&slot{silent: silent, lose: func(c int) bool { return c == at }})
		}
	}
}

// Of very many checks each keeps to what depends on it.
func TestManyChecks(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"INTERP", "REF"} {
		e, err := engine.Open(name, engine.Options{})
		require.NoError(t, err)
		defer e.Close()
		x := floats(t, e, []float32{1, 2}, 2)
		var roots []*uop.UOp
		for i := range 150 {
			v := make([]int32, 1+i%5*i) // of many sizes
			v[len(v)-1] = int32(i)
			roots = append(roots, checked(x.Mul(x.Float(float64(i))), integers(t, e, v...), 100, "many"))
		}
		all := roots[0]
		for _, r := range roots {
			all = all.Add(r)
		}
		require.NoError(t, e.Realize(ctx, append(roots, all)...))
		for i, r := range roots {
			if err := readError(e, r); i < 100 {
				require.NoError(t, err, i)
			} else {
				require.ErrorContains(t, err, "number", i)
			}
		}
		require.Error(t, readError(e, all))
	}
}

// What depends on all the flags of a long loop keeps few of them, and little memory.
func TestFlagsStayFlat(t *testing.T) {
	ctx := context.Background()
	e, err := engine.Open("INTERP", engine.Options{})
	require.NoError(t, err)
	defer e.Close()
	x := floats(t, e, []float32{1, 2, 3, 4}, 4)
	const steps = 6000
	var heap, device [2]int64
	kept := make([]*uop.UOp, 0, steps)
	measure := func(i int) {
		uop.EndGeneration()
		uop.EndGeneration()
		goruntime.GC()
		goruntime.GC()
		require.NoError(t, e.Realize(ctx, floats(t, e, []float32{1}, 1).Neg()))
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		heap[i], device[i] = int64(m.HeapAlloc), e.Stats().LiveBytes
	}
	for i := range steps {
		leaf := integers(t, e, int32(i%4))
		y := checked(x.Mul(x.Float(0.5)), leaf, 4, "loop").Add(x)
		require.NoError(t, e.Realize(ctx, y))
		x = y.Realized()
		kept = append(kept, leaf)
		if i == steps/6 {
			measure(0)
		}
	}
	measure(1)
	grown := int64(steps - steps/6)
	assert.Less(t, heap[1]-heap[0], grown*1200, "heap bytes")
	assert.Less(t, device[1]-device[0], grown*16+1<<16, "device bytes: a leaf of 4 a step, and no flags")
	require.Len(t, read(t, e, x), 4)
	goruntime.KeepAlive(kept)
}

// Codes of indices that are computed from arrays of several axes are looked through along these axes, also where the indices were laid in one
// row: along the row each would take divisions, and lanes would load apart.
func TestFlagsAreFoundAlongAxes(t *testing.T) {
	slot := &slot{}
	e, err := engine.New(slot.backend(), engine.Options{})
	require.NoError(t, err)
	defer e.Close()
	const n, m = 300, 180
	numbers := func(count int) *uop.UOp {
		v := make([]int32, count)
		for i := range v {
			v[i] = int32(i)
		}
		return integers(t, e, v...)
	}
	index := func() *uop.UOp {
		return numbers(n).Reshape(n, 1).Expand(n, m).Add(numbers(m).Reshape(1, m).Expand(n, m))
	}
	for name, i := range map[string]*uop.UOp{"of two axes": index(), "in a row": index().Reshape(n * m)} {
		for most, fault := range map[int]string{n + m: "", n + m - 2: "tensor: sum: number 478 of sum"} {
			u := checked(floats(t, e, []float32{1, 2}, 2).Neg(), i, most, "sum")
			view, err := e.Plan(u)
			require.NoError(t, err)
			for k := range view.Launches() {
				tree, err := view.Tree(k)
				require.NoError(t, err)
				assert.NotRegexp(t, `\b(idiv|mod)\.`, tree, name)
			}
			require.NoError(t, e.Realize(context.Background(), u))
			if fault == "" {
				assert.NoError(t, readError(e, u), name)
			} else {
				assert.EqualError(t, readError(e, u), fault, name)
			}
		}
	}
}
