package fuzz

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Source is the program as Go, to be pasted into a test that has a ctx.
func (p *Program) Source() string {
	w := &writer{p: p}
	w.names()
	if o := p.Options; o.NoOpt || o.StoreAll || o.Numbers || o.Known || o.Directives != 0 {
		fmt.Fprintf(&w.b, "// engine.Options{NoOpt: %v, StoreAll: %v, Numbers: %v}, random directives %d; run twice with other elements before: %v, and other numbers: %v\n", o.NoOpt, o.StoreAll, o.Numbers, o.Directives, o.Known, o.Others)
	}
	if len(p.Inputs) > 0 {
		w.captured()
		return w.b.String()
	}
	for i := range p.Ops {
		w.op(i)
	}
	for _, part := range p.Parts {
		fmt.Fprintf(&w.b, "tensor.Realize(ctx, %s)\n", w.several(part))
	}
	return w.b.String()
}

type writer struct {
	p    *Program
	b    strings.Builder
	name []string
}

// names lets an assigned tensor keep its name.
func (w *writer) names() {
	for i, o := range w.p.Ops {
		n := fmt.Sprintf("v%d", i)
		if o.mutates() {
			n = w.name[o.Args[0].N]
		}
		w.name = append(w.name, n)
	}
}

func (w *writer) several(vs []int) string {
	var out []string
	for _, v := range vs {
		out = append(out, w.name[v])
	}
	return strings.Join(out, ", ")
}

// captured writes the ops inside a function; its inputs get other elements in each run.
func (w *writer) captured() {
	var in []string
	for i := range w.p.Ops {
		if w.p.Ops[i].Name == leafOp && !slices.Contains(w.p.Inputs, i) {
			w.op(i)
		}
	}
	for run := range w.p.Runs {
		var list []string
		for _, v := range w.p.Inputs {
			list = append(list, w.leaf(w.p.Ops[v].Leaf, run))
		}
		in = append(in, strings.Join(list, ",\n\t"))
	}
	fmt.Fprintf(&w.b, "c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {\n")
	for k, v := range w.p.Inputs {
		fmt.Fprintf(&w.b, "%s := in[%d]\n", w.name[v], k)
	}
	for i := range w.p.Ops {
		if w.p.Ops[i].Name != leafOp {
			w.op(i)
		}
	}
	fmt.Fprintf(&w.b, "return []*tensor.Tensor{%s}\n}, %s)\n", w.several(w.p.roots()), in[0])
	for _, list := range in {
		fmt.Fprintf(&w.b, "outs, err = c.Run(ctx, %s)\n", list)
	}
}

func (w *writer) op(i int) {
	o := &w.p.Ops[i]
	switch {
	case o.Name == leafOp:
		fmt.Fprintf(&w.b, "%s := %s\n", w.name[i], w.leaf(o.Leaf, 0))
		return
	case o.Name == realizeOp:
		fmt.Fprintf(&w.b, "tensor.Realize(ctx, %s)\n", w.several(o.operands()))
		return
	}
	var args []string
	for k := range o.Args {
		args = append(args, w.arg(&o.Args[k])...)
	}
	if o.Name == varyOp {
		w.b.WriteString(varyText(w.name[i], args))
		return
	}
	call := "tensor." + o.Name
	if _, ok := functions[o.Name]; !ok {
		call = args[0] + "." + o.Name
		args = args[1:]
	}
	if _, ok := ours[o.Name]; ok {
		call = "fuzz." + o.Name
	}
	for _, a := range o.Args {
		if a.Kind == SeedA {
			fmt.Fprintf(&w.b, "tensor.Seed(%d)\n", a.N)
		}
	}
	if o.eager() {
		w.eager(i, call+"("+strings.Join(append([]string{"ctx"}, args...), ", ")+")")
		return
	}
	call += "(" + strings.Join(args, ", ") + ")"
	switch n, list := results(o.Name); {
	case o.mutates():
		fmt.Fprintf(&w.b, "%s\n", call)
	case list:
		fmt.Fprintf(&w.b, "%s := %s[%d]\n", w.name[i], call, o.Out)
	case n == 1:
		fmt.Fprintf(&w.b, "%s := %s\n", w.name[i], call)
	default:
		left := slices.Repeat([]string{"_"}, n)
		left[o.Out] = w.name[i]
		fmt.Fprintf(&w.b, "%s := %s\n", strings.Join(left, ", "), call)
	}
}

// eager writes an op that can fail as it is carried out.
func (w *writer) eager(i int, call string) {
	if o := &w.p.Ops[i]; strings.HasPrefix(o.Name, "Unique") {
		fmt.Fprintf(&w.b, "u%d, err := %s\n%s := u%d.%s\n", i, call, w.name[i], i, [...]string{"Values", "Inverse", "Counts"}[o.Out])
		return
	}
	fmt.Fprintf(&w.b, "%s, err := %s\n", w.name[i], call)
}

