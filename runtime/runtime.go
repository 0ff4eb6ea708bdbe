// Package runtime says what a device is: a place where plans are played.
//
// It never sees a graph: a device gets plain data (package plan) and untyped memory.
// The machines live in sub-packages, one each.
package runtime

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/plan"
)

// A Device is one place where plans can be played. Calls queue in order; only Load, Read
// and Sync wait. Memory is untyped bytes. Not safe for concurrent use.
type Device interface {
	Info() plan.Info
	Alloc(bytes int64) (Mem, error)                                // contents undefined
	Write(dst Mem, at int64, src []byte) error                     // src may be reused after return
	Read(ctx context.Context, dst []byte, src Mem, at int64) error // waits for what was queued
	Load(ctx context.Context, p *plan.Plan) (Loaded, error)        // compiles all kernels
	Play(l Loaded, args []Mem, vars []int32) error                 // args as plan.Memory.Arg says
	Sync(ctx context.Context) error                                // waits, and returns what failed since
	Close() error
}

// Mem is device memory. Free returns it at once; it must not be used by a queued play any more.
type Mem interface {
	Bytes() int64
	Free()
}

// Loaded is a plan made ready by a device.
type Loaded interface {
	Plan() *plan.Plan
	Free()
}

// OutOfMemory is returned by Alloc, Load and Play when the device's limit is reached.
type OutOfMemory struct {
	Device           string
	Asked, Live, Max int64 // bytes
}

func (e *OutOfMemory) Error() string {
	if e.Max == 0 { // no limit but the machine's
		return fmt.Sprintf("%s: out of memory: asked for %d bytes while %d are live, and the machine gives no more; free tensors or use smaller batches",
			e.Device, e.Asked, e.Live)
	}
	return fmt.Sprintf("%s: out of memory: asked for %d bytes while %d of %d are live; "+remedy,
		e.Device, e.Asked, e.Live, e.Max)
}

// TooLarge says that an array is larger than one piece of memory of the device may be.
type TooLarge struct {
	Device     string
	What       string // the array; "" where that is not known
	Asked, Max int64  // bytes
}

func (e *TooLarge) Error() string {
	what := "an array"
	if e.What != "" {
		what += " (" + e.What + ")"
	}
	return fmt.Sprintf("%s: %s of %d bytes is larger than the %d that this adapter can bind; use smaller batches or split the array",
		e.Device, what, e.Asked, e.Max)
}

// Closed is returned by every call after Close.
type Closed struct{ Device string }

func (e *Closed) Error() string { return e.Device + ": the device is closed" }

// Lost is returned by every call that notices that the device is gone: a driver was reset, a machine slept, a card was
// removed. What was queued may not have run. Such a device can only be closed; another may be opened in its place.
type Lost struct {
	Device string
	Why    error
}

func (e *Lost) Error() string { return fmt.Sprintf("%s: the device was lost (%v)", e.Device, e.Why) }

// Unwrap gives the cause.
func (e *Lost) Unwrap() error { return e.Why }

// Misconfigured is returned when opening a device fails because of a setting, such as a cache folder that cannot be
// written to. It is to be corrected; no other device is taken instead.
type Misconfigured struct{ Err error }

func (e *Misconfigured) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Misconfigured) Unwrap() error { return e.Err }
