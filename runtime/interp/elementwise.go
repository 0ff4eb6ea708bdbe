package interp

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan/bytecode"
)

// realRow is the arithmetic of one float type, intRow that of one integer type.
type realRow[T real] struct {
	unary   map[bytecode.Op]func(d, a []T)
	binary  map[bytecode.Op]func(d, a, b []T)
	scalar  map[bytecode.Op]func(d, a []T, b T) // commutative, with a scalar operand
	compare map[bytecode.Op]func(d []uint8, a, b []T)
}

func newRealRow[T real]() *realRow[T] {
	return &realRow[T]{
		unary: map[bytecode.Op]func(d, a []T){bytecode.Neg: neg[T], bytecode.Sqrt: sqrt[T], bytecode.Trunc: trunc[T], bytecode.RoundEven: roundEven[T]},
		binary: map[bytecode.Op]func(d, a, b []T){bytecode.Add: add[T], bytecode.Sub: sub[T], bytecode.Mul: mul[T],
			bytecode.Div: div[T], bytecode.Max: maximum[T]},
		scalar:  map[bytecode.Op]func(d, a []T, b T){bytecode.Add: addScalar[T], bytecode.Mul: mulScalar[T]},
		compare: map[bytecode.Op]func(d []uint8, a, b []T){bytecode.Less: less[T], bytecode.Equal: equal[T]},
	}
}

type intRow struct {
	binary    map[bytecode.Op]func(d, a, b []int64)
	less      func(d []uint8, a, b []int64)
	neg, wrap func(d, a []int64)
	mulAdd    func(d, a, b, c []int64)
	toF32     func(d []float32, a []int64)
	toF64     func(d []float64, a []int64)
	fromF32   func(d []int64, a []float32)
	fromF64   func(d []int64, a []float64)
}

func newIntRow[W integer]() *intRow {
	return &intRow{
		binary: map[bytecode.Op]func(d, a, b []int64){
			bytecode.Add: intAdd[W], bytecode.Sub: intSub[W], bytecode.Mul: intMul[W], bytecode.IDiv: intDiv[W],
			bytecode.Mod: intMod[W], bytecode.Max: intMax[W], bytecode.Shl: intShl[W], bytecode.Shr: intShr[W],
			bytecode.And: and[int64], bytecode.Or: or[int64], bytecode.Xor: xor[int64],
		},
		less: intLess[W], neg: intNeg[W], wrap: wrap[W], mulAdd: intMulAdd[W],
		toF32: intToReal[W, float32], toF64: intToReal[W, float64],
		fromF32: realToInt[W, float32], fromF64: realToInt[W, float64],
	}
}

var (
	row32   = newRealRow[float32]()
	row64   = newRealRow[float64]()
	intRows = map[dtype.DType]*intRow{
		dtype.I8: newIntRow[int8](), dtype.U8: newIntRow[uint8](), dtype.I16: newIntRow[int16](),
		dtype.U16: newIntRow[uint16](), dtype.I32: newIntRow[int32](), dtype.U32: newIntRow[uint32](),
		dtype.I64: newIntRow[int64](), dtype.U64: newIntRow[uint64](), dtype.Index: newIntRow[int64](),
	}
	boolBinary = map[bytecode.Op]func(d, a, b []uint8){bytecode.And: and[uint8], bytecode.Or: or[uint8],
		bytecode.Xor: xor[uint8], bytecode.Less: less[uint8], bytecode.Equal: equal[uint8]}
)

// elementwise binds an arithmetic instruction.
func (b *binder) elementwise(in *bytecode.Instr) step {
	w := b.w
	switch in.Op {
	case bytecode.Cast:
		return b.cast(in)
	case bytecode.Bitcast:
		return b.bitcast(in)
	case bytecode.Where:
		return b.where(in)
	case bytecode.MulAdd:
		return b.mulAdd(in)
	}
	switch bytecode.ClassOf(in.Type) {
	case bytecode.F32:
		return bindReal(w, row32, &w.f32, in)
	case bytecode.F64:
		return bindReal(w, row64, &w.f64, in)
	case bytecode.Bool:
		return bindBinary(w, boolBinary[in.Op], &w.bools, &w.bools, in)
	}
	row := intRows[in.Type]
	switch in.Op {
	case bytecode.Neg:
		return bindUnary(w, row.neg, &w.ints, &w.ints, in)
	case bytecode.Less:
		return bindBinary(w, row.less, &w.bools, &w.ints, in)
	case bytecode.Equal:
		return bindBinary(w, equal[int64], &w.bools, &w.ints, in)
	}
	return b.scalarInt(in, bindBinary(w, row.binary[in.Op], &w.ints, &w.ints, in))
}

// scalarInt is the short way for the index arithmetic of inner loops.
func (b *binder) scalarInt(in *bytecode.Instr, slow step) step {
	if in.Type != dtype.Index || !in.D.IsScalar() {
		return slow
	}
	d, x, y := &b.w.ints.at(in.D)[0], &b.w.ints.at(in.A)[0], &b.w.ints.at(in.B)[0]
	switch in.Op {
	case bytecode.Add:
		return func() { *d = *x + *y }
	case bytecode.Mul:
		return func() { *d = *x * *y }
	}
	return slow
}

