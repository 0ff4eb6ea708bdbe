// Package saved is the file of captured functions: what they compute, as graphs over arrays, and the elements of these arrays.
//
// A file holds no kernel, no address and no text of a program, but only nodes of package uop, each of which is made anew when the
// file is read, with its types and shapes checked. So whoever loads it compiles it as a graph of its own: on any device, with every
// access proven by the compiler that reads it. A file from elsewhere can compute other numbers and can ask for more time
// and memory than there is; it cannot run code.
//
// The package refuses to know engines, tensors and how a graph becomes kernels.
//
//	err := saved.Write(w, program, func(i int) ([]byte, error) { … })
//	f, err := saved.Read(r)                       // the program alone
//	err = f.Contents(func(i int, elements []byte) error { … })
package saved

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Version is that of the format. A file of another one is refused.
const Version = 1

// Program is what a file says beside the elements of arrays.
type Program struct {
	Arrays     []Array
	Generators []Generator
	Functions  []Function
}

// Array is memory that functions read or assign, N elements in row-major order.
type Array struct {
	DType dtype.DType
	N     int
	Form  Form
	Sum   uint32 // CRC-32C of the elements as they lie in the file
}

// Generator is where a generator of random numbers stood.
type Generator struct{ Seed, Drawn uint64 }

// Function is a captured function. Leaves of its graphs are Params: slot i < len(Inputs) is an input, others are Arrays[i − len(Inputs)].
type Function struct {
	Name    string
	Inputs  []Input
	Arrays  []int // numbers in Program.Arrays
	Targets []Target
	Results []Result
	Draws   []Draw
	Ran     bool // it has run: each run from now on draws its random numbers first
}

// Input is an array that a run is given.
type Input struct {
	Name  string
	DType dtype.DType
	Shape []int
}

// Target is a value that a run computes.
type Target struct {
	Value  *uop.UOp
	Shape  []int
	Dest   int     // slot of the array that it becomes the content of; −1: of a fresh one
	On     []int   // numbers of checks that the value depends on
	Checks []Check // of which Value has the codes, where it is no value for anybody
}

// Check is one of the conditions that only values can tell, by its number in the function.
type Check struct {
	Number int
	Arg    uop.CheckArg
}

// Result is what a run gives: a target, or an array or input as it is after the run; the others are −1.
type Result struct {
	Name   string
	Target int
	Slot   int
	DType  dtype.DType
	Shape  []int
	Sizes  []uop.Size // nil: no axis varies
}

// Draw is an array that each run after the first finds with the key of a draw of so many words from a generator.
type Draw struct{ Slot, Generator, Words int }

// Form is how the elements of an array lie in a file.
type Form uint8

// The forms. Float32 alone has others than Exact.
const (
	Exact Form = iota // the array's type, little-endian, bool one byte
	Half              // float16, rounded to nearest
	Bytes             // blocks of BlockElements bytes with a sign, before each its scale as float32
	numForms
)

// BlockElements is how many elements share a scale in the form Bytes.
const BlockElements = 64

func (f Form) String() string { return [...]string{"exact", "float16", "int8"}[f] }

// Stored is how many bytes the elements take in a file.
func (a Array) Stored() int64 {
	n := int64(a.N)
	switch a.Form {
	case Half:
		return 2 * n
	case Bytes:
		return n + 4*((n+BlockElements-1)/BlockElements)
	}
	return n * int64(a.DType.Size())
}

// Error is what is wrong with a file.
type Error struct{ Reason string }

func (e *Error) Error() string { return "saved function: " + e.Reason }

func wrong(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }
