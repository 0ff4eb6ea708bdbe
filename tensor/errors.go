package tensor

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// ShapeError says that an operation does not fit the shapes of its operands, or that an axis, a size
// or an index is out of range.
type ShapeError = uop.ShapeError

// TypeError says that an operation is not defined for these element types, or that a Go value cannot
// become a tensor.
type TypeError struct {
	Op     string
	Types  []dtype.DType
	Reason string
	At     string // the caller's file and line
}

func (e *TypeError) Error() string {
	s := "tensor: " + e.Op
	for _, d := range e.Types {
		s += " " + d.String()
	}
	return place(s+": "+e.Reason, e.At)
}

// ArgumentError says that another argument makes no sense.
type ArgumentError struct {
	Op     string
	Reason string
	At     string
}

func (e *ArgumentError) Error() string { return place("tensor: "+e.Op+": "+e.Reason, e.At) }

// DeviceError says that a device could not be opened or had no memory for a new tensor.
type DeviceError struct {
	Op  string
	Err error
	At  string
}

func (e *DeviceError) Error() string {
	cause := strings.TrimPrefix(e.Err.Error(), "tensor: ") // of another operation below
	return place("tensor: "+e.Op+": "+strings.TrimPrefix(cause, e.Op+": "), e.At)
}

// Unwrap gives the cause.
func (e *DeviceError) Unwrap() error { return e.Err }

func place(s, at string) string {
	if at != "" {
		s += " (" + at + ")"
	}
	return s
}

// Try runs f and gives back, as an error, what an operation in it panicked with: *ShapeError,
// *TypeError, *ArgumentError or *DeviceError. Any other panic goes on.
func Try(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *ShapeError:
			if p.At == "" { // found by package uop; what panicked is still on the stack
				err = &ShapeError{Op: operation(p.Op), Shapes: p.Shapes, Reason: p.Reason, At: caller()}
				return
			}
			err = p
		case *TypeError:
			err = p
		case *ArgumentError:
			err = p
		case *DeviceError:
			err = p
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

func shapes(s ...uop.Shape) []uop.Shape { return s }

func shapesOf(ts ...*Tensor) []uop.Shape {
	out := make([]uop.Shape, len(ts))
	for i, t := range ts {
		out[i] = t.shape()
	}
	return out
}

func fail(op string, s []uop.Shape, format string, a ...any) {
	panic(&ShapeError{Op: op, Shapes: s, Reason: fmt.Sprintf(format, a...), At: caller()})
}

func failType(op string, types []dtype.DType, format string, a ...any) {
	panic(&TypeError{Op: op, Types: types, Reason: fmt.Sprintf(format, a...), At: caller()})
}

func failArg(op, format string, a ...any) {
	panic(&ArgumentError{Op: op, Reason: fmt.Sprintf(format, a...), At: caller()})
}

func failDevice(op string, err error) {
	panic(&DeviceError{Op: op, Err: err, At: caller()})
}

// library are the packages whose lines are not the user's.
var library = []string{"github.com/weft-ml/weft/tensor.", "github.com/weft-ml/weft/nn.", "github.com/weft-ml/weft/uop.",
	"github.com/weft-ml/weft/grad.", "github.com/weft-ml/weft/vmap.", "runtime."}

// Caller is the file and line of the first caller outside the library, for errors of packages that build
// on this one and belong to it, such as nn.
func Caller() string { return caller() }

func caller() string {
	at, _ := called()
	return at
}

// operation is the name of the operation of this package that the user called, or none if that cannot be told.
func operation(none string) string {
	_, f := called()
	name := f[strings.LastIndexByte(f, '.')+1:]
	if !strings.HasPrefix(f, library[0]) || name == "" || !unicode.IsUpper(rune(name[0])) {
		return none
	}
	return name
}

// called is the place of the first caller outside the library, and the function of the library that is called there.
func called() (at, of string) {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if f.File == "" {
			return "", ""
		}
		ours := strings.HasSuffix(f.File, "_test.go")
		if !ours {
			ours = true
			for _, p := range library {
				if strings.HasPrefix(f.Function, p) {
					ours = false
				}
			}
		}
		if ours {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line), of
		}
		of = f.Function
		if !more {
			return "", ""
		}
	}
}
