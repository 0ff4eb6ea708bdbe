// Package bytecode is the language of the INTERP device: programs for a machine whose registers are vectors of
// Lanes elements, as plain data that prints, parses and checks itself.
//
// The compiling half writes it (codegen/interp), the running half plays it (runtime/interp). It refuses to
// know expressions and how anything is computed.
//
//	bytecode 1
//	param f32 1000 r
//	param f32 1000 w
//	scalars 0 0 1 0
//	lanes 1 0 0 0
//	strip s0 #1000
//	loadv.f32 v0 s0 #0 *1
//	mul.f32 v0 v0 v0
//	storev.f32 _ s0 _ v0 #1 *1
//	end
package bytecode

import "github.com/weft-ml/weft/dtype"

// Lanes is the number of elements of a vector register.
const Lanes = 512

// Class is a register file. Registers of each class are counted by themselves.
type Class uint8

const (
	F32  Class = iota // float32; also holds narrow floats
	F64               // float64
	Int               // every integer type and Index, extended to 64 bits
	Bool              // 0 or 1
	NumClasses
)

// ClassOf is the register file that holds values of type d.
func ClassOf(d dtype.DType) Class {
	switch {
	case d == dtype.Bool:
		return Bool
	case d == dtype.F64:
		return F64
	case d.IsFloat():
		return F32
	}
	return Int
}

// Reg names a register: 0 none, n > 0 vector register n − 1, n < 0 scalar register −n − 1.
type Reg int32

// V is vector register n, S scalar register n.
func V(n int) Reg { return Reg(n + 1) }

// S is scalar register n.
func S(n int) Reg { return Reg(-n - 1) }

// IsVector reports whether r is a vector register.
func (r Reg) IsVector() bool { return r > 0 }

// IsScalar reports whether r is a scalar register.
func (r Reg) IsScalar() bool { return r < 0 }

// Index is the register's number in its file.
func (r Reg) Index() int {
	if r < 0 {
		return int(-r - 1)
	}
	return int(r - 1)
}

// Op is what an instruction does.
type Op uint8

// The instructions. D is the result; Type the type of the operands, To that of the result of a conversion.
const (
	Invalid Op = iota

	// Blocks, up to the matching End. D is the loop index (Int, scalar), Imm the number of iterations.
	Loop
	Thread // only the iterations lo … hi−1 of this call
	Strip  // D = 0, Lanes, 2·Lanes …; vector instructions inside work on min(Lanes, Imm − D) lanes
	If     // A: scalar Bool
	Tree   // repeats while more than one lane is left; Halve inside
	End

	// Memory: buffer Imm (parameters, then scratch), element A, where B (Bool; may be none) holds. Loads
	// give 0 elsewhere.
	Load    // D scalar
	LoadV   // D vector, lane l from element A + l·Stride
	Gather  // D vector, A vector
	Store   // C scalar
	StoreV  // C vector or scalar, lane l to element A + l·Stride
	Scatter // A vector; C vector or scalar

	// Movement between lanes.
	Var   // D scalar = the Imm-th variable of the call, as Type
	Mov   // D = A; a scalar is copied to all lanes
	Iota  // D[l] = A + l·Imm
	Any   // D scalar = A holds in some lane (Bool)
	First // D scalar = A[0]
	Even  // D[l] = A[2l]
	Odd   // D[l] = A[2l+1]; behind the last lane the scalar B
	Halve // half as many lanes, rounded up

	// Elementwise: D = op(A, B, C), each a vector or a scalar; D is a scalar if all are. Meaning: package
	// uop's. Narrow floats are computed as F32 and not rounded, so only exact ops make sense for them.
	Neg
	Sqrt
	Trunc
	RoundEven
	Cast
	Bitcast
	Add
	Sub
	Mul
	Div
	IDiv
	Mod
	Max
	And
	Or
	Xor
	Shl
	Shr
	Less
	Equal
	Where // A: Bool
	MulAdd
	numOps
)

// Instr is one instruction.
type Instr struct {
	Op         Op
	Type, To   dtype.DType
	D, A, B, C Reg
	Imm        int64
	Stride     int64
}

// Buffer is a parameter or scratch array.
type Buffer struct {
	DType dtype.DType
	N     int64
	Write bool
	At    int64 // scratch only: its offset in bytes
}

// Const is a scalar register that holds a constant during the whole program.
type Const struct {
	Class Class
	Reg   Reg
	Bits  uint64 // of float32, float64, int64, or 0 and 1
}

