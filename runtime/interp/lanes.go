package interp

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan/bytecode"
)

// lanes binds the instructions that move values between lanes and scalars.
func (b *binder) lanes(in *bytecode.Instr) step {
	w := b.w
	switch in.Op {
	case bytecode.Halve:
		return func() { w.n = (w.n + 1) / 2 }
	case bytecode.Any:
		d, a := w.bools.at(in.D), w.bools.at(in.A)
		return func() {
			d[0] = 0
			for _, x := range a[:w.n] {
				d[0] |= x
			}
		}
	case bytecode.Iota:
		d, a, by := w.ints.at(in.D), w.ints.at(in.A), in.Imm
		return func() { iota(d[:w.n], a[0], by) }
	case bytecode.Var:
		return b.variable(in)
	}
	switch bytecode.ClassOf(in.Type) {
	case bytecode.F32:
		return move(w, &w.f32, in)
	case bytecode.F64:
		return move(w, &w.f64, in)
	case bytecode.Int:
		return move(w, &w.ints, in)
	}
	return move(w, &w.bools, in)
}

func (b *binder) variable(in *bytecode.Instr) step {
	w, i := b.w, in.Imm
	switch bytecode.ClassOf(in.Type) {
	case bytecode.F32:
		d := w.f32.at(in.D)
		return func() { d[0] = math.Float32frombits(uint32(w.vars[i])) }
	case bytecode.F64:
		d := w.f64.at(in.D)
		return func() { d[0] = float64(math.Float32frombits(uint32(w.vars[i]))) }
	}
	d := w.ints.at(in.D)
	if in.Type == dtype.U32 {
		return func() { d[0] = int64(uint32(w.vars[i])) }
	}
	return func() { d[0] = int64(w.vars[i]) }
}

func iota(d []int64, from, by int64) {
	for i := range d {
		d[i] = from
		from += by
	}
}

func fill[T any](d []T, x T) {
	for i := range d {
		d[i] = x
	}
}

func move[T any](w *worker, f *file[T], in *bytecode.Instr) step {
	d, a, rest := f.at(in.D), f.at(in.A), f.at(in.B)
	switch in.Op {
	case bytecode.First:
		return func() { d[0] = a[0] }
	case bytecode.Even:
		return func() {
			for i := range (w.n + 1) / 2 {
				d[i] = a[2*i]
			}
		}
	case bytecode.Odd:
		return func() {
			for i := range w.n / 2 {
				d[i] = a[2*i+1]
			}
			if w.n%2 == 1 {
				d[w.n/2] = rest[0]
			}
		}
	}
	switch { // Mov
	case in.D.IsScalar():
		return func() { d[0] = a[0] }
	case in.A.IsScalar():
		return func() { fill(d[:w.n], a[0]) }
	}
	return func() { copy(d[:w.n], a) }
}
