package codegen

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// Kind is how an axis runs. Its letter is used in dumps and in coloured kernel names.
type Kind uint8

const (
	Serial Kind = iota // a counted loop                                     's'
	Thread             // iterations shared by the thread pool; outermost    't'
	Grid               // workgroup                                          'g'
	Lane               // invocation of a workgroup                          'l'
	Tile               // unrolled into registers                            'u'
	Vector             // SIMD lanes                                         'v'
)

// Stmt is a statement: everything that has an effect or an order. Expressions inside are interned nodes; those
// that depend on the range of an enclosing Vector loop have one value per lane.
type Stmt interface{ stmt() }

type (
	// Loop runs Body for Range = 0 … N−1. A Vector loop runs all its values in lock step: a register first
	// set inside it has one value per lane. A Tile loop is the same, unrolled (only before the pass "expand"). The
	// iterations of Grid loops are workgroups, those of nested Lane loops invocations of each; what lies outside of
	// Lane loops is done by all of them.
	Loop struct {
		Range  *uop.UOp
		Kind   Kind
		Reduce bool       // belongs to a reduction: for names and colours
		Count  *uop.UOp   // if set, a register of Team: of a Serial loop, only so many iterations are done
		Copies int        // of a Serial loop: how many iterations are written one after the other; 0: one, N: no loop is left
		Splats []*uop.UOp // registers that are wanted in all lanes of vectors in it, and are assigned, but not in it
		Body   []Stmt
	}
	// If runs Body where Cond holds (per lane inside a Vector loop).
	If struct {
		Cond *uop.UOp
		Body []Stmt
	}
	// Let names a value, once: Reg (a uop.Reg) = Value. It dies with the enclosing block.
	Let struct{ Reg, Value *uop.UOp }
	// Set assigns accumulators, all values being computed before any is assigned.
	Set struct{ Regs, Values []*uop.UOp }
	// HorizontalReduce merges, with a monoid, the lanes of Values over a Vector range into the registers Regs that were
	// declared outside that Vector loop: Regs = Regs ⊕ v₀ ⊕ v₁ ⊕ … (grouping free if the target says so).
	HorizontalReduce struct {
		Regs   []*uop.UOp
		Monoid uop.Monoid
		Range  *uop.UOp
		Values []*uop.UOp
	}
	// Store writes one element (per lane): Buf is a Param, Index one linear offset after the pass "index".
	Store struct {
		Buf   *uop.UOp
		Index []*uop.UOp
		Value *uop.UOp
	}
	// MatrixProduct makes each element of Acc a sum of products: Acc[i·Cols + j] = Σₖ A[ABase + i·ARow + k] ⋅ B[BBase + k·BRow + j] for
	// i < Rows, j < Cols, k < Steps. A and B are words of numbers of Types, four of 8 bits or two of 16; the product of two words is
	// the sum of the products of their numbers. All three are scratch. Of bfloat16, numbers below 2⁻¹²⁶ count as zero, and sums
	// of float32 are grouped as the machine likes.
	MatrixProduct struct {
		Acc, A, B         *uop.UOp
		ABase, BBase      *uop.UOp
		ARow, BRow        int
		Rows, Cols, Steps int
		Types             [2]dtype.DType
	}
	// Four names four neighbours at once, those from Base + 4·At on, Base being a multiple of 4: of an array that nothing
	// writes while the kernel runs, or of the memory of a workgroup.
	Four struct {
		Regs      [4]*uop.UOp
		Buf, Base *uop.UOp
		At        int
	}
	// Splat says that a register is wanted in all lanes of vectors, or of scratch, that each of its elements is, and may lie
	// there so. It stands behind the declaration and changes no value.
	Splat struct{ Of *uop.UOp }
	// Alloc opens thread-local scratch of N elements, addressed by Loads and Stores of Buf, a scratch Param. Shared:
	// it belongs to the workgroup.
	Alloc struct {
		Buf    *uop.UOp
		N      int
		Shared bool
	}
	// Prefetch says that an element will soon be read, or written. It may lie outside of the array, and changes no value.
	Prefetch struct {
		Buf, Index *uop.UOp
		Write      bool
	}
	// Sync is a barrier: the invocations of a workgroup wait for each other, and see what the others stored in its
	// memory. All of them come by.
	Sync struct{}
	// Team declares indices of the invocation that runs: its number in its subgroup (those that run together), the number
	// of that in the workgroup, and how many the workgroup has, which are at most Most.
	Team struct {
		Lane, ID, Count *uop.UOp
		Most            int
	}
	// SubgroupReduce makes a register, declared before, what its values in all invocations of the subgroup are together, by Op
	// (Add, Mul or Max). All invocations of the workgroup come by.
	SubgroupReduce struct {
		Reg *uop.UOp
		Op  uop.Op
	}
)

