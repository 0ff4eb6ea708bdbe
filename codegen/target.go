package codegen

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// Target is what the lowering must know of the machine and of the language.
type Target struct {
	Name       string
	VectorLen  func(d dtype.DType) int            // lanes of a machine vector of d; 0: vectors of any length (INTERP)
	Registers  int                                // vector registers
	L1, L2     int                                // bytes of the caches of one core
	Has        func(o uop.Op, d dtype.DType) bool // ops that need no decomposition
	Total      bool                               // IDiv, Mod, shifts and casts to integers take all operands (Legalizer says what else)
	Limits     plan.Limits
	Branches   bool        // what few lanes need stands behind a condition (codegen/lower/branch.go)
	RelaxedFMA bool        // a MulAdd of floats is written, and rounds once or twice: good for polynomials
	SoftFMA    bool        // a MulAdd of floats is computed by many instructions, or sums have their own (RelaxedFMA): none is made of sums and polynomials
	Broad      bool        // a number is repeated in all lanes only slowly: better once, in scratch
	Masks      bool        // loads and choices of some lanes take little more than those of all
	WordLoads  bool        // numbers of a word that lie behind each other are loaded as that word, in lanes too
	HoldsLoads bool        // a vector that was loaded has a register until its last use; else single ones are read again where they are used
	LongSteps  bool        // the multiply-adds of a block that fills the registers take longer than a number's way to memory and back
	Turns      bool        // neighbours that lanes load from rows of their own are loaded along the rows and turned
	ReadsAhead int         // rows of an array that the processor reads ahead at once; 0: unknown
	WholeRows  int         // bytes of a matrix that comes from memory, of which threads then read whole rows and add up what they make of them; 0: never
	OneStream  bool        // arrays that are read once are read best as one stream of neighbours: worth a copy of constants in that order
	LineCycles float64     // what a cache line from the second cache takes; 0: unknown
	Prefetch   bool        // loops over rows ask for the next row: see the pass "prefetch"
	SplitLoads bool        // a vector that lies in two cache lines takes two loads, and loads are what multiply-adds wait for
	TileLoops  bool        // what is done with the sums of a tile is better a loop over it than written for each register, where it is much
	Streams    bool        // sums with exponential weights go in blocks of weights, which are not stored
	Lookup     int         // what looking a byte up in a table of 256 takes, in operations of a vector; 0: no function of a byte is made a table
	Nests      NestLimits  // what kernels of several nests may be
	Matrix     *MatrixUnit // or nil: what multiplies whole blocks of matrices
	NoOpt      bool        // NOOPT=1: no directives at all
	Grid       bool        // Thread loops, nested, are invocations of a graphics processor; see codegen/model/grid.go
	// ShortLoops is set where loops count with 32 bits.
	ShortLoops bool
	Parallel   int // invocations that keep a Grid busy, for which reductions and scans are cut; 0: nothing is cut for that
	// Loose says that floats are divided by multiplying with an inverse, which may be off in the last place and 0 where the divisor is large,
	// and that products may be added before they are rounded.
	Loose     bool
	CPUBacked bool // the Grid runs on a CPU (llvmpipe, SwiftShader)
	Features  plan.Features
	Compiling int                      // multiply-adds in the time that it takes to compile a kernel, about; 0: unknown
	Unroll    Unroll                   // see the pass "unroll"
	Splats    bool                     // numbers that vectors are computed with have to be repeated in all lanes: see the pass "splats"
	Fours     func(d dtype.DType) bool // nil, or which arrays are better read by four: see the pass "fours"
	// Check, if set, is told of every Spec that Lower is given, and then of what each pass leaves; Lower fails with its
	// error (tests: package evaluate).
	Check func(s *Spec) func(l Lowering) error
}

// MatrixUnit is what a machine can multiply at once: blocks of matrices of narrow numbers.
type MatrixUnit struct {
	Bytes    bool // of 8 bits, of either sign
	BFloat16 bool
}

