package interp

import (
	"bytes"
	"unsafe"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan/bytecode"
)

// view reads bytes as elements; devices see to alignment.
func view[S any](b []byte) []S {
	if len(b) == 0 {
		return nil
	}
	var s S
	return unsafe.Slice((*S)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(s)))
}

type number interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// memory binds loads and stores. Elements are converted between their storage type and the register's.
func (b *binder) memory(in *bytecode.Instr) step {
	w := b.w
	switch in.Type {
	case dtype.Bool:
		s := access[uint8](w, in, w.bools.at(in.D), w.bools.at(in.C))
		if d := w.bools.at(in.D); d != nil {
			return func() {
				s()
				for i, x := range d[:w.count(len(d))] {
					d[i] = truth(x != 0)
				}
			}
		}
		return s
	case dtype.I8:
		return access[int8](w, in, w.ints.at(in.D), w.ints.at(in.C))
	case dtype.U8:
		return access[uint8](w, in, w.ints.at(in.D), w.ints.at(in.C))
	case dtype.I16:
		return access[int16](w, in, w.ints.at(in.D), w.ints.at(in.C))
	case dtype.U16:
		return access[uint16](w, in, w.ints.at(in.D), w.ints.at(in.C))
	case dtype.I32:
		return access[int32](w, in, w.ints.at(in.D), w.ints.at(in.C))
	case dtype.U32:
		return access[uint32](w, in, w.ints.at(in.D), w.ints.at(in.C))
	case dtype.I64, dtype.U64:
		return access[int64](w, in, w.ints.at(in.D), w.ints.at(in.C))
	case dtype.F32:
		return access[float32](w, in, w.f32.at(in.D), w.f32.at(in.C))
	case dtype.F64:
		return access[float64](w, in, w.f64.at(in.D), w.f64.at(in.C))
	}
	if in.Type.Size() == 1 {
		return narrow[uint8](b.w, in)
	}
	return narrow[uint16](b.w, in)
}

// narrow goes through the bits, words of type S, in a spare integer register.
func narrow[S uint8 | uint16](w *worker, in *bytecode.Instr) step {
	c := codecs[in.Type]
	if d := w.f32.at(in.D); d != nil {
		raw := w.ints.spare[2][:len(d)]
		s := access[S](w, in, raw, nil)
		return func() {
			s()
			c.decode(d[:w.count(len(d))], raw)
		}
	}
	x := w.f32.at(in.C)
	raw := w.ints.spare[2][:len(x)]
	s := access[S](w, in, nil, raw)
	return func() {
		c.encode(raw[:w.count(len(x))], x)
		s()
	}
}

// access binds one load (to d) or store (of x) of elements of type S.
func access[S, R number](w *worker, in *bytecode.Instr, d, x []R) step {
	buf := int(in.Imm)
	at, gate := w.ints.at(in.A), w.bools.at(in.B)
	switch in.Op {
	case bytecode.Load:
		return func() {
			if gate != nil && gate[0] == 0 {
				d[0] = 0
				return
			}
			s := view[S](w.bufs[buf])
			if uint64(at[0]) >= uint64(len(s)) {
				outside(buf, at[0], len(s))
			}
			d[0] = R(s[at[0]])
		}
	case bytecode.Store:
		return func() {
			if gate != nil && gate[0] == 0 {
				return
			}
			s := view[S](w.bufs[buf])
			if uint64(at[0]) >= uint64(len(s)) {
				outside(buf, at[0], len(s))
			}
			s[at[0]] = S(x[0])
		}
	}
	return accessLanes[S](w, in, d, x, buf, at, gate)
}

// accessLanes tells apart which lanes take part and how their elements lie.
func accessLanes[S, R number](w *worker, in *bytecode.Instr, d, x []R, buf int, at []int64, gate []uint8) step {
	strided := in.Op == bytecode.LoadV || in.Op == bytecode.StoreV
	stride := in.Stride
	index, wide := w.ints.spare[0], []R(nil)
	if len(x) == 1 {
		wide = make([]R, bytecode.Lanes)
	}
	return func() {
		n := w.n
		s := view[S](w.bufs[buf])
		value := x
		if wide != nil {
			fill(wide[:n], x[0])
			value = wide
		}
		all := true
		switch {
		case gate == nil:
		case len(gate) == 1 && gate[0] == 0, len(gate) > 1 && bytes.IndexByte(gate[:n], 1) < 0:
			if d != nil {
				clear(d[:n])
			}
			return
		case len(gate) > 1:
			all = bytes.IndexByte(gate[:n], 0) < 0
		}
		if strided && all {
			first, last := at[0], at[0]+stride*int64(n-1)
			if min(first, last) < 0 || max(first, last) >= int64(len(s)) {
				outside(buf, max(first, last), len(s))
			}
			if d != nil {
				loadStrided(d[:n], s, first, stride)
			} else {
				storeStrided(s, value[:n], first, stride)
			}
			return
		}
		where := at
		if strided {
			where = index
			iota(where[:n], at[0], stride)
		}
		var mask []uint8
		if !all {
			mask = gate[:n]
		}
		if d != nil {
			gather(d[:n], s, where, mask, buf)
		} else {
			scatter(s, value[:n], where, mask, buf)
		}
	}
}

func outside(buf int, index int64, n int) {
	faultf("element %d of buffer %d, which has %d", index, buf, n)
}

func loadStrided[S, R number](d []R, s []S, at, stride int64) {
	if stride == 1 {
		s = s[at:][:len(d)]
		if same, ok := any(s).([]R); ok {
			copy(d, same)
			return
		}
		for i := range d {
			d[i] = R(s[i])
		}
		return
	}
	for i := range d {
		d[i] = R(s[at])
		at += stride
	}
}

func storeStrided[S, R number](s []S, x []R, at, stride int64) {
	if stride == 1 {
		s = s[at:][:len(x)]
		if same, ok := any(s).([]R); ok {
			copy(same, x)
			return
		}
		for i := range x {
			s[i] = S(x[i])
		}
		return
	}
	for i := range x {
		s[at] = S(x[i])
		at += stride
	}
}

func gather[S, R number](d []R, s []S, at []int64, mask []uint8, buf int) {
	at = at[:len(d)]
	if mask == nil {
		for i := range d {
			if uint64(at[i]) >= uint64(len(s)) {
				outside(buf, at[i], len(s))
			}
			d[i] = R(s[at[i]])
		}
		return
	}
	mask = mask[:len(d)]
	for i := range d {
		if mask[i] == 0 {
			d[i] = 0
			continue
		}
		if uint64(at[i]) >= uint64(len(s)) {
			outside(buf, at[i], len(s))
		}
		d[i] = R(s[at[i]])
	}
}

func scatter[S, R number](s []S, x []R, at []int64, mask []uint8, buf int) {
	at = at[:len(x)]
	for i := range x {
		if mask != nil && mask[i] == 0 {
			continue
		}
		if uint64(at[i]) >= uint64(len(s)) {
			outside(buf, at[i], len(s))
		}
		s[at[i]] = S(x[i])
	}
}

func truth(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// words looks at registers as unsigned integers of the same size.
func words[U uint32 | uint64, T float32 | float64 | int64](a []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(a))), len(a))
}