func (*Loop) stmt()             {}
func (*If) stmt()               {}
func (*Let) stmt()              {}
func (*Set) stmt()              {}
func (*HorizontalReduce) stmt() {}
func (*Store) stmt()            {}
func (*MatrixProduct) stmt()    {}
func (*Four) stmt()             {}
func (*Splat) stmt()            {}
func (*Alloc) stmt()            {}
func (*Prefetch) stmt()         {}
func (*Sync) stmt()             {}
func (*Team) stmt()             {}
func (*SubgroupReduce) stmt()   {}

// Program is a lowered kernel: what a language spells.
type Program struct {
	Name       string // "r_32_784"
	Kinds      string // a letter per dim of Name
	Params     []Param
	Vars       []*uop.UOp
	Body       []Stmt
	Threads    int   // extent of the Thread loop, 1 if there is none
	Before     int64 // elements stored outside of it, which each thread does for itself
	Scratch    int64 // bytes
	Flops      int64
	Bytes      int64
	Directives string
	Guarded    int // accesses with a condition that keeps them within their buffer, because nothing else is known to

	Features    plan.Features // of the target: what was taken for granted
	Registers   int           // vector registers of the target
	VectorBytes int           // of one of them; 0: any
	Inverses    bool          // the target divides by multiplying with inverses

	Foreign *Foreign // in the place of Body
}

// Target is what the lowering must know of the machine and of the language.
type Target struct {
	Name       string
	VectorLen  func(d dtype.DType) int // lanes of a machine vector of d; 0: vectors of any length (INTERP)
	Registers  int                     // vector registers
	L1, L2     int                     // bytes of the caches of one core
	Threads    bool
	Has        func(o uop.Op, d dtype.DType) bool // ops that need no decomposition
	Total      bool                               // IDiv, Mod, shifts and casts to integers take all operands (Legalizer says what else)
	Limits     plan.Limits
	Branches   bool        // what few lanes need stands behind a condition (branch.go)
	RelaxedFMA bool        // a MulAdd of floats is written, and rounds once or twice: good for polynomials
	SoftFMA    bool        // a MulAdd of floats is computed by many instructions, or sums have their own (RelaxedFMA): none is made of sums and polynomials
	Broad      bool        // a number is repeated in all lanes only slowly: better once, in scratch
	Masks      bool        // loads and choices of some lanes take little more than those of all
	HoldsLoads bool        // a vector that was loaded has a register until its last use; else single ones are read again where they are used
	LongSteps  bool        // the multiply-adds of a block that fills the registers take longer than a number's way to memory and back
	Turns      bool        // neighbours that lanes load from rows of their own are loaded along the rows and turned
	ReadsAhead int         // rows of an array that the processor reads ahead at once; 0: unknown
	WholeRows  int         // bytes of a matrix that comes from memory, of which threads then read whole rows and add up what they make of them; 0: never
	OneStream  bool        // arrays that are read once are read best as one stream of neighbours: worth a copy of constants in that order
	LineCycles float64     // what a cache line from the second cache takes; 0: unknown
	Prefetch   bool        // loops over rows ask for the next row: see the pass "prefetch"
	SplitLoads bool        // a vector that lies in two cache lines takes two loads, and loads are what multiply-adds wait for
	Streams    bool        // sums with exponential weights go in blocks of weights, which are not stored
	Nests      NestLimits  // what kernels of several nests may be
	Matrix     *MatrixUnit // or nil: what multiplies whole blocks of matrices
	NoOpt      bool        // NOOPT=1: no directives at all
	Grid       bool        // Thread loops, nested, are invocations of a graphics processor; see grid.go
	// ShortLoops is set where loops count with 32 bits.
	ShortLoops bool
	Parallel   int  // invocations that keep a Grid busy, for which reductions and scans are cut; 0: nothing is cut for that
	Inverses   bool // floats are divided by multiplying with an inverse, which may be off in the last place and 0 where the divisor is large
	CPUBacked  bool // the Grid runs on a CPU (llvmpipe, SwiftShader)
	Features   plan.Features
	Unroll     Unroll                   // see the pass "unroll"
	Splats     bool                     // numbers that vectors are computed with have to be repeated in all lanes: see the pass "splats"
	Fours      func(d dtype.DType) bool // nil, or which arrays are better read by four: see the pass "fours"
	// Check, if set, is told of every Spec that Lower is given, and then of what each pass leaves; Lower fails with its
	// error (tests: package evaluate).
	Check func(s *Spec) func(l Lowering) error
}
