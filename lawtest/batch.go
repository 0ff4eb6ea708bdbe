package lawtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/uop"
)

// Batches gives graphs for n arrays at once: vmap.Batch.
type Batches func(n int, with map[*uop.UOp]*uop.UOp, ys ...*uop.UOp) []*uop.UOp

// CheckBatches makes random graphs with each op for three arrays at once, some of whose leaves are the same for all, and compares each
// of the results with that of its own arrays, bit by bit.
func CheckBatches(t *testing.T, of Batches, seed uint64, tries int) {
	t.Helper()
	var ops []uop.Op
	for _, k := range differentiable {
		ops = append(ops, k.op)
	}
	eachKind(t, ops, seed, tries, func(k kind, seed uint64) (int, int, error) { return 1, 0, batched(of, k, seed) })
}

func batched(of Batches, k kind, seed uint64) error {
	const n = 3
	g := newTensors(seed)
	y := g.grow(k)
	leaves := slices.Clone(g.leaves)
	with := map[*uop.UOp]*uop.UOp{}
	for i, leaf := range leaves {
		if i == 0 || g.IntN(4) > 0 {
			with[leaf] = g.leaf(append([]int{n}, leaf.Shape()...)...)
		}
	}
	all := of(n, with, y)[0]
	if all == nil {
		return fmt.Errorf("there is no batch of a result that depends on it\n%s", uop.Print(y))
	}
	if !all.Shape().Equal(append([]int{n}, y.Shape()...)) || all.DType() != y.DType() {
		return fmt.Errorf("%d of %v are %v", n, y, all)
	}
	got := ref.Eval(g.load, all)[0]
	for i := range n {
		own := func(leaf *uop.UOp) []uop.Value {
			for l, w := range with {
				if base(l) == base(leaf) {
					size := len(g.data(leaf))
					return g.data(w)[i*size : (i+1)*size]
				}
			}
			return g.data(leaf)
		}
		want := ref.Eval(own, y)[0]
		if size := len(want); !slices.Equal(want, got[i*size:(i+1)*size]) {
			return fmt.Errorf("row %d is %v, alone it is %v\n%s\n%s", i, got[i*size:(i+1)*size], want, uop.Print(y), uop.Print(all))
		}
	}
	return nil
}

func base(u *uop.UOp) *uop.UOp {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	return u
}
