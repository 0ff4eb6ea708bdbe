// Package dtype names the element types of tensors and says how they combine.
//
// It knows sizes, kinds and the promotion lattice, and the conversions of single
// elements that have no Go type (float16, bfloat16, float8). It refuses to know tensors,
// graphs and devices.
package dtype

// DType is the type of one element.
type DType uint8

// The element types. Index is the type of index arithmetic: exact integers without
// storage, whose width (32 or 64 bits) is chosen when a kernel is lowered.
const (
	Void DType = iota
	Index
	Bool
	I8
	U8
	I16
	U16
	I32
	U32
	I64
	U64
	F16
	BF16
	F32
	F64
	F8E4M3
	F8E5M2
	num
)

// The long names of the types, which messages and String have.
const (
	Int8       = I8
	Uint8      = U8
	Int16      = I16
	Uint16     = U16
	Int32      = I32
	Uint32     = U32
	Int64      = I64
	Uint64     = U64
	Float16    = F16
	BFloat16   = BF16
	Float32    = F32
	Float64    = F64
	Float8E4M3 = F8E4M3
	Float8E5M2 = F8E5M2
)

type kind uint8

const (
	none kind = iota
	boolean
	signed
	unsigned
	float
)

type info struct {
	name  string
	short string
	size  int
	kind  kind
}

var table = [num]info{
	Void:  {"void", "void", 0, none},
	Index: {"index", "idx", 0, signed},
	Bool:  {"bool", "b1", 1, boolean},
	I8:    {"int8", "i8", 1, signed},
	U8:    {"uint8", "u8", 1, unsigned},
	I16:   {"int16", "i16", 2, signed},
	U16:   {"uint16", "u16", 2, unsigned},
	I32:   {"int32", "i32", 4, signed},
	U32:   {"uint32", "u32", 4, unsigned},
	I64:   {"int64", "i64", 8, signed},
	U64:   {"uint64", "u64", 8, unsigned},
	F16:   {"float16", "f16", 2, float},
	BF16:  {"bfloat16", "bf16", 2, float},
	F32:   {"float32", "f32", 4, float},
	F64:   {"float64", "f64", 8, float},

	F8E4M3: {"float8_e4m3fn", "f8e4m3", 1, float},
	F8E5M2: {"float8_e5m2", "f8e5m2", 1, float},
}

// All lists the types that have storage, smallest first within a kind.
var All = []DType{Bool, I8, U8, I16, U16, I32, U32, I64, U64, F8E4M3, F8E5M2, F16, BF16, F32, F64}

// noType is the row of numbers that are no type.
var noType = info{name: "no type", short: "none"}

func (d DType) row() *info {
	if d < num {
		return &table[d]
	}
	return &noType
}

// String gives the long name, "float32".
func (d DType) String() string { return d.row().name }

// Short gives the short name, "f32".
func (d DType) Short() string { return d.row().short }

// Size is the number of bytes of one stored element; 0 for types without storage, and for numbers that are no type.
func (d DType) Size() int { return d.row().size }

// Bits is 8·Size, and 1 for Bool.
func (d DType) Bits() int {
	if d == Bool {
		return 1
	}
	return 8 * d.row().size
}

// IsFloat reports whether d is a floating-point type.
func (d DType) IsFloat() bool { return d.row().kind == float }

// IsNarrow reports whether d is a floating-point type of fewer than 32 bits: what machines keep as words and compute in float32.
func (d DType) IsNarrow() bool {
	r := d.row()
	return r.kind == float && r.size < 4
}

// Word is the type that machines keep d as: an unsigned integer for a narrow float, else d itself.
func (d DType) Word() DType {
	switch {
	case !d.IsNarrow():
		return d
	case d.Size() == 1:
		return U8
	}
	return U16
}

// IsInt reports whether d is an integer type; Bool is not one, Index is.
func (d DType) IsInt() bool { return d.row().kind == signed || d.row().kind == unsigned }

// IsUnsigned reports whether d is an unsigned integer type.
func (d DType) IsUnsigned() bool { return d.row().kind == unsigned }

// Parse finds a type by its long or short name.
func Parse(name string) (DType, bool) {
	for d := range num {
		if d > Index && (table[d].name == name || table[d].short == name) {
			return d, true
		}
	}
	return Void, false
}

// lattice[d] are the direct upper neighbours of d. Promotion is the least common
// upper type; uint64 with a signed type has none among the integers and becomes F32.
var lattice = [num][]DType{
	Bool: {I8, U8}, I8: {I16}, U8: {I16, U16}, I16: {I32}, U16: {I32, U32}, I32: {I64}, U32: {I64, U64},
	I64: {F8E4M3, F8E5M2}, U64: {F8E4M3, F8E5M2}, F8E4M3: {F16, BF16}, F8E5M2: {F16, BF16}, F16: {F32}, BF16: {F32}, F32: {F64},
}

var promotion = func() (t [num][num]DType) {
	up := func(d DType) (set uint32) {
		todo := []DType{d}
		for len(todo) > 0 {
			d := todo[len(todo)-1]
			todo = append(todo[:len(todo)-1], lattice[d]...)
			set |= 1 << d
		}
		return set
	}
	for _, a := range All {
		for _, b := range All {
			common := up(a) & up(b)
			if (a == U64 || b == U64) && a != b && a.IsInt() && b.IsInt() && !(a.IsUnsigned() && b.IsUnsigned()) {
				t[a][b] = F32
				continue
			}
			for _, c := range All { // All is in topological order of the lattice
				if common&(1<<c) != 0 {
					t[a][b] = c
					break
				}
			}
		}
	}
	return t
}()

// Promote gives the type in which an operation on a and b is computed: the least
// common upper type of the lattice. uint8+int8 is int16, int32+float16 is float16,
// float16+bfloat16 is float32, uint64 with a signed integer is float32, the two float8 are float16.
func Promote(a, b DType) DType {
	if a == b {
		return a
	}
	return promotion[a][b]
}

// Accumulator is the type in which sums and products of d are carried and, for
// integers, returned: at least 32 bits; the small floats use float32 inside.
func Accumulator(d DType) DType {
	switch d {
	case Bool, I8, I16:
		return I32
	case U8, U16:
		return U32
	}
	if d.IsNarrow() {
		return F32
	}
	return d
}
