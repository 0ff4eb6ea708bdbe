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
	Layer  string // of package nn, that the operation was called in
}

func (e *TypeError) Error() string {
	s := "tensor: " + e.Op
	for _, d := range e.Types {
		s += " " + d.String()
	}
	return place(uop.InLayer(s+": "+e.Reason, e.Layer), e.At)
}

// ArgumentError says that another argument makes no sense.
type ArgumentError struct {
	Op     string
	Reason string
	At     string
	Layer  string
}

func (e *ArgumentError) Error() string {
	return place(uop.InLayer("tensor: "+e.Op+": "+e.Reason, e.Layer), e.At)
}

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
// *TypeError, *ArgumentError or *DeviceError, or the error that Must was given. Any other panic goes on. An error that f
// assigns to the variable which takes what Try gives is lost; Must and Done hand it on.
func Try(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *ShapeError:
			err = located(p)
		case *failure:
			err = p.err
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

// located is an error with the caller's line; what panicked is still on the stack where package uop found it, which knows none.
func located(p *ShapeError) *ShapeError {
	if p.At != "" {
		return p
	}
	return &ShapeError{Op: operation(p.Op), Shapes: p.Shapes, Reason: p.Reason, At: caller(), Layer: layer()}
}

// failure is a panic with an error of the world.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Must is v; where err is not nil it panics, and Try gives that error back. So a program may handle in one place what can fail on
// any of its lines, errors of files and devices like those of shapes:
//
//	err := tensor.Try(func() {
//		opt := tensor.Must(nn.NewAdam(ctx, net, nn.AdamOptions{}))
//		for range steps {
//			tensor.Done(opt.Step(ctx, loss()))
//		}
//		fmt.Println(tensor.Must(loss().Item(ctx)))
//	})
func Must[T any](v T, err error) T {
	Done(err)
	return v
}

// Done is Must for what gives nothing but an error.
func Done(err error) {
	if err != nil {
		panic(&failure{err})
	}
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
	panic(&ShapeError{Op: asCalled(op), Shapes: s, Reason: fmt.Sprintf(format, a...), At: caller(), Layer: layer()})
}

func failType(op string, types []dtype.DType, format string, a ...any) {
	panic(&TypeError{Op: asCalled(op), Types: types, Reason: fmt.Sprintf(format, a...), At: caller(), Layer: layer()})
}

func failArg(op, format string, a ...any) {
	panic(&ArgumentError{Op: asCalled(op), Reason: fmt.Sprintf(format, a...), At: caller(), Layer: layer()})
}

// missing is an error that names the first of several tensors that is nil, for functions that return errors; operations on tensors panic.
func missing(op, what string, ts []*Tensor) error {
	for i, t := range ts {
		if t == nil || t.graph.Load() == nil {
			return &ArgumentError{Op: op, Reason: fmt.Sprintf("%s %d is nil", what, i), At: caller()}
		}
	}
	return nil
}

func failDevice(op string, err error) {
	panic(&DeviceError{Op: asCalled(op), Err: err, At: caller()})
}

// library are the packages whose lines are not the user's.
var library = []string{"github.com/weft-ml/weft/tensor.", "github.com/weft-ml/weft/nn.", "github.com/weft-ml/weft/uop.",
	"github.com/weft-ml/weft/nn/recurrent.", "github.com/weft-ml/weft/grad.", "github.com/weft-ml/weft/vmap.", "github.com/weft-ml/weft/engine.",
	"runtime.", "sync."}

// Caller is the file and line of the first caller outside the library, for errors of packages that build
// on this one and belong to it, such as nn.
func Caller() string { return caller() }

func caller() string {
	at, _, _ := called()
	return at
}

// layer names the layers of package nn that the caller is in, the outermost first.
func layer() string {
	_, _, in := called()
	return in
}

// operation is the name of the operation of this package that the user called, or none if that cannot be told.
func operation(none string) string {
	_, f, _ := called()
	name := f[strings.LastIndexByte(f, '.')+1:]
	if !strings.HasPrefix(f, library[0]) || name == "" || !unicode.IsUpper(rune(name[0])) {
		return none
	}
	return name
}

// asCalled is the operation of this package that an error is about: op, or, if a function of that name was called by another one of this
// package, the outermost of these; of "" it is the outermost in any case. Names that programs give, as to Custom, stay.
func asCalled(op string) string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more, found, last := true, op == "", op; ; {
		var f runtime.Frame
		if more {
			f, more = frames.Next()
		}
		if !strings.HasPrefix(f.Function, library[0]) || strings.HasSuffix(f.File, "_test.go") {
			return last
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(f.Function[len(library[0]):], "(*Tensor)."), ".") // less closures
		if name, _, _ = strings.Cut(name, "["); name != "" && unicode.IsUpper(rune(name[0])) {
			if found = found || name == op; found {
				last = name
			}
		}
	}
}

// origin is where the program made what is about to become a tensor.
func origin() *uop.Origin {
	at, f, layers := called()
	return &uop.Origin{Method: f[strings.LastIndexByte(f, '.')+1:], Layer: layers, At: at}
}

// called is the place of the first caller outside the library, the function of the library that is called there, and the layers of
// package nn in between.
func called() (at, of, layers string) {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if f.File == "" {
			return "", "", layers
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
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line), of, layers
		}
		if strings.HasPrefix(f.Function, layered) && strings.HasSuffix(f.Function, forward) {
			if layers != "" {
				layers = ", " + layers
			}
			_, name, _ := strings.Cut(f.Function[len(layered):len(f.Function)-len(forward)], ".")
			layers = "nn." + strings.Trim(name, "(*)") + layers
		}
		of = f.Function
		if !more {
			return "", "", layers
		}
	}
}

// layered is where the packages of layers are, and forward the method that each layer has.
const (
	layered = "github.com/weft-ml/weft/nn"
	forward = ".Forward"
)

// InLayer says of what an operation panicked with, p, in which of many layers of its kind it was called; it gives back what to panic with.
// It is for layers made of layers.
func InLayer(p any, kind string, index int) any {
	number := func(layers string) string {
		one := fmt.Sprintf("%s[%d]", kind, index)
		all := strings.Split(layers, ", ")
		for i := len(all) - 1; i >= 0; i-- { // those further in have their numbers already
			if all[i] == kind {
				all[i] = one
				return strings.Join(all, ", ")
			}
		}
		return strings.TrimSuffix(one+", "+layers, ", ")
	}
	switch e := p.(type) {
	case *ShapeError:
		e = located(e)
		e.Layer = number(e.Layer)
		return e
	case *TypeError:
		e.Layer = number(e.Layer)
	case *ArgumentError:
		e.Layer = number(e.Layer)
	}
	return p
}
