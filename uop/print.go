package uop

import (
	"fmt"
	"strings"
)

// Print writes the graph of roots, one node a line, operands first: number, op, type, shape, argument, operands.
func Print(roots ...*UOp) string {
	var b strings.Builder
	var number Map[int]
	for i, u := range Topo(roots...) {
		number.Set(u, i)
		fmt.Fprintf(&b, "%4d %-10s %-5s", i, u.op, u.dtype.Short())
		if len(u.shape) > 0 {
			fmt.Fprintf(&b, " %v", []int(u.shape))
		}
		if a := argString(u); a != "" {
			fmt.Fprintf(&b, " %s", a)
		}
		for j, s := range u.src {
			if j == 0 {
				b.WriteString("  <-")
			}
			n, _ := number.Get(s)
			fmt.Fprintf(&b, " %%%d", n)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// argString is the argument as people write it.
func argString(u *UOp) string {
	switch a := u.arg.(type) {
	case nil:
		return ""
	case Ints:
		if u.op == Reshape || u.op == Expand { // the shape says it
			return ""
		}
		return "(" + a.String() + ")"
	case ConstArg:
		return u.constString()
	case PadArg:
		return fmt.Sprintf("(%v | %v)", a.Lo, a.Hi)
	case ReduceArg:
		if a.Axes == "" {
			return a.Monoid.String()
		}
		return fmt.Sprintf("%v (%v)", a.Monoid, a.Axes)
	case ScanArg:
		if a.Step != nil {
			return fmt.Sprintf("%d from %d", len(a.Step.Next), a.Parts)
		}
		return fmt.Sprintf("{%v %d %d %d}", a.Monoid, a.Parts, a.Axis, a.Keys)
	case BufferArg:
		return fmt.Sprintf("#%d v%d on %s", a.ID, a.Version, a.Device)
	case RangeArg:
		if a.ID < 0 {
			return "grid"
		}
		return fmt.Sprintf("%s 0..%d", u, a.N-1)
	case ParamArg:
		return u.String()
	case SlideArg:
		return fmt.Sprintf("axis %d by %d: %+d k %+d", a.Axis, a.By, a.Step, a.Lo)
	case ScatterArg:
		if a.Once {
			return "once"
		}
		return fmt.Sprintf("axis %d %v", a.Axis, a.Monoid)
	case AxisArg:
		return fmt.Sprintf("axis %d", a.Axis)
	case PartArg:
		return fmt.Sprint(a.I)
	case FunctionArg:
		return a.Name
	case LawArg:
		return a.Name
	case VarArg:
		return a.Name
	}
	return fmt.Sprint(u.arg)
}
