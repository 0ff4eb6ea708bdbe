package wasm

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// base puts a buffer's address on the stack.
func (r *renderer) base(buf *uop.UOp) {
	if a := buf.Arg().(uop.ParamArg); !a.Scratch {
		r.get(r.slots[a.Slot])
		return
	}
	r.get(r.bases[buf])
}

// sizeOf is how far elements of a buffer lie apart.
func (r *renderer) sizeOf(buf *uop.UOp) int {
	if r.broad[buf] {
		return 16
	}
	return max(1, buf.DType().Size())
}

// address puts the address of an element on the stack, but for a constant part, which it returns.
func (r *renderer) address(buf, index *uop.UOp, gated bool) uint32 {
	if offset, ok := r.through(buf, index, gated); ok {
		return uint32(offset)
	}
	size := r.sizeOf(buf)
	offset := 0
	for index.Op() == uop.Add && index.At(1).Op() == uop.Const {
		c, _ := index.At(1).ConstInt()
		if lo, _, _ := r.scope.Bounds(index.At(0)); c < 0 || (offset+c*size) >= 1<<30 || lo < 0 {
			break
		}
		offset += c * size
		index = index.At(0)
	}
	if c, ok := index.ConstInt(); ok && c >= 0 && c*size+offset < 1<<30 {
		r.base(buf)
		return uint32(c*size + offset)
	}
	r.base(buf)
	r.index(index, i32)
	r.scale(size)
	r.op("i32.add")
	return uint32(offset)
}

// scale multiplies the index on the stack by the size of an element.
func (r *renderer) scale(size int) {
	shift := map[int]int32{2: 1, 4: 2, 8: 3, 16: 4}[size]
	if shift > 0 {
		r.i32(shift)
		r.op("i32.shl")
	}
}

var loads = map[dtype.DType]string{
	dtype.Bool: "i32.load8_u", dtype.I8: "i32.load8_s", dtype.U8: "i32.load8_u", dtype.I16: "i32.load16_s",
	dtype.U16: "i32.load16_u", dtype.I32: "i32.load", dtype.U32: "i32.load",
	dtype.I64: "i64.load", dtype.U64: "i64.load", dtype.F32: "f32.load", dtype.F64: "f64.load",
}

func storeName(d dtype.DType) string {
	switch d.Size() {
	case 1:
		return "i32.store8"
	case 2:
		return "i32.store16"
	}
	return kindOfType(d).String() + ".store"
}

func always(gate *uop.UOp) bool {
	c, ok := gate.ConstValue()
	return ok && c.Bool()
}

// load reads a scalar; where the gate is false it reads the first bytes of the buffer and gives 0. There are such
// bytes whatever the size of the buffer: the memory does not end with it.
func (r *renderer) load(u *uop.UOp) {
	buf, gate, index, d := u.At(0), u.At(1), u.At(2), u.DType()
	if always(gate) {
		r.mem(loads[d.Word()], r.address(buf, index, false))
		r.truth(d)
		return
	}
	r.scalar(gate)
	g := r.local(i32)
	r.set(g)
	r.plus(r.address(buf, index, true))
	r.base(buf)
	r.get(g)
	r.op("select")
	r.mem(loads[d.Word()], 0)
	r.truth(d)
	r.constant(d, 0)
	r.get(g)
	r.op("select")
}

// plus adds an offset to the address on the stack, modulo 2³²: one that is not used may lie anywhere.
func (r *renderer) plus(offset uint32) {
	if offset > 0 {
		r.i32(int32(offset))
		r.op("i32.add")
	}
}

// truth makes 0 or 1 of a byte.
func (r *renderer) truth(d dtype.DType) {
	if d == dtype.Bool {
		r.i32(0)
		r.op("i32.ne")
	}
}

func (r *renderer) store(s *codegen.Store) {
	index, d := s.Index[0], s.Buf.DType()
	if !r.vec(index) && !r.vec(s.Value) && r.mask == nil {
		offset := r.address(s.Buf, index, false)
		if r.broad[s.Buf] {
			r.splat(s.Value)
			r.mem("v128.store", offset)
			return
		}
		r.scalar(s.Value)
		r.mem(storeName(d), offset)
		return
	}
	at := r.lanesOfIndex(index, r.around)
	vec := r.vec(s.Value) || d.Size()*r.n <= 16 // else one value for more lanes than its vectors have
	if at.dense && r.mask == nil && vec && !r.broad[s.Buf] {
		offset := r.address(s.Buf, at.base, false)
		r.lanesOf(s.Value)
		r.storeLanes(d, offset)
		return
	}
	k := kindOfType(d)
	var v uint32
	if vec {
		r.lanesOf(s.Value)
		v = r.local(v128)
	} else {
		r.scalar(s.Value)
		v = r.local(k)
	}
	r.set(v)
	address := r.lanesAt(s.Buf, index, at, false)
	for i := range r.n {
		if r.mask != nil {
			r.get(r.mask.local)
			r.extract(i32, i)
			r.open("if")
		}
		offset := address(i)
		if r.mask != nil {
			r.plus(offset)
			offset = 0
		}
		r.get(v)
		switch {
		case r.broad[s.Buf] && vec:
			r.repeatLane(k, i)
			r.mem("v128.store", offset)
		case r.broad[s.Buf]:
			r.op(shape[k] + "splat")
			r.mem("v128.store", offset)
		case vec:
			r.extract(k, i)
			fallthrough
		default:
			r.mem(storeName(d), offset)
		}
		if r.mask != nil {
			r.end()
		}
	}
}

// lanesOf computes a value per lane as it is stored: truth values as 0 or 1.
func (r *renderer) lanesOf(u *uop.UOp) {
	if u.DType() == dtype.Bool {
		r.maskOf(u, 32)
		r.v128([4]uint32{1, 1, 1, 1})
		r.op("v128.and")
		return
	}
	r.vector(u)
}
