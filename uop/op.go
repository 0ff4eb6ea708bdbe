package uop

import "github.com/weft-ml/weft/dtype"

// Op says what a node computes. Everything that can be written as a composition of
// others is a rule, not an op.
type Op uint8

// The ops. Info(op) is the one place that states their properties.
const (
	Invalid Op = iota
	// Leaves.
	Const  // a scalar; ConstArg
	Buffer // storage that exists; BufferArg. Tensor level only
	Param  // argument of a kernel or of a compiled graph; ParamArg
	Var    // bounded symbolic integer or varying scalar; VarArg
	Range  // loop index; RangeArg. At tensor level: the grid 0, 1, …, n−1
	Reg    // a named value of a lowered kernel: temporary or accumulator; RegArg

	// Movement: no data moves.
	Reshape // Ints: the new shape
	Permute // Ints: the old axis of each new one
	Expand  // Ints: the new shape; only axes of size 1 grow
	Pad     // PadArg: zeros before and after each axis
	Shrink  // PadArg: first and one past last index of each axis
	Flip    // Ints: the axes reversed
	Slide   // SlideArg: shifts one axis by a multiple of another's index

	// Elementwise.
	Neg
	Sqrt
	Exp2
	Log2
	Sin
	Trunc
	RoundEven
	Cast
	Bitcast
	Add
	Mul
	Div  // floats
	IDiv // integers, toward minus infinity; by zero 0
	Mod  // integers, sign of the divisor; by zero 0
	Max
	And
	Or
	Xor
	Shl
	Shr
	Less
	Equal
	Dot2    // int32 words of two int16: the sum of both products
	Dot4    // int32 words of four bytes, those of the first without sign, those of the second with one: the sum of all products
	DotBF16 // int32 words of two bfloat16: the sum of both products, a float32
	Where
	MulAdd

	// Reductions.
	Reduce // ReduceArg: parts, and in kernels the ranges
	Part   // PartArg: one result of a reduction or scan with several
	Scan   // ScanArg: running reduction along an axis; in kernels up to a range

	ArgSort // the indices, int32, that put integers of the last axis into order; of equal ones the earlier comes first

	// Indexing, storage and order.
	Gather     // (x, index) AxisArg: out[…i…] = x[…index[…i…]…], 0 outside
	Scatter    // (base, index, value) ScatterArg: base merged with value at index; outside ignored
	Load       // (param, gate, index…): one element, 0 where the gate is false
	Store      // (target, value)
	After      // (buffer, store…): the buffer's content after these stores
	Contiguous // materialise
	Copy       // DeviceArg: on another device
	Detach     // (value, x, d, …): value, outside differentiation but for dvalue/dx = d of each pair
	Check      // (value, code) CheckArg: value, which is right only where no element of code is above 0. Tensor level only
	Extent     // ExtentArg: a value of which only the first elements of an axis count. Tensor level only
	Foreign    // ForeignArg: one result of a kernel that the program wrote in the language of a target
	Call       // CallArg: one result of a graph that was made once, for these arguments. Tensor level only
	Loop       // LoopArg: one result of a graph that is computed many times, each time from what it gave before; of all times, stacked
	numOps
)

// Algebra are the laws that an op obeys on exact numbers.
type Algebra uint8

const (
	Commutative Algebra = 1 << iota
	Associative
	Idempotent
)

// TypeRule says how the result type follows from the operands.
type TypeRule uint8

const (
	Given   TypeRule = iota // stated by the constructor
	First                   // that of the first operand
	Same                    // that of all operands, which must agree
	Boolean                 // bool; the operands must agree
	Second                  // that of the second and third operand; the first is bool
)

// Group is the family of an op.
type Group uint8

const (
	Leaf Group = iota
	Movement
	Unary
	Binary
	Ternary
	Reduction
	Memory
)

// Domain says which element types an elementwise op computes with: those of its last operand.
type Domain uint8

const (
	Nothing  Domain = iota // it is no elementwise op
	AnyType                // all but Void
	Floats                 // floating point
	Integers               // with and without sign, Index among them
	Numbers                // floats and integers
	Bits                   // integers and bool
	Ordered                // numbers and bool
	Stored                 // numbers that memory holds
	Words                  // int32
)

