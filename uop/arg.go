package uop

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"strings"
)

// Arg is the fixed part of a node: one of the comparable types of this file.
type Arg interface{ arg() }

// Ints is a comparable list of integers.
type Ints string

// MakeInts packs a list.
func MakeInts(v ...int) Ints {
	var room [8 * 8]byte // for as many axes as most arrays have
	b := room[:0]
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return Ints(b)
}

// Len is the number of integers.
func (s Ints) Len() int { return len(s) / 8 }

// At is the i-th integer.
func (s Ints) At(i int) int {
	var x uint64
	for j := range 8 {
		x |= uint64(s[8*i+j]) << (8 * j)
	}
	return int(x)
}

// Slice unpacks the list.
func (s Ints) Slice() []int {
	v := make([]int, s.Len())
	for i := range v {
		v[i] = s.At(i)
	}
	return v
}

func (s Ints) String() string { return strings.Trim(fmt.Sprint(s.Slice()), "[]") }

type (
	// ConstArg is a scalar constant; floats compare by bits. Constants that a program may differentiate by have an ID each, so that two of one
	// value are two variables; it means nothing for what is computed, and canonical graphs have none.
	ConstArg struct {
		Value Value
		ID    uint64
	}
	// BufferArg is storage: its identity, its number of elements, its device, and how often
	// it had been assigned when this node was made.
	BufferArg struct {
		ID      uint64
		N       int
		Device  string
		Version int
	}
	// ParamArg is the Slot-th argument of a kernel or graph, of N elements. Scratch is thread-local
	// memory of a lowered kernel.
	ParamArg struct {
		Slot    int
		N       int
		Scratch bool
	}
	// VarArg is a bounded integer or (Lo = Hi = 0) a varying scalar. At tensor level it may have a value, with which its graph is
	// computed; plans get values when they are played.
	VarArg struct {
		Name   string
		Lo, Hi int
		Bound  bool
		Value  int
	}
	// RangeArg is a loop index from 0 to N−1. ID tells ranges apart; Name is how directives call it. ID −1 is
	// the tensor-level grid 0 … N−1 of shape [N].
	RangeArg struct {
		ID   int
		N    int
		Name string
	}
	// RegArg is a named value of a lowered kernel.
	RegArg struct{ ID int }
	// PadArg holds two numbers an axis: zeros before and after (Pad), or first and past-last index (Shrink).
	// ID is as that of a ConstArg.
	PadArg struct {
		Lo, Hi Ints
		ID     uint64
	}
	// SlideArg is out[… i … k …] = in[… i + Step·k + Lo … k …] with i on Axis (new size N), k on By, zero outside.
	SlideArg struct{ Axis, By, Step, Lo, N int }
	// ReduceArg is a reduction with a monoid. The first Parts sources are the values to merge. At tensor level
	// Axes are reduced; in a kernel the other sources are the ranges that are.
	ReduceArg struct {
		Monoid Monoid
		Parts  int
		Axes   Ints
	}
	// ScanArg is a running reduction along Axis. The first Parts sources are the values to merge. In a kernel, where Axis
	// does not count, two more follow: the range that the values run over, and the index up to which, inclusively, they
	// are merged. Code can be written where that is an axis of the output, of the same size. With Keys, of one part, the last source is a
	// key from 0 to Keys−1 for each value, and those of equal keys are merged: only schedules have such scans. With a Step, that is done instead of
	// what Monoid says.
	ScanArg struct {
		Monoid Monoid
		Parts  int
		Axis   int
		Keys   int
		Step   *Recurrence
	}
	// PartArg selects a part of a reduction.
	PartArg struct{ I int }
	// AxisArg names an axis.
	AxisArg struct{ Axis int }
	// ScatterArg names the axis that the index runs on, and how values are merged. Once: the index numbers the elements of the whole
	// array, of the same shape, and each of them exactly once, so that the base does not matter, nor any order: only schedules have such
	// scatters.
	ScatterArg struct {
		Axis   int
		Monoid Monoid
		Once   bool
	}
	// ExtentArg says how many elements of an axis count.
	ExtentArg struct {
		Axis int
		Size Size
	}
	// DeviceArg names a device, or several. Cut is how the copy lies on several: along which axis it is cut, plus one; 0 is whole on each.
	DeviceArg struct {
		Device string
		Cut    int
	}
	// LooseArg is a MulAdd's whose product may be rounded: it need not be one instruction.
	LooseArg struct{}
	// CheckArg says what is wrong where the code of a Check is above 0: see Number.
	CheckArg struct {
		Op     string // what the user called
		Reason string // with one %d for the number, if it has a place in it
		At     string // the user's file and line
		Lo, N  int    // the numbers that are right: Lo … N−1
	}
)

func (Ints) arg()       {}
func (ConstArg) arg()   {}
func (BufferArg) arg()  {}
func (ParamArg) arg()   {}
func (VarArg) arg()     {}
func (RangeArg) arg()   {}
func (RegArg) arg()     {}
func (PadArg) arg()     {}
func (SlideArg) arg()   {}
func (ReduceArg) arg()  {}
func (ScanArg) arg()    {}
func (PartArg) arg()    {}
func (AxisArg) arg()    {}
func (ScatterArg) arg() {}
func (DeviceArg) arg()  {}
func (CheckArg) arg()   {}
func (ExtentArg) arg()  {}
func (LooseArg) arg()   {}

var seed = maphash.MakeSeed()

func hashArg(a Arg) uint64 {
	switch a := a.(type) {
	case nil:
		return 0x9e37
	case Ints:
		return maphash.String(seed, string(a))
	case ConstArg:
		return mix(uint64(a.Value)+a.ID<<32, 1)
	case RangeArg:
		return mix(uint64(a.ID)<<32^uint64(a.N), 2)
	case RegArg:
		return mix(uint64(a.ID), 3)
	case BufferArg:
		return mix(a.ID<<8^uint64(a.Version), 4)
	case ParamArg:
		return mix(uint64(a.Slot)<<40^uint64(a.N), 5)
	}
	return maphash.Comparable(seed, a)
}

func mix(h, v uint64) uint64 {
	h ^= v + 0x9e3779b97f4a7c15 + h<<6 + h>>2
	h *= 0xff51afd7ed558ccd
	return h ^ h>>32
}
