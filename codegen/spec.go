// Package codegen is what is said of one kernel: a Spec (what is computed), a list of directives (how), the tree of statements that is
// made of both (Program), and what a machine and a language can (Target). The packages below it, each of which knows those before it only:
//
//	affine  forms of indices, and which loops an expression depends on
//	legal   what targets lack, composed of what they have
//	nest    a Spec as nests of loops with names, and what directives make of these
//	lower   the tree of statements, through one visible list of passes
//	model   a model of the machine, which chooses the directives
//	tune    other lists of directives, for the clock to compare
//	c, wgsl, wasm, interp  languages, which spell the tree
//
// It knows expressions, loops and the limits of a target. It refuses to know tensors, schedules, and
// what kind of kernel it describes: a branch on that is a defect.
package codegen

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Spec says what a kernel computes: pure expressions over ranges, in no order. All nodes live in one arena.
type Spec struct {
	Home   *uop.Table
	Params []Param
	Vars   []*uop.UOp
	Outs   []Out

	Foreign *Foreign // what it does instead of Outs
}

// Foreign is a kernel that the program wrote in the target's language, on the Params of its Spec. It is no more than passed on: nothing is
// proven of what it reads and writes.
type Foreign struct {
	Name string
	Args int // how many of the Params it reads; it writes the others
	uop.ForeignText
}

// Param is a buffer argument. Dims are the sizes that Load and Out indices run over, row-major, dense;
// a buffer that is read and written in place is one Param.
type Param struct {
	DType dtype.DType
	Dims  []int
	Write bool
	Own   bool // each thread has an array of its own in its place; the argument stays as it is
}

// Out is one array that the kernel writes: for all values of Axes, Params[Param][Index] = Value.
// Index has one entry per dim of the Param. Value may hold Loads, (nested) Reduces over other ranges,
// and Scans up to the last of Axes, in whose order elements are then computed.
// Outs of one kernel run one after the other where their axes differ, in one nest where they agree, unless the later one is Apart.
//
// With Merge, the element is merged with Value instead of replaced (a scatter), in row-major order of
// Axes; Gate (may be nil) says whether the element takes part. Merged axes are those that Index does not
// determine one to one; they run serially.
type Out struct {
	Param int
	Axes  []*uop.UOp // ranges
	Index []*uop.UOp
	Value *uop.UOp
	Gate  *uop.UOp
	Merge *uop.Monoid
	Once  bool // Index comes from data, and names no element twice: they may be computed in any order
	Apart bool // begins a nest: it, or one behind it, reads what those before have written
}
