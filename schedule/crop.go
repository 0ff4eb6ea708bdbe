package schedule

import (
	"slices"

	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

var cropLaw = rewrite.Named("a kernel gets the rows that it reads")

// crop gives kernels the parts of arrays that they read, where those are whole rows, instead of the arrays. Kernels that differ only in
// where they read, as the steps of a recurrent layer do, are then one, which is compiled once.
func (s *scheduler) crop() {
	for _, k := range s.kernels {
		k.from = make([]int, len(k.bufs))
		for p, rows := range k.rows() {
			if rows.n > 0 {
				k.cropParam(s.t, p, rows, s.config.Align)
			}
		}
	}
}

// rows are those of an array, along its first axis, that a kernel reads; n is 0 where it may need all.
type rows struct{ lo, n int }

// rows lists them for each Param. An array that the kernel writes, or that it has with other dims as well, stays whole.
func (k *kernel) rows() []rows {
	out := make([]rows, len(k.bufs))
	whole := make([]bool, len(k.bufs))
	for p, b := range k.bufs {
		whole[p] = k.spec.Params[p].Write || slices.Index(k.bufs, b) != p || slices.Contains(k.bufs[p+1:], b)
	}
	for _, u := range uop.Topo(k.expressions()...) {
		if u.Op() != uop.Load {
			continue
		}
		p := u.At(0).Arg().(uop.ParamArg).Slot
		if whole[p] || len(u.Src()) < 3 {
			whole[p] = true
			continue
		}
		lo, hi, known := symbolic.Bounds(u.At(2))
		if !known || lo < 0 || hi >= k.spec.Params[p].Dims[0] {
			whole[p] = true
			continue
		}
		if r := out[p]; r.n > 0 {
			lo, hi = min(lo, r.lo), max(hi, r.lo+r.n-1)
		}
		out[p] = rows{lo, hi - lo + 1}
	}
	for p := range out {
		if whole[p] || out[p].n == k.spec.Params[p].Dims[0] {
			out[p] = rows{}
		}
	}
	return out
}

// cropParam makes a Param those rows, and as many more as the alignment asks for, of its array.
func (k *kernel) cropParam(t *uop.Table, p int, r rows, align int) {
	a := &k.spec.Params[p]
	row := uop.Shape(a.Dims[1:]).Numel()
	for ; r.lo*row*a.DType.Size()%max(align, 1) != 0; r.lo, r.n = r.lo-1, r.n+1 {
	}
	if r.n == a.Dims[0] {
		return
	}
	k.spec.Params = slices.Clone(k.spec.Params)
	a = &k.spec.Params[p]
	a.Dims = append([]int{r.n}, a.Dims[1:]...)
	k.from[p] = r.lo * row
	k.rewrite(t, func(u *uop.UOp) *uop.UOp {
		switch {
		case u.Op() == uop.Param && u.Arg().(uop.ParamArg).Slot == p:
			return t.Param(p, r.n*row, a.DType)
		case u.Op() == uop.Load && u.At(0).Arg().(uop.ParamArg).Slot == p:
			src := slices.Clone(u.Src())
			src[2] = symbolic.Simplify(t, src[2].Sub(t.Index(r.lo)))
			return t.Make(uop.Load, u.DType(), u.Arg(), src...)
		}
		return u
	})
}
