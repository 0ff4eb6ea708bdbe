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
	// the sum of the products of their numbers. Block divides Steps and is at most MatrixWords. All three are scratch. Of bfloat16, numbers below
	// 2⁻¹²⁶ count as zero, and sums of float32 are grouped as the machine likes.
	MatrixProduct struct {
		Acc, A, B         *uop.UOp
		ABase, BBase      *uop.UOp
		ARow, BRow        int
		Rows, Cols, Steps int
		Block             int
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
	Loose       bool          // as of the target

	Foreign *Foreign // in the place of Body
}
