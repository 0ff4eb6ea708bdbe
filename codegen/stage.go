package codegen

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// stage evaluates a value once into scratch for all inner ranges it depends on, and gives the load that
// replaces it.
func (b *builder) stage(m Move, u *uop.UOp, sp spot) ([]Stmt, *uop.UOp) {
	panic("BUG: stage")
}

// carried gives the loops of a nest of outputs.
func (b *builder) carried(g *group) []*axis { return g.order }

func (b *builder) carriedLeaf(g *group) func(sp spot) []Stmt {
	return func(sp spot) []Stmt { return b.stores(g, sp.roots) }
}

func (k *kernel) check() error { return nil }

// newScratch names thread-local memory of n elements.
func (b *builder) newScratch(d dtype.DType, n int) *uop.UOp {
	b.allocs++
	return b.t.Make(uop.Param, d, uop.ParamArg{Slot: b.allocs - 1, N: n, Scratch: true})
}
