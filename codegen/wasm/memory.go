package wasm

import (
	"slices"

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
		if c < 0 || (offset+c*size) >= 1<<30 || r.bound(index.At(0)).lo < 0 {
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
	dtype.U16: "i32.load16_u", dtype.F16: "i32.load16_u", dtype.BF16: "i32.load16_u", dtype.I32: "i32.load", dtype.U32: "i32.load",
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
		r.mem(loads[d], r.address(buf, index, false))
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
	r.mem(loads[d], 0)
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

// lanes says how the elements of an index lie that differ between lanes by known numbers.
type lanes struct {
	base        *uop.UOp
	at          []int // of each lane, behind base
	least, most int
	dense       bool // one after the other
	ok          bool
}

type laneKey struct {
	index *uop.UOp
	loop  *codegen.Loop
}

func (r *renderer) lanesOfIndex(index *uop.UOp, l *codegen.Loop) lanes {
	k := laneKey{index, l}
	p, known := r.apart[k]
	if known {
		return p
	}
	if p.base, p.at, p.ok = codegen.Pattern(index.Home(), index, l.Range, r.varying(l)); p.ok {
		p.least, p.most, p.dense = slices.Min(p.at), slices.Max(p.at), true
		for i, x := range p.at {
			p.dense = p.dense && x == i
		}
	}
	r.apart[k] = p
	return p
}

// lanesAt prepares the addresses of a value per lane; the result puts that of one lane on the stack.
func (r *renderer) lanesAt(buf, index *uop.UOp, p lanes, gated bool) func(i int) uint32 {
	size := r.sizeOf(buf)
	if p.ok {
		low := min(0, p.least)
		offset := r.address(buf, p.base, gated)
		if d := int(offset) + low*size; d >= 0 {
			offset = uint32(d)
		} else {
			r.i32(int32(d))
			r.op("i32.add")
			offset = 0
		}
		l := r.local(i32)
		r.set(l)
		return func(i int) uint32 {
			r.get(l)
			return offset + uint32((p.at[i]-low)*size)
		}
	}
	r.vector(index)
	bits := r.laneBits(index)
	v := r.local(v128)
	r.set(v)
	return func(i int) uint32 {
		r.base(buf)
		r.get(v)
		if bits == 64 {
			r.extract(i64, i)
			r.op("i32.wrap_i64")
		} else {
			r.extract(i32, i)
		}
		r.scale(size)
		r.op("i32.add")
		return 0
	}
}

// storeLanes stores the vector on the stack at the address below it, element after element.
func (r *renderer) storeLanes(d dtype.DType, offset uint32) {
	bytes := d.Size() * r.n
	switch d.Size() {
	case 1:
		r.shuffle([16]byte{0, 4, 8, 12})
	case 2:
		r.shuffle([16]byte{0, 1, 4, 5, 8, 9, 12, 13})
	}
	switch bytes {
	case 16:
		r.mem("v128.store", offset)
	case 8:
		r.memLane("v128.store64_lane", offset, 0)
	case 4:
		r.memLane("v128.store32_lane", offset, 0)
	case 2:
		r.memLane("v128.store16_lane", offset, 0)
	}
}

// loadLanes loads elements that follow each other, at the address on the stack, one per lane.
func (r *renderer) loadLanes(d dtype.DType, offset uint32) {
	s := "_s"
	if d.IsUnsigned() || d == dtype.Bool || d == dtype.F16 || d == dtype.BF16 {
		s = "_u"
	}
	switch size := d.Size(); {
	case size*r.n == 16:
		r.mem("v128.load", offset)
	case size == 4:
		r.mem("v128.load64_zero", offset)
	case size == 2 && r.n == 4:
		r.mem("v128.load16x4"+s, offset)
	case size == 2:
		r.mem("v128.load32_zero", offset)
		r.op("i32x4.extend_low_i16x8" + s)
	default:
		if r.n == 4 {
			r.mem("v128.load32_zero", offset)
		} else {
			r.mem("i32.load16_u", offset)
			r.op("i32x4.splat")
		}
		r.op("i16x8.extend_low_i8x16"+s, "i32x4.extend_low_i16x8"+s)
	}
}

// vload reads one element per lane: at once or one by one. Where a lane takes no part or its gate is false, the
// result is 0. A read at once then happens where at least one lane is right, and else at the buffer's begin: what
// lies around a buffer, up to a vector, belongs to the memory.
func (r *renderer) vload(u *uop.UOp) {
	buf, gate, index, d := u.At(0), u.At(1), u.At(2), u.DType()
	p := r.lanesOfIndex(index, r.around)
	m := r.gates(gate)
	switch {
	case p.dense && m == nil:
		r.loadLanes(d, r.address(buf, p.base, false))
	case p.dense:
		r.plus(r.address(buf, p.base, !always(gate)))
		r.base(buf)
		r.anyLane(m)
		r.op("select")
		r.loadLanes(d, 0)
		r.getMask(m, r.bitsOfType(d))
		r.op("v128.and")
	case m == nil && p.ok && d.Size() >= 4 && d.Size()*r.n == 16 && (p.most-p.least+1)*d.Size() <= 32 && !r.broad[buf]:
		r.window(buf, p)
	default:
		r.gather(u, p, m)
	}
}

// window reads lanes that lie within two vectors. What it reads too much lies in the memory all the same.
func (r *renderer) window(buf *uop.UOp, p lanes) {
	size := r.sizeOf(buf)
	a := r.local(i32)
	offset := int(r.address(buf, p.base, false)) + p.least*size
	if offset < 0 {
		r.i32(int32(offset))
		r.op("i32.add")
		offset = 0
	}
	r.tee(a)
	r.mem("v128.load", uint32(offset))
	var s [16]byte
	for i := range s {
		s[i] = byte((p.at[i/size]-p.least)*size + i%size)
	}
	if (p.most-p.least+1)*size <= 16 {
		r.rearrange(s)
		return
	}
	r.get(a)
	r.mem("v128.load", uint32(offset+16))
	r.opcode("i8x16.shuffle")
	r.bytes = append(r.bytes, s[:]...)
	r.line("i8x16.shuffle %v", s)
}

// rearrange is a shuffle of one vector, as a swizzle by a constant: engines that do not recognise the shuffle make
// less of it.
func (r *renderer) rearrange(s [16]byte) {
	var w [4]uint32
	for i := range w {
		w[i] = uint32(s[4*i]) | uint32(s[4*i+1])<<8 | uint32(s[4*i+2])<<16 | uint32(s[4*i+3])<<24
	}
	r.v128(w)
	r.op("i8x16.swizzle")
}

// gates is the mask of the lanes that read; nil for all.
func (r *renderer) gates(gate *uop.UOp) *mask {
	if always(gate) {
		return r.mask
	}
	r.maskOf(gate, 32)
	if r.mask != nil {
		r.get(r.mask.local)
		r.op("v128.and")
	}
	m := &mask{r.local(v128), 32}
	r.set(m.local)
	return m
}

// anyLane puts on the stack whether a lane takes part.
func (r *renderer) anyLane(m *mask) {
	if r.n == 2 { // the upper lanes mean nothing
		r.getMask(m, 64)
	} else {
		r.get(m.local)
	}
	r.op("v128.any_true")
}

// gather reads lane by lane. A lane that takes no part reads the buffer's begin, and its value is cleared.
func (r *renderer) gather(u *uop.UOp, p lanes, m *mask) {
	buf, d := u.At(0), u.DType()
	k := kindOfType(d)
	at := r.lanesAt(buf, u.At(2), p, !always(u.At(1)))
	r.v128([4]uint32{})
	for i := range r.n {
		offset := at(i)
		if m != nil {
			r.plus(offset)
			r.base(buf)
			r.get(m.local)
			r.extract(i32, i)
			r.op("select")
			offset = 0
		}
		r.mem(loads[d], offset)
		r.replace(k, i)
	}
	if m != nil {
		r.getMask(m, r.bitsOfType(d))
		r.op("v128.and")
	}
}
