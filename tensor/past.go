package tensor

import (
	"slices"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/grad"
	"github.com/weft-ml/weft/uop"
)

// A tensor that is realized has no history any more, so a gradient through it cannot be told from one that is 0. What is
// kept of its graph is a list of numbers: which nodes and buffers it was computed from. When a gradient asks for a tensor
// that it does not reach, but that a realized one was computed from, that is an error. States, which are assigned, are
// where differentiation begins anew, and have no past once they are realized; assignments that are carried out without having been
// asked for (late.go) have one, for tensors that are no states.

// maxPast is how many numbers are kept of nodes that are no buffers, and of buffers that were realized ones' past.
const maxPast = 256

// key is the same for all nodes that a buffer has had, and for equal nodes.
func key(u *uop.UOp) int {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	if a, ok := u.Arg().(uop.BufferArg); ok && u.Op() == uop.Buffer {
		return int(a.ID)
	}
	return int(u.Hash() | 1<<63) // buffers count from 1
}

// remember notes what r, the buffer that u has become, was computed from.
func remember(u, r *uop.UOp) {
	if u == r || !u.DType().IsFloat() || base(u).Op() == uop.Buffer {
		return
	}
	p := pastOf(maxPast, u)
	p.Self = key(u)
	engine.SetPast(r, p)
}

// pastOf lists what nodes are computed from: all buffers, and up to limit other nodes.
func pastOf(limit int, nodes ...*uop.UOp) *engine.Past {
	p := &engine.Past{}
	var room [maxPast]int
	keys, earlier := room[:0], [][]int{}
	order := grad.Dependent(nodes...)
	for _, n := range order {
		switch {
		case n.Op() == uop.Buffer:
		case limit > 0:
			keys = append(keys, key(n))
			limit--
		default:
			p.Cut = true
		}
	}
	for _, b := range order {
		if b.Op() != uop.Buffer {
			continue
		}
		keys = append(keys, key(b))
		if past := engine.PastOf(b); past != nil && limit > 0 { // as older
			more := past.More[:min(len(past.More), limit-1)]
			keys = append(append(keys, past.Self), more...)
			limit -= 1 + len(more)
			sorted := past.Keys[:min(len(past.Keys), limit)]
			earlier, limit = append(earlier, sorted), limit-len(sorted)
		}
	}
	slices.Sort(keys)
	p.Keys = sortedOnce(keys, nil)
	for _, e := range earlier {
		p.Keys = sortedOnce(p.Keys, e)
	}
	return p
}

// sortedOnce are the numbers of two sorted lists, sorted, each once.
func sortedOnce(a, b []int) []int {
	out := make([]int, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		n := 0
		if len(b) == 0 || len(a) > 0 && a[0] <= b[0] {
			n, a = a[0], a[1:]
		} else {
			n, b = b[0], b[1:]
		}
		if len(out) == 0 || out[len(out)-1] != n {
			out = append(out, n)
		}
	}
	return out
}

// older is what is known of a buffer's past, the nearest first, and no more than limit numbers of it.
func older(b *uop.UOp, limit int) []int {
	p := engine.PastOf(b)
	if p == nil || limit <= 0 {
		return nil
	}
	all := append([]int{p.Self}, p.More[:min(len(p.More), limit-1)]...)
	return append(all, p.Keys[:min(len(p.Keys), limit-len(all))]...)
}

// checkReached fails where a gradient is 0 only because history was dropped. Of states that were assigned it is asked only where the program named the
// tensors: among all that want a gradient are those of other models.
func (t *Tensor) checkReached(op string, ws []*Tensor, reached []bool, named bool) {
	var here map[int]bool    // what is in the graph
	var pasts []*engine.Past // of its buffers
	for i, w := range ws {
		state := wasAssigned(w.node())
		if reached[i] && state {
			continue
		}
		if here == nil {
			here = map[int]bool{}
			for _, n := range grad.Dependent(t.node()) {
				here[key(n)] = true
				if p := engine.PastOf(n); n.Op() == uop.Buffer && p != nil {
					pasts = append(pasts, p)
				}
			}
		}
		names := []int{key(w.node())}
		if p := engine.PastOf(w.node()); p != nil {
			names = append(names, p.Self)
		}
		for _, p := range pasts {
			if p.Late && named && !state && slices.ContainsFunc(names, p.Has) {
				failArg(op, "tensor %d is reached in part, or not at all: a state that was computed from it has been assigned %d times or more, which were carried out since; capture the function that assigns and takes the gradient, or make new tensors instead of assigning", i, lateRead)
			}
		}
		if reached[i] || slices.ContainsFunc(names, func(k int) bool { return here[k] }) {
			continue
		}
		if b := pendingIn(w.node()); named && b != nil && readsBeside(t.node(), b) {
			failArg(op, "tensor %d has been assigned since the tensor was built, which depends on what it was before; ask for gradients before assigning", i)
		}
		for _, p := range pasts {
			if !p.Late && (slices.ContainsFunc(names, p.Has) || p.Cut && allIn(w.node(), p)) {
				failArg(op, "tensor %d is not reached: what was computed from it has been realized since, which drops history; ask for the gradient before Realize, or realize both together, or use Detach where none is meant", i)
			}
		}
	}
}