// Has reports whether a type belongs to the domain.
func (x Domain) Has(d dtype.DType) bool {
	switch x {
	case AnyType:
		return d != dtype.Void
	case Floats:
		return d.IsFloat()
	case Integers:
		return d.IsInt()
	case Numbers:
		return d.IsFloat() || d.IsInt()
	case Bits:
		return d.IsInt() || d == dtype.Bool
	case Ordered:
		return d.IsFloat() || d.IsInt() || d == dtype.Bool
	case Stored:
		return (d.IsFloat() || d.IsInt()) && d.Size() > 0
	case Words:
		return d == dtype.I32
	}
	return false
}

// Cost is what an elementwise op takes, in additions of its type.
type Cost struct {
	Element float64 // of an array, one among others: what the scheduler weighs against bytes
	Loop    float64 // in a loop that does little else: what the code generator weighs loops by. Integers are divided there one by one
}

var (
	free     = Cost{}
	light    = Cost{0.5, 1} // part of another instruction as a rule
	plain    = Cost{1, 1}
	division = Cost{4, 4}
	quotient = Cost{4, 20}
	function = Cost{20, 20}
)

// Trait is what a float result is to whoever compares it.
type Trait uint8

const (
	Exact    Trait = iota // as long as the operands are short
	Rounded               // a division or a root: rounded right, and the same everywhere
	Function              // transcendental: a polynomial of the target, whose last bit differs
)

// OpInfo is one row of the op table.
type OpInfo struct {
	Name    string
	Arity   int // −1: varies
	Type    TypeRule
	Group   Group
	Algebra Algebra
	Eval    func(args) Value // the meaning of an elementwise op
	Takes   Domain
	Cost    Cost
	Trait   Trait
}

// Info gives the row of an op.
func Info(o Op) *OpInfo { return &table[o] }

// String is the op's name.
func (o Op) String() string { return table[o].Name }

// Elementwise reports whether the op works on each element alone.
func (o Op) Elementwise() bool { g := table[o].Group; return g == Unary || g == Binary || g == Ternary }

// IsMovement reports whether the op only moves indices.
func (o Op) IsMovement() bool { return table[o].Group == Movement }

// NumOps is one past the last op.
const NumOps = numOps

