package fuzz

import (
	"slices"
)

// finish chooses the roots, how they are realized, and whether the program is captured.
func (g *generator) finish() {
	var more []int
	if g.One(2) {
		more = g.backward()
	}
	var live, mutable []int
	for v := range g.info {
		i := &g.info[v]
		if i.leaf && i.version > 0 && !i.dead {
			mutable = append(mutable, v)
		}
		if !i.dead && !i.none && !i.leaf {
			live = append(live, v)
		}
	}
	if len(live) == 0 {
		live = []int{0}
		if n := len(g.prog.Ops); g.try(Op{Name: "Neg", Args: []Arg{val(0)}}) {
			live = []int{n}
		}
	}
	roots := g.sinks(live)
	for range g.N(3) {
		if v := pick(g.Rand, live...); !slices.Contains(roots, v) {
			roots = append(roots, v)
		}
	}
	for _, v := range slices.Concat(mutable, more) {
		if !slices.Contains(roots, v) {
			roots = append(roots, v)
		}
	}
	g.prog.Parts = [][]int{roots}
	if len(roots) > 1 && len(mutable) == 0 && g.One(2) {
		g.prog.Parts = nil
		order := g.Perm(len(roots))
		for len(order) > 0 {
			n := g.In(1, len(order))
			var part []int
			for _, i := range order[:n] {
				part = append(part, roots[i])
			}
			g.prog.Parts, order = append(g.prog.Parts, part), order[n:]
		}
	}
	if g.One(5) {
		g.capture()
	}
	g.prog.prune()
}

// backward asks for the gradients of a late value for several that it depends on, all at once.
func (g *generator) backward() []int {
	for v := len(g.prog.Ops) - 1; v >= 0; v-- {
		i := &g.info[v]
		if i.dead || i.none || i.leaf || !g.kind(v).IsFloat() || g.One(4) {
			continue
		}
		o, ok := g.gradientsOf(v)
		if !ok || !g.add(o) {
			continue
		}
		var out []int
		for k := range o.Out + 1 {
			out = append(out, len(g.prog.Ops)-1-k)
		}
		return out
	}
	return nil
}

// gradientsOf adds the gradients of a value's sum for some leaves, and now and then for others that it depends on; the
// last of them it proposes.
func (g *generator) gradientsOf(y int) (Op, bool) {
	var to []int
	for _, x := range g.sources(y) {
		if g.info[x].leaf || g.One(4) {
			to = append(to, x)
		}
	}
	if len(to) == 0 {
		return none, false
	}
	if g.numel(y) != 1 {
		o, _ := on("Sum", y, list())
		if !g.add(o) {
			return none, false
		}
		y = len(g.prog.Ops) - 1
	}
	to = to[:min(len(to), 3)]
	last := len(to) - 1
	for k := range last {
		if !g.add(Op{Name: gradOp, Args: []Arg{val(y), vals(to...)}, Out: k}) {
			return none, false
		}
	}
	return Op{Name: gradOp, Args: []Arg{val(y), vals(to...)}, Out: last}, true
}

// sources are the values that a gradient of y can be asked for: y depends on them, and nothing on the way was realized.
func (g *generator) sources(y int) []int {
	i := &g.info[y]
	if len(i.cut) > 0 || i.real {
		return nil
	}
	var to []int
	for x := range g.prog.Ops {
		if i.reach[x] && x != y && g.kind(x).IsFloat() && g.info[x].version == 0 && (!g.info[x].real || g.info[x].leaf) && !g.info[x].dead {
			to = append(to, x)
		}
	}
	return to
}

// sinks are the last values that no other reads, a few.
func (g *generator) sinks(live []int) []int {
	used := map[int]bool{}
	for _, o := range g.prog.Ops {
		if o.Name != realizeOp {
			for _, v := range o.operands() {
				used[v] = true
			}
		}
	}
	roots := []int{live[len(live)-1]}
	for _, v := range slices.Backward(live[:len(live)-1]) {
		if !used[v] && len(roots) < 5 {
			roots = append(roots, v)
		}
	}
	return roots
}

// capture makes leaves inputs of a captured function. Nothing in it is realized on the way, or read, and each run would
// draw other random numbers.
func (g *generator) capture() {
	for i := range g.prog.Ops {
		if o := &g.prog.Ops[i]; o.Name == realizeOp || o.eager() || o.seeded() {
			return
		}
	}
	for v := range g.info {
		if g.info[v].leaf && g.info[v].version == 0 && !g.info[v].dead && (len(g.prog.Inputs) == 0 || g.One(2)) {
			g.prog.Inputs = append(g.prog.Inputs, v)
		}
	}
	if len(g.prog.Inputs) > 0 {
		g.prog.Runs = 3
	}
}
