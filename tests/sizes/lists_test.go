package sizes

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// lists are what a detector makes of a picture: of each level as many rows as it finds. What programs do with them is drawn from a seed, how many
// there are from a run. Numbers are integers that no order of summation changes.
type lists struct {
	*rand.Rand
	e    *engine.Engine
	size []int
}

const (
	mostRows = 40
	places   = 90 // of rows in an array of zeros
)

// rows are n of them, as other numbers in each run.
func (l *lists) rows(n int) *tensor.Tensor {
	list := make([]float32, 4*n)
	for i := range list {
		list[i] = float32(l.IntN(19) - 9)
	}
	return placed(l.e, list, n, 4)
}

// laid lays rows somewhere among zeros.
func (l *lists) laid(x *tensor.Tensor) *tensor.Tensor {
	n := x.Dim(0)
	at := 1 + l.IntN(places-n-1)
	return x.Pad([]int{at, 0}, []int{places - n - at, 0})
}

// program computes with lists of the sizes.
func (l *lists) program(ops []int) (out []*tensor.Tensor) {
	xs := make([]*tensor.Tensor, len(l.size))
	for i, n := range l.size {
		xs[i] = l.rows(n)
	}
	all := tensor.Cat(0, xs...)
	for i, op := range ops {
		x, y := xs[i%len(xs)], xs[(i+1)%len(xs)]
		n := x.Dim(0)
		switch op {
		case 0:
			_, order := all.Select(1, 0).Sort(0, true)
			out = append(out, all.IndexSelect(0, order))
		case 1:
			out = append(out, all.CumSum(0))
		case 2:
			out = append(out, x.MatMul(y.T()).Sum(1).Add(x.Select(1, 0)))
		case 3:
			out = append(out, x.MatMul(y.T()).ReLU().Reshape(n*y.Dim(0)).Add(1))
		case 4:
			m := 1 + l.IntN(n)
			out = append(out, x.Narrow(0, l.IntN(n-m+1), m).Square().Sum(1))
		case 5:
			out = append(out, l.laid(x))
		case 6:
			out = append(out, x.Max(0).Sub(y.Sum(0)))
		case 7:
			index := make([]int32, 5)
			for k := range index {
				index[k] = int32(l.IntN(all.Dim(0)))
			}
			out = append(out, all.IndexSelect(0, placed(l.e, index, 5)))
		case 8:
			out = append(out, tensor.Cat(0, y, x).Mul(2).Flip(0))
		case 9:
			table := tensor.Zeros(7, 4)
			out = append(out, table.IndexAdd(0, x.Select(1, 1).Abs().Clamp(0, 6).To(dtype.I32), x, 1))
		}
	}
	return out
}

// TestListsOfManySizes compares both ways to run programs of up to six lists, of which each has a size of its own.
func TestListsOfManySizes(t *testing.T) {
	for device, seeds := range map[string]int{"INTERP": 60, "CPU": 2, "WASM": 3} {
		t.Run(device, func(t *testing.T) {
			seeds := setting(t, "WEFT_SIZES_SEEDS", seeds)
			runs, shared := 0, 0
			from := setting(t, "WEFT_SIZES_FROM", 1)
			for seed := from; seed < from+seeds; seed++ {
				draw := rand.New(rand.NewPCG(uint64(seed), 5))
				k := 2 + draw.IntN(5)
				ops := make([]int, 1+draw.IntN(6))
				for i := range ops {
					ops[i] = draw.IntN(10)
				}
				var engines []*engine.Engine
				for _, o := range []engine.Options{{OwnSizes: true, Poison: true}, {EarlySizes: true, Poison: true}} {
					e, err := engine.Open(device, o)
					need.Device(t, device, err)
					defer e.Close()
					engines = append(engines, e)
				}
				for run := range 9 {
					size := make([]int, k)
					for i := range size {
						size[i] = 1 + draw.IntN(mostRows)
					}
					var got [2][][]float64
					for i, e := range engines {
						l := &lists{rand.New(rand.NewPCG(uint64(seed), uint64(100+run))), e, size}
						ts := l.program(ops)
						require.NoError(t, tensor.Realize(ctx, ts...), "seed %d, ops %v, sizes %v", seed, ops, size)
						for _, x := range ts {
							list, err := tensor.Data[float32](ctx, x)
							require.NoError(t, err)
							wide := make([]float64, len(list))
							for j, v := range list {
								wide[j] = float64(v)
							}
							got[i] = append(got[i], wide)
						}
					}
					runs++
					require.Equal(t, got[0], got[1], fmt.Sprintf("seed %d, ops %v, sizes %v", seed, ops, size))
				}
				shared += engines[1].Stats().Shared
			}
			t.Logf("%d runs, %d of their plays by plans for many sizes", runs, shared)
			assert.Greater(t, shared, runs/4, "what is compared are two ways")
		})
	}
}