// Program is one kernel.
type Program struct {
	Params  []Buffer
	Scratch []Buffer
	Vars    int
	Scalars [NumClasses]int
	Vectors [NumClasses]int
	Consts  []Const
	Code    []Instr
}

// ScratchBytes is the size of the scratch memory of one thread.
func (p *Program) ScratchBytes() (n int64) {
	for _, s := range p.Scratch {
		n = max(n, s.At+s.N*int64(s.DType.Size()))
	}
	return n
}

// Buffer is parameter or scratch array number i.
func (p *Program) Buffer(i int) *Buffer {
	if i < len(p.Params) {
		return &p.Params[i]
	}
	return &p.Scratch[i-len(p.Params)]
}

// group is the family of instructions with one set of rules.
type group uint8

const (
	block group = iota
	memory
	lanes
	unary
	binary
	ternary
)

type info struct {
	name   string
	group  group
	floats bool // defined for floats
	ints   bool // for integers
	bools  bool
}

var table = [numOps]info{
	Loop: {"loop", block, false, false, false}, Thread: {"thread", block, false, false, false},
	Strip: {"strip", block, false, false, false}, If: {"if", block, false, false, false},
	Tree: {"tree", block, false, false, false}, End: {"end", block, false, false, false},

	Load: {"load", memory, true, true, true}, LoadV: {"loadv", memory, true, true, true},
	Gather: {"gather", memory, true, true, true}, Store: {"store", memory, true, true, true},
	StoreV: {"storev", memory, true, true, true}, Scatter: {"scatter", memory, true, true, true},

	Var: {"var", lanes, true, true, false}, Mov: {"mov", lanes, true, true, true},
	Iota: {"iota", lanes, false, true, false}, Any: {"any", lanes, false, false, true},
	First: {"first", lanes, true, true, true}, Even: {"even", lanes, true, true, true},
	Odd: {"odd", lanes, true, true, true}, Halve: {"halve", lanes, false, false, false},

	Neg: {"neg", unary, true, true, false}, Sqrt: {"sqrt", unary, true, false, false},
	Trunc: {"trunc", unary, true, false, false}, RoundEven: {"roundeven", unary, true, false, false}, Cast: {"cast", unary, true, true, true},
	Bitcast: {"bitcast", unary, true, true, true},

	Add: {"add", binary, true, true, false}, Sub: {"sub", binary, true, true, false},
	Mul: {"mul", binary, true, true, false}, Div: {"div", binary, true, false, false},
	IDiv: {"idiv", binary, false, true, false}, Mod: {"mod", binary, false, true, false},
	Max: {"max", binary, true, true, false}, And: {"and", binary, false, true, true},
	Or: {"or", binary, false, true, true}, Xor: {"xor", binary, false, true, true},
	Shl: {"shl", binary, false, true, false}, Shr: {"shr", binary, false, true, false},
	Less: {"less", binary, true, true, true}, Equal: {"equal", binary, true, true, true},

	Where: {"where", ternary, true, true, true}, MulAdd: {"muladd", ternary, true, true, false},
}

// String is the instruction's name.
func (o Op) String() string { return table[o].name }

// Elementwise gives the number of operands of an elementwise instruction, 0 for others.
func (o Op) Elementwise() int {
	switch table[o].group {
	case unary:
		return 1
	case binary:
		return 2
	case ternary:
		return 3
	}
	return 0
}

// Opens reports whether the instruction begins a block.
func (o Op) Opens() bool { return table[o].group == block && o != End }

// Operand is one register that an instruction names.
type Operand struct {
	Reg    *Reg
	Class  Class
	Result bool
}

// Operands lists the registers of an instruction with their files, absent ones too.
func (in *Instr) Operands() [4]Operand {
	c := ClassOf(in.Type)
	d, a, b := c, c, c
	switch in.Op {
	case Loop, Thread, Strip:
		d = Int
	case If, Any:
		a, d = Bool, Bool
	case Load, LoadV, Gather, Store, StoreV, Scatter:
		a, b = Int, Bool
	case Cast, Bitcast:
		d = ClassOf(in.To)
	case Less, Equal:
		d = Bool
	case Where:
		a = Bool
	}
	return [4]Operand{{&in.D, d, true}, {&in.A, a, false}, {&in.B, b, false}, {&in.C, c, false}}
}
