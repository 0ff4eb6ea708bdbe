package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/sizes"
	"github.com/weft-ml/weft/uop"
)

// A program that computes with arrays of ever new sizes, such as a cache that grows or batches of other lengths, makes a graph with each. The first of
// them have plans of their own; later ones are computed by one plan with room for the most (package sizes). Arrays whose sizes
// vary are copied to and from such room, see Refit.

// playSized computes targets by a plan for many sizes, if there is one for them; done says so. sk, if it is not nil, is what they look like unresolved.
func (e *Engine) playSized(ctx context.Context, c *canonical, targets []target, sk *sketch) (done bool, err error) {
	if e.several != nil || len(c.vars) > 0 || len(c.inputs) == 0 || e.opts.OwnSizes || e.opts.Directives != nil || e.plans[c.key] != nil {
		return false, nil
	}
	o := c.outline()
	if e.families[string(o.w.buf)] != nil { // these sizes, with other numbers perhaps, have a plan
		return false, nil
	}
	kind := binary.AppendUvarint(slices.Clone(o.ops), uint64(len(c.inputs)))
	for _, r := range c.graph.Roots {
		kind = binary.AppendVarint(kind, int64(r.Dest))
	}
	f := e.sizes[string(kind)]
	if f == nil {
		if e.sizes == nil || len(e.sizes) >= mostKinds {
			e.sizes = map[string]*sizes.Family{}
		}
		f = &sizes.Family{Early: e.opts.EarlySizes, Compiling: e.machine.Target.Compiling}
		e.sizes[string(kind)] = f
	}
	h := fnv.New128a()
	h.Write(o.w.buf)
	of, codes := c, 0
	if columns := codesOf(targets); len(columns) > 0 { // of the codes, not of the flags that they are merged into
		var plain []target
		for _, t := range targets {
			if t.flags == nil {
				plain = append(plain, t)
			}
		}
		for _, u := range columns {
			plain = append(plain, target{value: u})
		}
		of, codes = canonicalize(plain), len(columns)
	}
	key := string(h.Sum(nil))
	x := f.Instance(key, caseOf(of, codes))
	if x == nil || !fixed(x, targets) || !refits(x, of, codes, e.machine.Target.Grid) {
		return false, nil
	}
	played, err := e.playInstance(ctx, x, of.inputs, targets, func(nodes []*uop.UOp, c *canonical, targets []target, list []back) {
		e.eager.note(e, sk, func() *knownGraph {
			return knownWide(sk, &wide{family: f, key: key, x: x, back: list}, of.inputs, nodes, c, targets)
		})
	})
	if !played && cannotBeWide(err) {
		return false, nil
	}
	return true, err
}

// cannotBeWide says that a graph that failed is to have a plan of its own: that takes less memory, and tells what is wrong otherwise.
func cannotBeWide(err error) bool { return cannot(err) || errors.Is(err, lower.ErrLoops) }

// mostKinds is how many kinds of graphs are kept, the last cases of each.
const mostKinds = 128

// mostRefit is how many bytes are copied to room for more and back rather than that a plan is made.
const mostRefit = 1 << 28

// refits says whether what a play of a plan for many sizes copies can be copied, and is not too much. After the play it would be too late to say no:
// what is assigned would be assigned once more.
func refits(x *sizes.Instance, c *canonical, codes int, grid bool) bool {
	n := 0
	fits := func(from, to, count uop.Shape, size int) bool {
		if from.Equal(to) {
			return true
		}
		n += count.Numel() * size
		_, _, ok := runsOf(from, count, to, size, grid)
		return ok && n <= mostRefit
	}
	for i, in := range c.graph.Inputs {
		if count, room := x.In(i, x.N); !fits(count, room, count, in.DType.Size()) {
			return false
		}
	}
	for i, r := range c.graph.Roots[:len(c.graph.Roots)-codes] {
		if count, room := x.Out(i, x.N); !fits(room, count, count, r.Value.DType().Size()) {
			return false
		}
	}
	return true
}

// codesOf are the codes of the checks of targets.
func codesOf(targets []target) (list []*uop.UOp) {
	for _, t := range targets {
		list = append(list, t.codes...)
	}
	return list
}

// caseOf is a canonical graph as a case.
func caseOf(c *canonical, codes int) sizes.Case {
	out := sizes.Case{Codes: codes}
	for i, in := range c.graph.Inputs {
		u := c.graph.Table.Param(i, in.N, in.DType)
		c.inputs[i].compared = true
		if s := c.inputs[i].seen; s.Numel() == in.N {
			u = u.Reshape(s...)
		}
		out.Ins = append(out.Ins, u)
	}
	for _, r := range c.graph.Roots {
		out.Roots = append(out.Roots, r.Value)
	}
	return out
}