// readsBeside says that u is computed from what an array was, on a way that leads through no assignment to others.
func readsBeside(u, array *uop.UOp) bool {
	var seen uop.Map[bool]
	for stack := []*uop.UOp{u}; len(stack) > 0; {
		u, stack = stack[len(stack)-1], stack[:len(stack)-1]
		if u == array || u.Op() == uop.After && bufferOf(u) == array {
			return true
		}
		if done, _ := seen.Get(u); !done && u.Op() != uop.After && (u.Op() != uop.Detach || len(u.Src()) > 1) { // the others state derivatives
			seen.Set(u, true)
			stack = append(stack, u.Src()...)
		}
	}
	return false
}

// pendingIn is the array for which u is an assignment that has not been carried out, or nil.
func pendingIn(u *uop.UOp) *uop.UOp {
	if u = assignment(u); u.Op() == uop.After && u.Realized() == nil {
		return bufferOf(u)
	}
	return nil
}

// wasAssigned says that u is what some assignment made of an array.
func wasAssigned(u *uop.UOp) bool {
	u = assignment(u)
	a, ok := u.Arg().(uop.BufferArg)
	return u.Op() == uop.After || ok && a.Version > 0
}

// assignment is u, or what it is a reshape of.
func assignment(u *uop.UOp) *uop.UOp {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	return u
}

// allIn says of a node that is not known whether all buffers that it is made of are in a past.
func allIn(u *uop.UOp, p *engine.Past) bool {
	found := false
	for _, n := range grad.Dependent(u) {
		if n.Op() == uop.Buffer {
			if n == base(u) || !p.Has(key(n)) {
				return false
			}
			found = true
		}
	}
	return found
}

// outcome is what is known beforehand of the past of a captured function's result.
type outcome struct {
	past   *engine.Past
	inputs []int // which it was computed from
	alike  int   // the first result that was computed from the same
}

// outcomes are those of results, of which no is no result with memory of its own.
func outcomes(outs []*uop.UOp, inputs []*uop.UOp) []outcome {
	list := make([]outcome, len(outs))
	for i, o := range outs {
		if !o.DType().IsFloat() || base(o).Op() == uop.Buffer {
			continue
		}
		p := pastOf(0, o)
		p.Self = key(o)
		list[i].past = p
		for k, in := range inputs {
			if p.Has(key(in)) {
				list[i].inputs = append(list[i].inputs, k)
			}
		}
		list[i].alike = slices.IndexFunc(list[:i+1], func(o outcome) bool { return o.past != nil && slices.Equal(o.inputs, list[i].inputs) })
	}
	return list
}

// maxMore is how many numbers of a captured function's inputs and of their past are kept for each run.
const maxMore = 64

// origins are what the results of a run are computed from: functions as a step of an optimizer have hundreds of inputs and of results, so that they
// are looked at once for all results, and once for those that were computed from the same ones.
type origins struct {
	inputs []*uop.UOp // those that were computed from nothing, and nobody can ask for any more, may be nil
	more   [][]int    // by result
}

func sources(inputs []*Tensor) *origins {
	return &origins{inputs: nodes(inputs)}
}

// remember notes what a result r of a run was computed from.
func (o outcome) remember(r *uop.UOp, from *origins) {
	if o.past == nil {
		return
	}
	for len(from.more) <= o.alike {
		from.more = append(from.more, nil)
	}
	more := &from.more[o.alike]
	if *more == nil {
		*more = o.more(from.inputs)
	}
	engine.SetPast(r, &engine.Past{Self: key(r), Keys: o.past.Keys, More: *more})
}

// more lists the inputs that a result was computed from, and as many as fit of what these were.
func (o outcome) more(inputs []*uop.UOp) []int {
	more := make([]int, 0, max(len(o.inputs), min(4*len(o.inputs), maxMore)))
	for _, i := range o.inputs {
		if inputs[i] != nil {
			more = append(more, key(inputs[i]))
		}
	}
	for _, i := range o.inputs {
		b := inputs[i]
		if b == nil {
			continue
		}
		for b.Op() == uop.Reshape {
			b = b.At(0)
		}
		more = append(more, older(b, maxMore-len(more))...)
	}
	return more
}