// MatrixWords is how many words of a row a unit multiplies at once at most.
const MatrixWords = 16

// MatrixBlocks divides the words of a row into blocks of one length, so that a unit is set up once: there are so many words of so many, of which
// the last ones may be zero. Up to a quarter more blocks are taken for none to be.
func MatrixBlocks(words int) (n, blocks int) {
	least := CeilDiv(words, MatrixWords)
	for blocks = least; blocks <= least+least/4; blocks++ {
		if words%blocks == 0 {
			return words / blocks, blocks
		}
	}
	return CeilDiv(words, least), least
}

// Unroll is how far a language unrolls: 0 copies for not at all.
type Unroll struct {
	Copies int  // of a body; of a loop that is written out twice as many
	Bound  int  // of a body that stores or has conditions, if more: a language makes the loads of all of them first
	Ops    int  // operations of all copies
	Whole  bool // only loops of which none is left
}

// NestLimits are numbers of a target: what its kernels of several nests may be. The zero value: there are none.
type NestLimits struct {
	Most int // nests of one kernel

	// A kernel of this much work, be it arithmetic or memory, one thread does alone, because waking others would take longer.
	Flops, Bytes int64

	// What comes before a nest that threads share is done anew by each share, if the nest is so many times the work; 0: never.
	Before int

	Rows int // so many rows at least that nests go through together are enough to share among threads
}

// Alone says that a kernel is work for one thread.
func (n NestLimits) Alone(w Work) bool {
	return n.Flops > 0 && float64(w.Flops)/float64(n.Flops)+float64(w.Bytes)/float64(n.Bytes) < 1
}

// Work is what a kernel does: arithmetic operations, and bytes that must move at least.
type Work struct{ Flops, Bytes int64 }

// Lowering is a kernel on its way down, after a pass.
type Lowering interface {
	// Form is the kernel as it is now. Nobody but checks asks, so that programs without them do not hold it.
	Form() *Form
}

// Form is a kernel as a pass leaves it: what Target.Check looks at.
type Form struct {
	Pass   string
	Target *Target
	Spec   *Spec
	// Guards are the conditions under which the iterations of a range count, while there are no statements.
	Guards map[*uop.UOp]*uop.UOp
	Body   []Stmt // nil until the tree is built; then Spec is of no use but for its Params and Vars
}

// PastCaches is the size in bytes from which on caches keep nothing of an array until it is read.
const PastCaches = 32 << 20

// Fuses reports whether sums of products and polynomials gain by a MulAdd of this type.
func (t *Target) Fuses(d dtype.DType) bool {
	return t.Has(uop.MulAdd, d) && !(t.SoftFMA && d.IsFloat())
}

// MachineVectors says that a target has vectors of a length of its own.
func MachineVectors(t *Target) bool { return t.VectorLen(Widest) > 0 }

// MostIterations is how far devices count with 32 bits: iterations that threads share, everywhere, and those of any loop where
// Target.ShortLoops is set.
const MostIterations = math.MaxInt32

// CacheLine is the size of a line of a processor's caches in bytes.
const CacheLine = 64

// NewMatrixUnit is a unit for such numbers, or nil if it is for none.
func NewMatrixUnit(bytes, bfloat16 bool) *MatrixUnit {
	if !bytes && !bfloat16 {
		return nil
	}
	return &MatrixUnit{bytes, bfloat16}
}

// Multiplies says that the unit multiplies numbers of a type, as they are or in a wider type in which their products are added up.
func (m *MatrixUnit) Multiplies(d, wide dtype.DType) bool {
	switch d {
	case dtype.BF16:
		return m.BFloat16 && wide == dtype.F32
	case dtype.I8, dtype.U8:
		return m.Bytes && (wide == dtype.I32 || wide == dtype.U32)
	}
	return false
}

// WholeSums is how many bytes of sums there may be for each byte of a row that a thread reads whole (Target.WholeRows): to add up more takes
// longer than is saved.
const WholeSums = 4
