package wasm

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// findSplats notes what the statements say of scalars: registers and scratch.
func (r *renderer) findSplats(body []codegen.Stmt) {
	codegen.Visit(body, func(s codegen.Stmt) {
		if s, ok := s.(*codegen.Splat); ok {
			if s.Of.Op() == uop.Reg {
				r.repeats[s.Of] = true
			} else {
				r.broad[s.Of] = true
			}
		}
	})
}

// repeated makes vectors, before a loop, of the registers that it says.
func (r *renderer) repeated(f *frame) (mine []*uop.UOp) {
	for _, u := range f.loop.Splats {
		reg := r.regs[u]
		if _, done := r.splats[u]; done || reg.kind == v128 {
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
