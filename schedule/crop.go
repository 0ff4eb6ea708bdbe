package schedule

import (
	"slices"

	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

var cropLaw = rewrite.Named("a kernel gets the rows that it reads")

// crop gives kernels the parts of arrays that they read instead of the arrays: whole rows, or of kernels that are then alike from the first element
// to the last. Kernels that differ only in where they read, as the steps of a recurrent layer do, are then one, which is compiled once.
func (s *scheduler) crop() {
	for _, k := range s.kernels {
		k.crop(s.t, s.config.Align)
	}
	if len(s.kernels) >= loopKernels {
		s.cropSpans()
	}
}

// loopKernels is how many kernels there are at least where steps of a loop may be among them: fewer are not searched for likeness.
const loopKernels = 16

// cropSpans gives kernels that are alike but for where they read the parts from the first element to the last.
func (s *scheduler) cropSpans() {
	spans, forms := make([]*kernel, len(s.kernels)), map[string]map[string]bool{}
	span := make([]string, len(s.kernels))
	for i, k := range s.kernels {
		if spans[i] = k.span(s.t, s.config.Align); spans[i] == k {
			continue
		}
		canonicalRanges(k, s.t)
		canonicalRanges(spans[i], s.t)
		span[i] = s.form(spans[i])
		if forms[span[i]] == nil {
			forms[span[i]] = map[string]bool{}
		}
		forms[span[i]][s.form(k)] = true
	}
	for i, k := range s.kernels {
		if len(forms[span[i]]) > 1 {
			k.spec, k.from = spans[i].spec, spans[i].from
		}
	}
}

func (k *kernel) crop(t *uop.Table, align int) {
	k.from = make([]int, len(k.bufs))
	if k.opaque() {
		return
	}
	for p, rows := range k.rows() {
		if rows.n > 0 {
			k.cropParam(t, p, rows, align)
		}
	}
}

// span is the kernel with arrays of one dimension, from the first element that it reads to the last, where it does not read from end to end; the
// kernel itself if there are none.
func (k *kernel) span(t *uop.Table, align int) *kernel {
	out := &kernel{spec: copied(k.spec), bufs: k.bufs, from: slices.Clone(k.from)}
	out.spec.Params = slices.Clone(out.spec.Params)
	cut := make([]rows, len(k.bufs))
	for p, b := range k.bufs {
		for q, c := range k.bufs {
			if c == b && k.spec.Params[q].Write {
				cut[p].n = -1
			}
		}
	}
	for _, u := range uop.Topo(k.expressions()...) {
		if u.Op() != uop.Load {
			continue
		}
		p := u.At(0).Arg().(uop.ParamArg).Slot
		lo, hi, known := symbolic.Bounds(k.offset(t, u))
		r := &cut[p]
		switch {
		case r.n < 0 || !known || lo < 0 || hi >= uop.Shape(k.spec.Params[p].Dims).Numel():
			r.n = -1
			continue
		case r.n > 0:
			lo, hi = min(lo, r.lo), max(hi, r.lo+r.n-1)
		}
		*r = rows{lo, hi - lo + 1}
	}
	some := false
	for p := range cut {
		r, a := &cut[p], &out.spec.Params[p]
		if r.n <= 0 || r.n == uop.Shape(a.Dims).Numel() {
			r.n = 0
			continue
		}
		for ; r.lo*a.DType.Size()%max(align, 1) != 0; r.lo, r.n = r.lo-1, r.n+1 {
		}
		a.Dims, out.from[p], some = []int{r.n}, out.from[p]+r.lo, true
	}
	if !some {
		return k
	}
	out.rewrite(t, func(u *uop.UOp) *uop.UOp {
		switch {
		case u.Op() == uop.Param && cut[u.Arg().(uop.ParamArg).Slot].n > 0:
			p := u.Arg().(uop.ParamArg).Slot
			return t.Param(p, cut[p].n, u.DType())
		case u.Op() == uop.Load && cut[u.At(0).Arg().(uop.ParamArg).Slot].n > 0:
			p := u.At(0).Arg().(uop.ParamArg).Slot
			return t.Load(u.At(0), u.At(1), symbolic.Simplify(t, k.offset(t, u).Sub(t.Index(cut[p].lo))))
		}
		return u
	})
	return out
}

// offset is where in its array a load reads.
func (k *kernel) offset(t *uop.Table, load *uop.UOp) *uop.UOp {
	dims := k.spec.Params[load.At(0).Arg().(uop.ParamArg).Slot].Dims
	if index := load.Src()[2:]; len(index) == len(dims) {
		return linear(t, dims, index)
	}
	return load.At(2)
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
