package wasm

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// mostWide is how large scratch may become whose elements are repeated.
const mostWide = 256 << 10

// findSplats finds the registers that are repeated in all lanes, for each loop, and the scratch buffers of which
// nothing else is wanted.
func (r *renderer) findSplats(body []codegen.Stmt) {
	r.splatsIn(body, nil, nil)
	if !r.machine.Wazero {
		return
	}
	uses := map[*uop.UOp]int{} // scratch: 1 read as a whole, 2 otherwise
	sizes := map[*uop.UOp]int{}
	r.scratchUses(body, nil, uses, sizes)
	for buf, how := range uses {
		if how == 1 && 16*sizes[buf] <= mostWide && buf.DType() != dtype.Bool {
			r.broad[buf] = true
		}
	}
}

func (r *renderer) splatsIn(stmts []codegen.Stmt, v *codegen.Loop, loops []*codegen.Loop) {
	for _, s := range stmts {
		for _, u := range codegen.Exprs(s) {
			if v != nil {
				r.splatOperands(u, v, loops)
			}
		}
		switch s := s.(type) {
		case *codegen.If:
			r.splatsIn(s.Body, v, loops)
		case *codegen.Loop:
			if s.Kind == codegen.Vector {
				r.splatsIn(s.Body, s, loops)
			} else {
				r.splatsIn(s.Body, v, append(slices.Clip(loops), s))
			}
		}
	}
}

// splatOperands notes the scalar registers among the operands of vectors.
func (r *renderer) splatOperands(u *uop.UOp, v *codegen.Loop, loops []*codegen.Loop) {
	vary := r.varying(v)
	if !vary(u) {
		return
	}
	for _, x := range uop.Topo(u) {
		if !vary(x) || x.Op() == uop.Load {
			continue
		}
		for _, s := range x.Src() {
			if s.Op() == uop.Reg && !vary(s) && s.DType() != dtype.Index && s.DType() != dtype.Bool {
				r.repeats[s] = true
				for _, l := range loops {
					if !slices.Contains(r.wanted[l], s) {
						r.wanted[l] = append(r.wanted[l], s)
					}
				}
			}
		}
	}
}

// repeated makes vectors, before a loop, of the registers that are repeated in it and do not change.
func (r *renderer) repeated(f *frame) (mine []*uop.UOp) {
	for _, u := range r.wanted[f.loop] {
		reg, known := r.regs[u]
		_, done := r.splats[u]
		if !known || done || reg.kind == v128 || f.inside[u] {
			continue
		}
		r.get(reg.local)
		r.spread(reg.kind)
		l := r.local(v128)
		r.set(l)
		r.splats[u] = l
		mine = append(mine, u)
	}
	return mine
}

func (r *renderer) scratchUses(stmts []codegen.Stmt, v *codegen.Loop, uses, sizes map[*uop.UOp]int) {
	for _, s := range stmts {
		for _, u := range codegen.Exprs(s) {
			for _, x := range uop.Topo(u) {
				if x.Op() == uop.Load && x.At(0).Arg().(uop.ParamArg).Scratch {
					how := 2
					if v != nil && !r.varying(v)(x) && always(x.At(1)) {
						how = 1
					}
					uses[x.At(0)] |= how
				}
			}
		}
		switch s := s.(type) {
		case *codegen.Alloc:
			sizes[s.Buf] = s.N
		case *codegen.If:
			r.scratchUses(s.Body, v, uses, sizes)
		case *codegen.Loop:
			if s.Kind == codegen.Vector {
				r.scratchUses(s.Body, s, uses, sizes)
			} else {
				r.scratchUses(s.Body, v, uses, sizes)
			}
		}
	}
}

// splat computes a scalar and repeats it in all lanes.
func (r *renderer) splat(u *uop.UOp) {
	k := r.kindOf(u)
	if u.Op() == uop.Reg {
		if l, ok := r.splats[u]; ok {
			r.get(l)
			return
		}
		if reg := r.regs[u]; reg.kind == v128 {
			r.get(reg.local)
			return
		}
	}
	if u.Op() == uop.Load && always(u.At(1)) && u.DType() != dtype.Bool {
		switch size := u.DType().Size(); {
		case r.broad[u.At(0)]:
			r.mem("v128.load", r.address(u.At(0), u.At(2), false))
			return
		case size >= 4 && r.machine.Wazero:
			r.mem(map[int]string{4: "v128.load32_zero", 8: "v128.load64_zero"}[size], r.address(u.At(0), u.At(2), false))
			r.repeatLane(k, 0)
			return
		case size >= 4:
			r.mem(map[int]string{4: "v128.load32_splat", 8: "v128.load64_splat"}[size], r.address(u.At(0), u.At(2), false))
			return
		}
	}
	r.scalar(u)
	r.spread(k)
}

// spread repeats the scalar on the stack.
func (r *renderer) spread(k kind) {
	if !r.machine.Wazero || k == i64 || k == f64 {
		r.op(shape[k] + "splat")
		return
	}
	l := r.local(k)
	r.set(l)
	r.v128([4]uint32{})
	r.get(l)
	r.replace(k, 0)
	r.repeatLane(k, 0)
}

// repeatLane repeats one lane of the vector on the stack.
func (r *renderer) repeatLane(k kind, i int) {
	w := func(n int) uint32 { return uint32(n) | uint32(n+1)<<8 | uint32(n+2)<<16 | uint32(n+3)<<24 }
	if k == i64 || k == f64 {
		r.v128([4]uint32{w(8 * i), w(8*i + 4), w(8 * i), w(8*i + 4)})
	} else {
		r.v128([4]uint32{w(4 * i), w(4 * i), w(4 * i), w(4 * i)})
	}
	r.op("i8x16.swizzle")
}
