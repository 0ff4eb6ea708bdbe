package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// canonical is a set of targets in the form that plans are kept by: one arena, buffers numbered in order of
// first use, and a key that equal graphs share.
type canonical struct {
	graph  *schedule.Graph
	inputs []*storage
	key    string
	vars   []uop.VarArg // as the program named them, in the order of the plan's

	numbered *family    // set where the last inputs are numbers of the graph, see generalise
	numbers  []*storage // these inputs
	outlined *outliner  // see outline
	ran      any        // of several devices: the *program of the last run; of no type, so that it is linked only where there are such
}

// canonicalize copies targets into an arena of their own.
func canonicalize(targets []target) *canonical {
	t := uop.NewArena()
	c := &canonical{graph: &schedule.Graph{Table: t}}
	slot := map[*storage]int{}
	input := func(b *uop.UOp) int {
		s := b.Storage().(*storage)
		i, ok := slot[s]
		if !ok {
			i = len(c.inputs)
			slot[s] = i
			c.inputs = append(c.inputs, s)
			c.graph.Inputs = append(c.graph.Inputs, schedule.Input{DType: b.DType(), N: b.Shape().Numel(), Walked: s.walked})
		}
		return i
	}
	roots := make([]*uop.UOp, len(targets))
	for i, x := range targets {
		roots[i] = x.value
	}
	var w keyWriter
	var done uop.Map[*uop.UOp]
	of := func(u *uop.UOp) *uop.UOp {
		v, _ := done.Get(u)
		return v
	}
	for _, u := range uop.Topo(roots...) {
		var v *uop.UOp
		switch u.Op() {
		case uop.Buffer:
			v = t.Param(input(u), u.Shape().Numel(), u.DType())
		case uop.Var:
			v = c.variable(u)
		case uop.Const:
			a := u.Arg().(uop.ConstArg)
			if a.ID < tag {
				a.ID = 0
			}
			v = t.Make(uop.Const, u.DType(), a)
		default:
			v = u.WithSrc(t, of)
		}
		done.Set(u, v)
		w.node(v)
	}
	for i, x := range targets {
		r := schedule.Root{Value: of(roots[i]), Dest: -1}
		if x.dest != nil {
			r.Dest = input(x.dest)
		}
		w.int(r.Dest)
		w.int(w.id(r.Value))
		c.graph.Roots = append(c.graph.Roots, r)
	}
	w.inputs(c.graph)
	c.key = string(w.buf)
	return c
}

// keyWriter writes nodes as bytes, operands by number.
type keyWriter struct {
	buf []byte
	ids uop.Map[int]
	n   int // nodes that were written

	bodies []*uop.LoopBody // those that were written
}

// number gives a node the next number.
func (w *keyWriter) number(u *uop.UOp) {
	w.ids.Set(u, w.n)
	w.n++
}

func (w *keyWriter) id(u *uop.UOp) int {
	i, _ := w.ids.Get(u)
	return i
}

func (w *keyWriter) int(n int) { w.buf = binary.AppendVarint(w.buf, int64(n)) }

func (w *keyWriter) inputs(g *schedule.Graph) {
	for _, in := range g.Inputs {
		w.int(in.N)
		w.int(int(in.DType))
		if in.Walked {
			w.int(-1)
		}
	}
}

func (w *keyWriter) text(s string) {
	w.int(len(s))
	w.buf = append(w.buf, s...)
}

func (w *keyWriter) node(u *uop.UOp) {
	if _, ok := w.ids.Get(u); ok {
		return
	}
	w.number(u)
	w.buf = append(w.buf, byte(u.Op()), byte(u.DType()), byte(len(u.Src())))
	if len(u.Src()) > 255 {
		w.int(len(u.Src()))
	}
	for _, s := range u.Src() {
		w.int(w.id(s))
	}
	w.arg(u.Arg())
}

func (w *keyWriter) arg(a uop.Arg) {
	switch a := a.(type) {
	case nil:
	case uop.Ints:
		w.text(string(a))
	case uop.PadArg:
		w.text(string(a.Lo))
		w.text(string(a.Hi))
	case uop.ConstArg:
		w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(a.Value))
	case uop.RangeArg:
		w.int(a.ID)
		w.int(a.N)
		w.text(a.Name)
	case uop.ReduceArg:
		w.int(int(a.Monoid))
		w.int(a.Parts)
		w.text(string(a.Axes))
	case uop.ScanArg:
		w.int(int(a.Monoid))
		w.int(a.Parts)
		w.int(a.Axis)
		if a.Keys > 0 {
			w.text("keys")
			w.int(a.Keys)
		}
		if a.Step != nil {
			w.step(a.Step)
		}
	case uop.ParamArg:
		w.int(a.Slot)
		w.int(a.N)
	case uop.VarArg:
		w.text(a.Name)
		w.int(a.Lo)
		w.int(a.Hi)
	case uop.ExtentArg: // without values
		w.int(a.Axis)
		w.int(a.Size.C)
		for _, t := range a.Size.Terms {
			w.int(t.K)
			w.arg(t.Var)
		}
	case uop.CheckArg:
		w.text(a.Op)
		w.text(a.Reason)
		w.text(a.At)
		w.int(a.Lo)
		w.int(a.N)
	case uop.CallArg:
		w.int(keptOf(a.Body).number)
		w.int(a.Out)
	case uop.LoopArg:
		w.loop(a)
	case uop.ForeignArg:
		w.text(fmt.Sprintf("%#v", a)) // quoted: texts may hold anything
	default:
		w.text(fmt.Sprintf("%T%v", a, a))
	}
}