func (w *writer) arg(a *Arg) []string {
	one := func(format string, v ...any) []string { return []string{fmt.Sprintf(format, v...)} }
	switch a.Kind {
	case Val:
		return one("%s", w.name[a.N])
	case Vals:
		if len(a.List) == 0 {
			return nil
		}
		return one("%s", w.several(a.List))
	case ValsSl:
		return one("[]*tensor.Tensor{%s}", w.several(a.List))
	case Int:
		return one("%d", a.N)
	case Float:
		if s, odd := oddName(a.X); odd {
			return one("%s", s)
		}
		s := strconv.FormatFloat(a.X, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += "."
		}
		return one("%s", s)
	case Bool:
		return one("%v", a.N != 0)
	case Ints:
		var out []string
		for _, n := range a.List {
			out = append(out, strconv.Itoa(n))
		}
		return out
	case Slice:
		return one("%s", ints(a.List))
	case Type:
		return one("dtype.%s", typeName(dtype.DType(a.N)))
	case Text:
		return one("%q", a.S)
	case Span:
		return one("tensor.RS(%s, %s, %d)", edgeName(a.List[0]), edgeName(a.List[1]), a.List[2])
	case Bound:
		return one("tensor.NewVariable(%q, %d, %d).Bind(%d)", "v", a.List[0], a.List[1], a.List[2])
	case Whole:
		return one("tensor.All")
	case Axis:
		return one("tensor.NewAxis")
	case Dots:
		return one("tensor.Ellipsis")
	case Nil:
		return one("nil")
	case ConvA:
		c := a.conv()
		s := fmt.Sprintf("tensor.Conv{Stride: %d, Padding: %d, Dilation: %d, Groups: %d", c.Stride, c.Padding, c.Dilation, c.Groups)
		if c.OutputPadding != nil {
			s += ", OutputPadding: " + ints(c.OutputPadding)
		}
		if c.Same {
			s += ", Same: true"
		}
		return one("%s}", s)
	case PoolA:
		return one("%s", poolText(a))
	case AttnA:
		return one("tensor.Attention{Causal: %v}", a.N != 0)
	case Enum:
		return one("tensor.%s(%d)", a.S, a.N)
	case SeedA:
		return nil
	}
	return one("%s", w.optionsText(a))
}

func poolText(a *Arg) string {
	p := a.pool()
	s := fmt.Sprintf("tensor.Pool{Size: %s", ints(p.Size))
	for _, f := range []struct {
		name string
		list []int
	}{{"Stride", p.Stride}, {"Padding", p.Padding}, {"Dilation", p.Dilation}} {
		if f.list != nil {
			s += fmt.Sprintf(", %s: %s", f.name, ints(f.list))
		}
	}
	if p.Axes > 0 {
		s += fmt.Sprintf(", Axes: %d", p.Axes)
	}
	if p.Ceil {
		s += ", Ceil: true"
	}
	if p.ExcludePadding {
		s += ", ExcludePadding: true"
	}
	if p.Same {
		s += ", Same: true"
	}
	return s + "}"
}

func edgeName(n int) string {
	switch n {
	case begin:
		return "tensor.Begin"
	case end:
		return "tensor.End"
	}
	return strconv.Itoa(n)
}

func ints(list []int) string {
	var out []string
	for _, n := range list {
		out = append(out, strconv.Itoa(n))
	}
	return "[]int{" + strings.Join(out, ", ") + "}"
}

func typeName(d dtype.DType) string {
	if d == dtype.Bool {
		return "Bool"
	}
	return strings.ToUpper(d.Short())
}

// leaf is the expression that makes a leaf.
func (w *writer) leaf(l *Leaf, run int) string {
	v := l.values(run)
	if l.Type.IsNarrow() || len(l.Shape) == 0 {
		var out []string
		for _, b := range raw(l.Type, v) {
			out = append(out, strconv.Itoa(int(b)))
		}
		return fmt.Sprintf("tensor.FromBytes(dtype.%s, %s, []byte{%s})", typeName(l.Type), ints(l.Shape), strings.Join(out, ", "))
	}
	var out []string
	for _, x := range v {
		out = append(out, literal(l.Type, x))
	}
	s := fmt.Sprintf("tensor.Of([]%s{%s}", l.Type, strings.Join(out, ", "))
	for _, n := range l.Shape {
		s += ", " + strconv.Itoa(n)
	}
	return s + ")"
}

// oddName is how Go makes a float that has no literal.
func oddName(f float64) (name string, odd bool) {
	switch {
	case f != f:
		return "math.NaN()", true
	case math.IsInf(f, 0):
		return fmt.Sprintf("math.Inf(%d)", int(math.Copysign(1, f))), true
	case f == 0 && math.Signbit(f):
		return "math.Copysign(0, -1)", true
	}
	return "", false
}

func literal(d dtype.DType, v uop.Value) string {
	if d.IsFloat() {
		f := v.Float()
		bits := 32
		if d == dtype.F64 {
			bits = 64
		}
		if name, odd := oddName(f); odd {
			if bits == 32 {
				return "float32(" + name + ")"
			}
			return name
		}
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
	if d == dtype.Bool {
		return strconv.FormatBool(v != 0)
	}
	return show(d, v)
}