// playInstance plays the plan for many sizes: what varies is brought to room for the most before, and back after. Unless played is set nothing has been
// computed. note is told of the arrays, the graph over them and its targets.
func (e *Engine) playInstance(ctx context.Context, x *sizes.Instance, inputs []*storage, targets []target,
	note func(nodes []*uop.UOp, c *canonical, targets []target, list []back)) (played bool, err error) {
	nodes, short, err := e.widened(ctx, x, inputs)
	defer func() { e.forgetAll(short) }()
	if err != nil {
		return false, err
	}
	values := map[int]*uop.UOp{}
	for i, u := range nodes {
		values[x.Ins[i].Slot()] = u
	}
	res := resolver{engine: e}
	var roots []*uop.UOp
	for _, u := range uop.Fill(values, x.Roots...) {
		v, err := res.resolve(u)
		if err != nil {
			return false, err
		}
		roots = append(roots, v)
	}
	targets, list := wideTargets(x, roots, targets)
	c := canonicalize(targets)
	note(nodes, c, targets, list)
	return e.playWide(ctx, x, c, targets, list)
}

// widened gives the arrays of a play of the plan for many sizes: the inputs in room for the most, then the numbers of the graph. short are those that are
// needed no longer than this play.
func (e *Engine) widened(ctx context.Context, x *sizes.Instance, inputs []*storage) (nodes, short []*uop.UOp, err error) {
	var fits []Fit
	var at []int
	for i, s := range inputs {
		count, room := x.In(i, x.N)
		b := e.nodeOf(s, count.Numel(), x.Ins[i].DType())
		if s.current() > 0 {
			b = nextVersion(b, s)
		}
		b = b.Reshape(count...)
		if nodes = append(nodes, b); !count.Equal(room) {
			fits, at = append(fits, Fit{b, count, room}), append(at, i)
		}
	}
	room, err := e.refit(ctx, fits, nil)
	if err != nil {
		return nil, nil, err
	}
	for i, u := range room {
		nodes[at[i]], short = u, append(short, u)
	}
	for i, d := range x.Types() {
		u, s, err := e.newBuffer(d, []int{len(x.Numbers[i])})
		if err != nil {
			return nil, short, err
		}
		nodes, short = append(nodes, u), append(short, u)
		if err := e.write(s, encode(d, x.Numbers[i])); err != nil {
			return nil, short, fmt.Errorf("write the numbers of a graph: %w", err)
		}
	}
	return nodes, short, nil
}

// forgetAll gives up arrays that nothing refers to.
func (e *Engine) forgetAll(nodes []*uop.UOp) {
	for _, u := range nodes {
		_, s := buffer(u)
		e.memory.forget(s.cell)
	}
}

// playWide plays the plan of a graph with room for the most. Unless played is set nothing has been computed.
func (e *Engine) playWide(ctx context.Context, x *sizes.Instance, c *canonical, targets []target, list []back) (played bool, err error) {
	ready := make([]made, len(list)) // before anything is assigned: there may be no memory for them
	for i, b := range list {
		count, _ := x.Out(b.root, x.N)
		if ready[i].node, ready[i].store, err = e.newBuffer(b.node.DType(), count); err != nil {
			return false, err
		}
	}
	fresh, err := e.playExact(ctx, c, targets, x.Bound(x.N))
	if err != nil {
		return false, err
	}
	e.stats.Shared++
	var fits []Fit
	var short []*uop.UOp
	for _, b := range list {
		count, _ := x.Out(b.root, x.N)
		fits, short = append(fits, Fit{fresh[b.target], count, count}), append(short, fresh[b.target])
	}
	defer func() { e.forgetAll(short) }()
	exact, err := e.refit(ctx, fits, ready)
	for i, u := range exact {
		list[i].node.SetRealized(u.Reshape(list[i].node.Shape()...))
	}
	return true, err
}

// back is a target whose array has room for more than the node that it is for.
type back struct {
	target, root int
	node         *uop.UOp
}

// wideTargets are the targets of the plan for many sizes: roots are what is computed, first the values, then the codes of checks.
func wideTargets(x *sizes.Instance, roots []*uop.UOp, targets []target) (out []target, list []back) {
	values, codes := 0, len(roots)-len(codesOf(targets))
	columns := map[int]column{}
	for i, t := range targets {
		if t.flags != nil {
			t.codes = nil
			for k, n := range t.flags {
				columns[n] = column{roots[codes], t.checks[k]}
				codes++
			}
			t.value = flagRows(columns, t.flags)
		} else {
			shape := t.value.Shape()
			t.value = roots[values]
			if count, room := x.Out(values, x.N); !count.Equal(room) {
				list, t.node = append(list, back{i, values, t.node}), nil
			} else {
				t.value = t.value.Reshape(shape...)
			}
			values++
		}
		out = append(out, t)
	}
	return out, list
}

// fixed says that what is assigned, and what is seen in several shapes, has sizes that do not vary.
func fixed(x *sizes.Instance, targets []target) bool {
	i := 0
	for _, t := range targets {
		if t.flags != nil {
			continue
		}
		if count, room := x.Out(i, x.N); (t.dest != nil || len(t.views) > 0) && !count.Equal(room) {
			return false
		}
		i++
	}
	return true
}