var table = [numOps]OpInfo{
	Invalid: {"invalid", 0, Given, Leaf, 0, nil, Nothing, free, Exact},
	Const:   {"const", 0, Given, Leaf, 0, nil, Nothing, free, Exact},
	Buffer:  {"buffer", 0, Given, Leaf, 0, nil, Nothing, free, Exact},
	Param:   {"param", 0, Given, Leaf, 0, nil, Nothing, free, Exact},
	Var:     {"var", 0, Given, Leaf, 0, nil, Nothing, free, Exact},
	Range:   {"range", 0, Given, Leaf, 0, nil, Nothing, free, Exact},
	Reg:     {"reg", 0, Given, Leaf, 0, nil, Nothing, free, Exact},

	Reshape: {"reshape", 1, First, Movement, 0, nil, Nothing, free, Exact},
	Permute: {"permute", 1, First, Movement, 0, nil, Nothing, free, Exact},
	Expand:  {"expand", 1, First, Movement, 0, nil, Nothing, free, Exact},
	Pad:     {"pad", 1, First, Movement, 0, nil, Nothing, free, Exact},
	Shrink:  {"shrink", 1, First, Movement, 0, nil, Nothing, free, Exact},
	Flip:    {"flip", 1, First, Movement, 0, nil, Nothing, free, Exact},
	Slide:   {"slide", 1, First, Movement, 0, nil, Nothing, free, Exact},

	Neg:       {"neg", 1, First, Unary, 0, evalNeg, Numbers, light, Exact},
	Sqrt:      {"sqrt", 1, First, Unary, 0, evalSqrt, Floats, division, Rounded},
	Exp2:      {"exp2", 1, First, Unary, 0, evalExp2, Floats, function, Function},
	Log2:      {"log2", 1, First, Unary, 0, evalLog2, Floats, function, Function},
	Sin:       {"sin", 1, First, Unary, 0, evalSin, Floats, function, Function},
	Trunc:     {"trunc", 1, First, Unary, 0, evalTrunc, Floats, plain, Exact},
	RoundEven: {"roundeven", 1, First, Unary, 0, evalRoundEven, Floats, plain, Exact},
	Cast:      {"cast", 1, Given, Unary, 0, evalCast, Ordered, light, Exact},
	Bitcast:   {"bitcast", 1, Given, Unary, 0, evalBitcast, Stored, light, Exact},

	Add:   {"add", 2, Same, Binary, Commutative | Associative, evalAdd, Ordered, plain, Exact},
	Mul:   {"mul", 2, Same, Binary, Commutative | Associative, evalMul, Ordered, plain, Exact},
	Div:   {"div", 2, Same, Binary, 0, evalDiv, Floats, division, Rounded},
	IDiv:  {"idiv", 2, Same, Binary, 0, evalIDiv, Integers, quotient, Exact},
	Mod:   {"mod", 2, Same, Binary, 0, evalMod, Integers, quotient, Exact},
	Max:   {"max", 2, Same, Binary, Commutative | Associative | Idempotent, evalMax, Ordered, plain, Exact},
	And:   {"and", 2, Same, Binary, Commutative | Associative | Idempotent, evalAnd, Bits, plain, Exact},
	Or:    {"or", 2, Same, Binary, Commutative | Associative | Idempotent, evalOr, Bits, plain, Exact},
	Xor:   {"xor", 2, Same, Binary, Commutative | Associative, evalXor, Bits, plain, Exact},
	Shl:   {"shl", 2, Same, Binary, 0, evalShl, Integers, plain, Exact},
	Shr:   {"shr", 2, Same, Binary, 0, evalShr, Integers, plain, Exact},
	Less:  {"less", 2, Boolean, Binary, 0, evalLess, Ordered, plain, Exact},
	Equal: {"equal", 2, Boolean, Binary, Commutative, evalEqual, Ordered, plain, Exact},

	Dot2: {"dot2", 2, Same, Binary, Commutative, evalDot2, Words, plain, Exact},
	Dot4: {"dot4", 2, Same, Binary, 0, evalDot4, Words, plain, Exact},

	DotBF16: {"dotbf16", 2, Given, Binary, 0, evalDotBF16, Words, plain, Rounded},

	Where:  {"where", 3, Second, Ternary, 0, evalWhere, AnyType, light, Exact},
	MulAdd: {"muladd", 3, Same, Ternary, 0, evalMulAdd, Numbers, plain, Exact},

	Reduce: {"reduce", -1, First, Reduction, 0, nil, Nothing, free, Exact},
	Part:   {"part", 1, Given, Reduction, 0, nil, Nothing, free, Exact},
	Scan:   {"scan", -1, First, Reduction, 0, nil, Nothing, free, Exact},

	ArgSort: {"argsort", 1, Given, Reduction, 0, nil, Nothing, free, Exact},

	Gather:     {"gather", 2, First, Memory, 0, nil, Nothing, free, Exact},
	Scatter:    {"scatter", 3, First, Memory, 0, nil, Nothing, free, Exact},
	Load:       {"load", -1, First, Memory, 0, nil, Nothing, free, Exact},
	Store:      {"store", 2, First, Memory, 0, nil, Nothing, free, Exact},
	After:      {"after", -1, First, Memory, 0, nil, Nothing, free, Exact},
	Contiguous: {"contiguous", 1, First, Memory, 0, nil, Nothing, free, Exact},
	Copy:       {"copy", 1, First, Memory, 0, nil, Nothing, free, Exact},
	Detach:     {"detach", -1, First, Memory, 0, nil, Nothing, free, Exact},
	Check:      {"check", 2, First, Memory, 0, nil, Nothing, free, Exact},
	Extent:     {"extent", 1, First, Memory, 0, nil, Nothing, free, Exact},
	Foreign:    {"foreign", -1, Given, Memory, 0, nil, Nothing, free, Exact},
	Call:       {"call", -1, Given, Memory, 0, nil, Nothing, free, Exact},
	Loop:       {"loop", -1, Given, Memory, 0, nil, Nothing, free, Exact},
}
