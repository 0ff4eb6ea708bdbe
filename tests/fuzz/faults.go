package fuzz

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// What only values can tell, as an index that lies outside, is an error that comes to who reads a value which depends on it.
// Its codes are computed like any other value, so the bounds say where it must come, where it may and where it must not.

// fault is an error that reading a value gives.
type fault struct {
	op     string
	reason string
	number bool // reason has the very number; else it is a pattern
	must   bool
}

// matches compares what an error says, but for the place in the source.
func (f *fault) matches(e *engine.ValueError) bool {
	if f.op != e.Op {
		return false
	}
	if f.number || !strings.Contains(f.reason, "%d") {
		return f.reason == e.Reason
	}
	before, after, _ := strings.Cut(f.reason, "%d")
	return strings.HasPrefix(e.Reason, before) && strings.HasSuffix(e.Reason, after)
}

// faults are the errors that reading a node gives.
func (e *evaluator) faults(root *uop.UOp) []fault {
	var out []fault
	for _, c := range e.checksOf(root) {
		arg := c.Arg().(uop.CheckArg)
		var lo, hi int64
		for _, b := range e.of(c.At(1)) {
			lo, hi = max(lo, b.lo.Int()), max(hi, b.hi.Int())
		}
		if hi == 0 {
			continue
		}
		f := fault{op: arg.Op, reason: arg.Reason, must: lo > 0}
		if lo == hi && strings.Contains(arg.Reason, "%d") {
			f.reason, f.number = strings.Replace(arg.Reason, "%d", arg.Number(int32(hi)), 1), true
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// checksOf lists the checks that a node depends on. Those of nodes that were asked for before are kept.
func (e *evaluator) checksOf(root *uop.UOp) []*uop.UOp {
	if list, ok := e.checks[root]; ok {
		return list
	}
	var out []*uop.UOp
	seen := map[*uop.UOp]bool{root: true}
	for stack := []*uop.UOp{root}; len(stack) > 0; {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		src := u.Src()
		switch u.Op() {
		case uop.Detach: // the rest tells of derivatives
			src = src[:1]
		case uop.After: // what is there afterwards depends on what was there before where the store leaves some of it
			src = src[1:]
		case uop.Store:
			if view := u.At(0); view.Shape().Numel() == below(view).Shape().Numel() {
				src = src[1:]
			}
		case uop.Check:
			if u.At(1).Shape().Numel() > 0 {
				out = append(out, u)
			}
		}
		for _, s := range src {
			if list, ok := e.checks[s]; ok {
				for _, c := range list {
					if !seen[c] {
						seen[c] = true
						out = append(out, c)
					}
				}
				continue
			}
			if !seen[s] {
				seen[s] = true
				stack = append(stack, s)
			}
		}
	}
	e.checks[root] = out
	return out
}

// read reads a root and compares it; a text with Right says that the device refuses it.
func (w *result) read(t T) (What, string) {
	b, err := t.Bytes(background)
	if err != nil {
		return w.refused(err)
	}
	for i := range w.faults {
		if f := &w.faults[i]; f.must {
			return Wrong, fmt.Sprintf("no error where there must be one: %s: %s", f.op, f.reason)
		}
	}
	got := decode(w.dtype, b)
	if why := w.differs(got); why != "" {
		return Wrong, why
	}
	return listed(t, got)
}

// refused says whether an error is one that must or may come.
func (w *result) refused(err error) (What, string) {
	var v *engine.ValueError
	if !errors.As(err, &v) {
		return failure(err)
	}
	if v.At == "" {
		return Wrong, "an error that names no place: " + err.Error()
	}
	if slices.ContainsFunc(w.faults, func(f fault) bool { return f.matches(v) }) {
		return Right, ""
	}
	return Wrong, fmt.Sprintf("an error that does not belong there: %v", err)
}

// listed compares the two ways to read.
func listed(t T, want []uop.Value) (What, string) {
	list, err := t.ToList(background)
	if err != nil {
		return Wrong, "ToList: " + err.Error()
	}
	d, at := t.DType(), 0
	wrong := ""
	var walk func(x any)
	walk = func(x any) {
		if l, ok := x.([]any); ok {
			for _, y := range l {
				walk(y)
			}
			return
		}
		v := want[at]
		var is any
		switch {
		case d.IsFloat() && v.Float() != v.Float():
			at++
			return
		case d.IsFloat() && d.Size() == 8:
			is = v.Float()
		case d.IsFloat():
			is = float32(v.Float())
		case d.Bits() == 1 || x == true || x == false:
			is = v != 0
		case d.IsUnsigned() && d.Size() == 8:
			is = uint64(v)
		default:
			is = v.Int()
		}
		if x != is && wrong == "" {
			wrong = fmt.Sprintf("ToList gives %v where Bytes gives %v", x, is)
		}
		at++
	}
	walk(list)
	if at != len(want) && wrong == "" {
		wrong = fmt.Sprintf("ToList gives %d elements, not %d", at, len(want))
	}
	if wrong != "" {
		return Wrong, wrong
	}
	return Right, ""
}

// uploaded are the elements of an array that an op made from numbers known on the host, nil for others.
func uploaded(u *uop.UOp) []uop.Value {
	ref, err := engine.Use("REF")
	if err != nil {
		return nil
	}
	b := make([]byte, u.Shape().Numel()*u.DType().Size())
	if err := ref.Read(background, u, b); err != nil {
		return nil
	}
	return decode(u.DType(), b)
}
