package wasm

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

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
	if p.base, p.at, p.ok = affine.Pattern(index.Home(), index, l.Range, r.varying(l)); p.ok {
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
	if d.IsUnsigned() || d == dtype.Bool || d.IsNarrow() {
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
// lies around a buffer, up to two vectors, belongs to the memory.
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
	case p.ok && d.Size() >= 4 && d.Size()*r.n == 16 && (p.most-p.least+1)*d.Size() <= 32 && !r.broad[buf]:
		r.window(u, p, m)
	default:
		r.gather(u, p, m)
	}
}

// window reads lanes that lie within two vectors. What it reads too much lies in the memory all the same.
func (r *renderer) window(u *uop.UOp, p lanes, m *mask) {
	buf, gate, d := u.At(0), u.At(1), u.DType()
	size := r.sizeOf(buf)
	a := r.local(i32)
	offset := int(r.address(buf, p.base, !always(gate))) + p.least*size
	if m != nil || offset < 0 {
		r.plus(uint32(int32(offset)))
		offset = 0
	}
	if m != nil {
		r.base(buf)
		r.anyLane(m)
		r.op("select")
	}
	r.tee(a)
	r.mem("v128.load", uint32(offset))
	var s [16]byte
	for i := range s {
		s[i] = byte((p.at[i/size]-p.least)*size + i%size)
	}
	if (p.most-p.least+1)*size <= 16 {
		r.rearrange(s)
	} else {
		r.get(a)
		r.mem("v128.load", uint32(offset+16))
		r.opcode("i8x16.shuffle")
		r.bytes = append(r.bytes, s[:]...)
		r.line("i8x16.shuffle %v", s)
	}
	if m != nil {
		r.getMask(m, r.bitsOfType(d))
		r.op("v128.and")
	}
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
		r.mem(loads[d.Word()], offset)
		r.replace(k, i)
	}
	if m != nil {
		r.getMask(m, r.bitsOfType(d))
		r.op("v128.and")
	}
}