func bindReal[T real](w *worker, row *realRow[T], f *file[T], in *bytecode.Instr) step {
	if u := row.unary[in.Op]; u != nil {
		return bindUnary(w, u, f, f, in)
	}
	if c := row.compare[in.Op]; c != nil {
		return bindBinary(w, c, &w.bools, f, in)
	}
	if s := row.scalar[in.Op]; s != nil && in.A.IsVector() != in.B.IsVector() {
		v, x := in.A, in.B
		if v.IsScalar() {
			v, x = x, v
		}
		d, a, c := f.at(in.D), f.at(v), f.at(x)
		return func() { s(d[:w.n], a, c[0]) }
	}
	return bindBinary(w, row.binary[in.Op], f, f, in)
}

// widen gives all lanes of an operand: those of a scalar are filled in at each call, in a spare register.
func widen[T any](w *worker, f *file[T], r bytecode.Reg, spare int) func() []T {
	a := f.at(r)
	if r.IsVector() {
		return func() []T { return a }
	}
	lanes := f.spare[spare]
	return func() []T {
		fill(lanes[:w.n], a[0])
		return lanes
	}
}

func bindUnary[R, T any](w *worker, op func(d []R, a []T), rf *file[R], f *file[T], in *bytecode.Instr) step {
	d, a := rf.at(in.D), f.at(in.A)
	switch {
	case in.D.IsScalar():
		return func() { op(d, a) }
	case in.A.IsVector():
		return func() { op(d[:w.n], a[:w.n]) }
	}
	x := widen(w, f, in.A, 0)
	return func() { op(d[:w.n], x()[:w.n]) }
}

func bindBinary[R, T any](w *worker, op func(d []R, a, b []T), rf *file[R], f *file[T], in *bytecode.Instr) step {
	d, a, b := rf.at(in.D), f.at(in.A), f.at(in.B)
	switch {
	case in.D.IsScalar():
		return func() { op(d, a, b) }
	case in.A.IsVector() && in.B.IsVector():
		return func() { op(d[:w.n], a, b) }
	}
	x, y := widen(w, f, in.A, 0), widen(w, f, in.B, 1)
	return func() { op(d[:w.n], x(), y()) }
}

func bindTernary[T any](w *worker, op func(d, a, b, c []T), f *file[T], in *bytecode.Instr) step {
	d, a, b, c := f.at(in.D), f.at(in.A), f.at(in.B), f.at(in.C)
	switch {
	case in.D.IsScalar():
		return func() { op(d, a, b, c) }
	case in.A.IsVector() && in.B.IsVector() && in.C.IsVector():
		return func() { op(d[:w.n], a, b, c) }
	}
	x, y, z := widen(w, f, in.A, 0), widen(w, f, in.B, 1), widen(w, f, in.C, 2)
	return func() { op(d[:w.n], x(), y(), z()) }
}

func (b *binder) mulAdd(in *bytecode.Instr) step {
	w := b.w
	switch bytecode.ClassOf(in.Type) {
	case bytecode.F64:
		return bindTernary(w, mulAdd64, &w.f64, in)
	case bytecode.Int:
		if in.Type == dtype.Index && in.D.IsScalar() {
			d, x, y, z := &w.ints.at(in.D)[0], &w.ints.at(in.A)[0], &w.ints.at(in.B)[0], &w.ints.at(in.C)[0]
			return func() { *d = *x**y + *z }
		}
		return bindTernary(w, intRows[in.Type].mulAdd, &w.ints, in)
	}
	if in.A.IsVector() != in.B.IsVector() && in.C.IsVector() {
		v, s := in.A, in.B
		if v.IsScalar() {
			v, s = s, v
		}
		d, x, c, a := w.f32.at(in.D), w.f32.at(v), w.f32.at(in.C), w.f32.at(s)
		return func() { mulAddScalar32(d[:w.n], x, c, a[0]) }
	}
	return bindTernary(w, mulAdd32, &w.f32, in)
}

func (b *binder) where(in *bytecode.Instr) step {
	w := b.w
	switch bytecode.ClassOf(in.Type) {
	case bytecode.F32:
		return bindWhere(w, &w.f32, in, func(d []float32, c []uint8, x, y []float32) {
			choose(words[uint32](d), c, words[uint32](x), words[uint32](y))
		})
	case bytecode.F64:
		return bindWhere(w, &w.f64, in, func(d []float64, c []uint8, x, y []float64) {
			choose(words[uint64](d), c, words[uint64](x), words[uint64](y))
		})
	case bytecode.Int:
		return bindWhere(w, &w.ints, in, func(d []int64, c []uint8, x, y []int64) {
			choose(words[uint64](d), c, words[uint64](x), words[uint64](y))
		})
	}
	return bindWhere(w, &w.bools, in, choose[uint8])
}

func bindWhere[T any](w *worker, f *file[T], in *bytecode.Instr, op func(d []T, c []uint8, a, b []T)) step {
	d := f.at(in.D)
	if in.D.IsScalar() {
		c, a, b := w.bools.at(in.A), f.at(in.B), f.at(in.C)
		return func() { op(d, c, a, b) }
	}
	c := widen(w, &w.bools, in.A, 2)
	x, y := widen(w, f, in.B, 0), widen(w, f, in.C, 1)
	return func() { op(d[:w.n], c(), x(), y()) }
}
