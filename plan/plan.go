// Package plan is the waist of Weft: a Plan is plain data that the compiling half writes
// and the running half plays. It says which kernels there are, which memory they touch and
// in which order they run.
//
// It knows no graph, no rule and no device; it can be printed, compared and saved.
package plan

import "github.com/weft-ml/weft/dtype"

// Version is the version of the plan's format and of the kernel ABI.
const Version = 1

// Plan is a program for one device.
type Plan struct {
	Version int
	Target  string // name of the target that its kernels were written for: "CPU", "INTERP", …
	Vars    []Var
	Kernels []Kernel
	Memory  []Memory
	Slots   []Slot
	Steps   []Step
	Peak    int64 // bytes of the arena: what the plan needs beyond inputs, states and outputs

	Constants []Constant // arguments that come with the plan
}

// Constant is what an argument of all plays holds: kernels get numbers from it, so that those that differ in them alone are one.
type Constant struct {
	Arg   int
	DType dtype.DType
	Data  []byte
}

// Var is a named int32 of the plan's uniform block, within Lo and Hi.
type Var struct {
	Name   string
	Lo, Hi int32
}

// Kernel is one compiled function: its source in the target's language and how it is launched.
// On a CPU and in WebAssembly (where pointers are offsets into the one memory) the ABI is
//
//	void entry(char *const *buf, const int32_t *var, char *scratch, int32_t lo, int32_t hi)
//
// where lo..hi is the share of the Threads iterations that this call does.
type Kernel struct {
	Name       string // what it is: "r_32_784", coloured by Kinds
	Kinds      string // one letter per dim of Name: g l t s v r u (see codegen.Kind)
	Entry      string // symbol; derived from the content, so equal kernels share it
	Source     string // text in the target's language; for INTERP byte code (package bytecode)
	Code       []byte // what runs, where that is not Source: for WASM the body of a function (package wasmmod)
	Scratch    int64  // bytes of thread-local scratch
	Threads    int32  // iterations of the parallel loop; 1 when there is none
	Before     int64  // elements that each call stores in scratch before its iterations, whatever its share is
	Binds      []Bind
	Flops      int64 // arithmetic operations of one launch, a multiply-add counting 2
	Bytes      int64 // bytes that one launch must at least move
	Directives string
	Made       string    // which methods of the program, on which lines, it computes; "": not known
	Grid       [3]uint32 // workgroups of a launch, on a graphics processor; their size stands in the source
	Parts      []Part    // launches of their own in which they are done, one submission after the other; nil: one launch
	Needs      Features
	Foreign    bool  // a program wrote its text, which is compiled apart from others
	Draft      Draft // from which the target's Finish spells Entry and Source, until it has
}

// Draft is a kernel whose text depends on the memory that a plan binds to it, and that is not spelled yet.
type Draft interface {
	// Alone is the name and the text that it has where each buffer is bound by itself.
	Alone() (entry, source string)
}

// Spelled is the kernel with its text, to be looked at: that of a draft is the one that it has by itself.
func (k Kernel) Spelled() Kernel {
	if k.Draft != nil {
		k.Entry, k.Source = k.Draft.Alone()
		k.Draft = nil
	}
	return k
}

// Bind is one buffer argument of a kernel.
type Bind struct {
	Write   bool
	Bytes   int64 // the least size of the buffer bound here
	Mutable bool  // some step of the plan writes the buffer, though not this kernel: WebGPU must bind it alike in all
}

// MemoryKind says whose a piece of memory is.
type MemoryKind uint8

const (
	Arena  MemoryKind = iota // the plan's own, shared by slots whose lives do not overlap
	Input                    // argument i of Play, read only
	Output                   // argument i of Play, written
	State                    // argument i of Play, read and written in place
)

func (k MemoryKind) String() string { return [...]string{"arena", "input", "output", "state"}[k] }

// Memory is one allocation. Arg is the index into Play's args; unused for the arena.
type Memory struct {
	Kind  MemoryKind
	Arg   int
	Bytes int64
}

// Slot is a range of a Memory holding one array.
type Slot struct {
	Memory int
	Offset int64
	Bytes  int64
	DType  dtype.DType
	Dims   []int
}

// StepKind is what a step does.
type StepKind uint8

const (
	Launch StepKind = iota // Kernel on Slots
	Copy                   // Slots[0] ← Slots[1]
)

// Step is one command of the queue; steps run in order.
type Step struct {
	Kind   StepKind
	Kernel int
	Slots  []int
}

// Info describes a device.
type Info struct {
	Name    string // "CPU"
	Detail  string // what it is: processor, compiler, adapter
	Target  string // the language of its kernels: "c", "interp"
	Threads int
	Limits  Limits

	Features Features // of graphics processors
}

// Limits are what the compiler must respect; 0 means none.
type Limits struct {
	MaxBindings int   // buffers per kernel
	MaxBytes    int64 // bytes of one buffer
	Memory      int64 // bytes of the device in all
	Align       int   // bytes at whose multiples a slot begins

	// Of graphics processors.
	Groups      int   // workgroups a dimension
	Invocations int   // of one workgroup
	Shared      int64 // bytes of workgroup memory
	Iterations  int   // of all loops of one invocation together
	Flops       int64 // arithmetic operations a second that can be counted on; launches are cut by it, see Kernel.Cut
	Moves       int64 // the same of bytes a second
}
