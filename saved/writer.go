package saved

import (
	"encoding/binary"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// writer collects the bytes of a program: numbers as varints, texts and lists behind their length.
type writer struct {
	b   []byte
	err error
}

func (w *writer) int(n int)    { w.b = binary.AppendVarint(w.b, int64(n)) }
func (w *writer) u64(n uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, n) }

func (w *writer) bool(v bool) {
	n := 0
	if v {
		n = 1
	}
	w.int(n)
}

func (w *writer) text(s string) {
	w.int(len(s))
	w.b = append(w.b, s...)
}

func (w *writer) ints(v []int) {
	w.int(len(v))
	for _, n := range v {
		w.int(n)
	}
}

func (w *writer) dtype(d dtype.DType) { w.text(d.String()) }

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = wrong(format, args...)
	}
}

// Encode gives the bytes of a program. What Decode would not take is an error.
func Encode(p *Program) ([]byte, error) {
	w := &writer{}
	w.int(len(p.Arrays))
	for _, a := range p.Arrays {
		w.dtype(a.DType)
		w.int(a.N)
		w.int(int(a.Form))
		w.u64(uint64(a.Sum))
	}
	w.int(len(p.Generators))
	for _, g := range p.Generators {
		w.u64(g.Seed)
		w.u64(g.Drawn)
	}
	w.int(len(p.Functions))
	for i := range p.Functions {
		w.function(&p.Functions[i])
	}
	if w.err != nil {
		return nil, w.err
	}
	if _, err := Decode(w.b); err != nil {
		return nil, err
	}
	return w.b, nil
}

func (w *writer) function(f *Function) {
	w.text(f.Name)
	w.int(len(f.Inputs))
	for _, in := range f.Inputs {
		w.text(in.Name)
		w.dtype(in.DType)
		w.ints(in.Shape)
	}
	w.ints(f.Arrays)
	ids := w.graph(f)
	w.int(len(f.Targets))
	for _, t := range f.Targets {
		w.int(ids[t.Value])
		w.ints(t.Shape)
		w.int(t.Dest)
		w.ints(t.On)
		w.int(len(t.Checks))
		for _, c := range t.Checks {
			w.int(c.Number)
			for _, s := range []string{c.Arg.Op, c.Arg.Reason, c.Arg.At} {
				w.text(s)
			}
			w.int(c.Arg.Lo)
			w.int(c.Arg.N)
		}
	}
	w.int(len(f.Results))
	for _, r := range f.Results {
		w.text(r.Name)
		w.int(r.Target)
		w.int(r.Slot)
		w.dtype(r.DType)
		w.ints(r.Shape)
		w.int(len(r.Sizes))
		for _, s := range r.Sizes {
			w.int(s.C)
			for _, t := range s.Terms {
				w.int(t.K)
				if t.K != 0 {
					w.variable(t.Var)
				}
			}
		}
	}
	w.int(len(f.Draws))
	for _, d := range f.Draws {
		w.ints([]int{d.Slot, d.Generator, d.Words})
	}
	w.bool(f.Ran)
}

func (w *writer) variable(v uop.VarArg) {
	w.text(v.Name)
	w.ints([]int{v.Lo, v.Hi, v.Value})
	w.bool(v.Bound)
}

// graph writes the nodes of a function, operands first, and gives their numbers.
func (w *writer) graph(f *Function) map[*uop.UOp]int {
	roots := make([]*uop.UOp, len(f.Targets))
	for i, t := range f.Targets {
		roots[i] = t.Value
	}
	topo := uop.Topo(roots...)
	var ops []string // that occur
	for _, u := range topo {
		if a, ok := u.Arg().(uop.ForeignArg); ok {
			w.fail("the kernel %s is given as text, and a file holds no code, so that it needs no trust; state what is the same in operations of tensors", a.Name)
			return nil
		}
		if !allowed(u.Op()) {
			w.fail("a function with the op %v cannot be saved", u.Op())
			return nil
		}
		if name := nameOf(u); !slices.Contains(ops, name) {
			ops = append(ops, name)
		}
	}
	w.int(len(ops))
	for _, name := range ops {
		w.text(name)
	}
	w.int(len(topo))
	ids := map[*uop.UOp]int{}
	for i, u := range topo {
		w.int(slices.Index(ops, nameOf(u)))
		w.int(len(u.Src()))
		for _, s := range u.Src() {
			w.int(i - ids[s]) // mostly small
		}
		w.arg(u)
		ids[u] = i
	}
	return ids
}

// arg writes what is fixed about a node, its type where operands do not tell.
func (w *writer) arg(u *uop.UOp) {
	switch a := u.Arg().(type) {
	case nil, uop.LooseArg:
		if u.Op() == uop.Cast || u.Op() == uop.Bitcast {
			w.dtype(u.DType())
		}
	case uop.ConstArg:
		w.dtype(u.DType())
		w.u64(uint64(a.Value))
	case uop.ParamArg:
		w.int(a.Slot)
	case uop.VarArg:
		w.dtype(u.DType())
		w.variable(a)
	case uop.RangeArg:
		if a.ID != -1 {
			w.fail("a function with a loop of a kernel cannot be saved")
		}
		w.int(a.N)
	case uop.Ints:
		w.ints(a.Slice())
	case uop.PadArg:
		w.ints(a.Lo.Slice())
		w.ints(a.Hi.Slice())
	case uop.SlideArg:
		w.ints([]int{a.Axis, a.By, a.Step, a.Lo, a.N})
	case uop.ReduceArg:
		w.text(a.Monoid.String())
		w.ints(a.Axes.Slice())
	case uop.ScanArg:
		w.text(a.Monoid.String())
		w.int(a.Axis)
	case uop.PartArg:
		w.int(a.I)
	case uop.AxisArg:
		w.int(a.Axis)
	case uop.ScatterArg:
		w.int(a.Axis)
		w.text(a.Monoid.String())
	default:
		w.fail("a function with a node of %T cannot be saved", a)
	}
}
