package wasm

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// fold merges lanes by halves, then into the scalars.
func (r *renderer) fold(s *codegen.HorizontalReduce) {
	t := s.Regs[0].Home()
	if r.n > 4 { // as many lanes as one likes: nothing differs between them
		r.foldEqual(s)
		return
	}
	x, y := make([]*uop.UOp, len(s.Values)), make([]*uop.UOp, len(s.Values))
	lanes := map[*uop.UOp]bool{}
	for i, v := range s.Values {
		for j, list := range [][]*uop.UOp{x, y} {
			list[i] = t.Make(uop.Reg, v.DType(), uop.RegArg{ID: 1<<20 + 2*i + j})
			lanes[list[i]] = true
			r.regs[list[i]] = register{r.local(v128), v128, r.laneBits(v)}
		}
		if v.DType() == dtype.Bool {
			r.maskOf(v, r.regs[x[i]].bits)
		} else {
			r.vector(v)
		}
		r.set(r.regs[x[i]].local)
	}
	merged := legal.Legalize(t, anyMachine, s.Monoid.Info().Merge(x, y)...)
	old, mask := r.vary, r.mask
	r.vary, r.mask = dependsOn(lanes), nil
	for half := r.n / 2; half > 0; half /= 2 {
		for i := range x {
			r.get(r.regs[x[i]].local)
			r.rotate(r.regs[x[i]].bits, half)
			r.set(r.regs[y[i]].local)
		}
		r.assign(x, merged)
	}
	r.vary = func(*uop.UOp) bool { return false }
	for i := range x {
		y[i] = t.Make(uop.Reg, x[i].DType(), uop.RegArg{ID: 1<<21 + i})
		k := r.laneKind(x[i])
		r.get(r.regs[x[i]].local)
		r.extract(k, 0)
		if x[i].DType() == dtype.Bool {
			if k == i64 {
				r.op("i32.wrap_i64")
				k = i32
			}
			r.wrap(dtype.Bool)
		}
		reg := register{local: r.local(k), kind: k}
		r.set(reg.local)
		r.regs[y[i]] = reg
	}
	r.assign(s.Regs, legal.Legalize(t, anyMachine, s.Monoid.Info().Merge(s.Regs, y)...))
	r.vary, r.mask = old, mask
}

// foldEqual merges a value with itself until it stands for all lanes, then into the scalars.
func (r *renderer) foldEqual(s *codegen.HorizontalReduce) {
	t := s.Regs[0].Home()
	x := make([]*uop.UOp, len(s.Values))
	for i, v := range s.Values {
		if r.vec(v) {
			panic(fmt.Sprintf("BUG: %d lanes", r.n))
		}
		x[i] = t.Make(uop.Reg, v.DType(), uop.RegArg{ID: 1<<21 + i})
		k := r.kindOf(v)
		if k == i32 && v.DType() == dtype.Index {
			k = i64
		}
		r.scalarAs(v, k)
		reg := register{local: r.local(k), kind: k}
		r.set(reg.local)
		r.regs[x[i]] = reg
	}
	for n := 1; n < r.n; n *= 2 {
		r.assign(x, legal.Legalize(t, anyMachine, s.Monoid.Info().Merge(x, x)...))
	}
	r.assign(s.Regs, legal.Legalize(t, anyMachine, s.Monoid.Info().Merge(s.Regs, x)...))
}

func dependsOn(set map[*uop.UOp]bool) func(u *uop.UOp) bool {
	memo := map[*uop.UOp]bool{}
	return func(u *uop.UOp) bool {
		for _, v := range uop.Topo(u) {
			if _, ok := memo[v]; ok {
				continue
			}
			d := set[v]
			for _, s := range v.Src() {
				d = d || memo[s]
			}
			memo[v] = d
		}
		return memo[u]
	}
}
