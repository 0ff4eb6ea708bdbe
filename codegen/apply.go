package codegen

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// apply carries out directives on the kernel's expressions and axes: splits, fusions, laws, kinds, orders. Stages and
// carries are checked and kept for the tree.
func (k *kernel) apply(directives []Directive) error {
	for _, m := range directives {
		if err := k.applyOne(m); err != nil {
			return fmt.Errorf("codegen: directive %q: %w", m, err)
		}
	}
	for _, m := range slices.Concat(k.stages, k.carry) {
		if err := k.remains(m); err != nil {
			return fmt.Errorf("codegen: directive %q: %w", m, err)
		}
	}
	return k.check()
}

// remains says whether what a stage or a carry speaks of is still there after all directives.
func (k *kernel) remains(m Directive) error {
	if m.Shared && !k.target.Grid {
		return fmt.Errorf("%s has no workgroups", k.target.Name)
	}
	if m.Verb == Stage && m.At != Root && k.axes[m.At] == nil {
		return k.noAxis(m.At)
	}
	for _, x := range m.Axes {
		if k.axes[x] == nil {
			return k.noAxis(x)
		}
	}
	return nil
}

func (k *kernel) applyOne(m Directive) error {
	switch m.Verb {
	case Split:
		return k.split(m)
	case Fuse:
		return k.fuse(m)
	case Nest:
		return k.nest(m)
	case Dot:
		return k.dot(m)
	case Matrix:
		if k.target.Matrix == nil {
			return fmt.Errorf("%s has no instruction that multiplies matrices", k.target.Name)
		}
		return k.target.Matrix.apply(k, m)
	case Order:
		return k.order(m)
	case Threads, Grids, Lanes, Tiles, Vectors:
		a := k.axes[m.Name]
		if a == nil {
			return k.noAxis(m.Name)
		}
		a.kind = map[Verb]Kind{Threads: Thread, Grids: Grid, Lanes: Lane, Tiles: Tile, Vectors: Vector}[m.Verb]
		if a.kind == Vector {
			k.padLanes(a)
		}
		return nil
	case Stage:
		if k.values[m.Name] == nil {
			return fmt.Errorf("there is no value %s", m.Name)
		}
		if k.scans(k.values[m.Name]) {
			return fmt.Errorf("%s is taken up by a scan, once, or depends on one", m.Name)
		}
		if m.At != Root && k.axes[m.At] == nil {
			return k.noAxis(m.At)
		}
		for _, x := range m.Axes {
			if k.axes[x] == nil {
				return k.noAxis(x)
			}
		}
		if err := k.sharedReduction(m); err != nil {
			return err
		}
		k.stages = append(k.stages, m)
		return nil
	case Carry:
		if v := k.values[m.Name]; v == nil || v.Op() != uop.Reduce {
			return fmt.Errorf("there is no reduction %s", m.Name)
		}
		for _, x := range m.Axes {
			if k.axes[x] == nil {
				return k.noAxis(x)
			}
		}
		k.carry = append(k.carry, m)
		return nil
	}
	return k.assumeFinite(m)
}

// sharedReduction says why a stage cannot leave a reduction in workgroup memory, or nil: that holds one value for each element,
// and copies of copies are not made.
func (k *kernel) sharedReduction(m Directive) error {
	u := k.values[m.Name]
	if u.Op() != uop.Reduce {
		return nil
	}
	if u.Arg().(uop.ReduceArg).Parts > 1 && m.Shared {
		return fmt.Errorf("%s has several parts, and workgroup memory holds one", m.Name)
	}
	for _, other := range k.stages {
		if other.Name == m.Name && (m.Shared || other.Shared) {
			return fmt.Errorf("%s is staged twice, once in workgroup memory", m.Name)
		}
	}
	return nil
}

func (k *kernel) noAxis(name string) error {
	var have []string
	for _, g := range k.groups {
		for _, a := range g.axes {
			have = append(have, a.name)
		}
	}
	for _, name := range k.reds {
		if u := k.values[name]; u.Op() == uop.Reduce {
			_, ranges := reduceParts(u)
			for _, r := range ranges {
				have = append(have, k.byR[r].name)
			}
		}
	}
	return fmt.Errorf("there is no axis %s (there are %v)", name, have)
}

func (k *kernel) split(m Directive) error {
	a := k.axes[m.Name]
	if a == nil {
		return k.noAxis(m.Name)
	}
	if k.peeled(a) {
		return fmt.Errorf("axis %s is part of a peeled split", a.name)
	}
	if k.runs(a.r) {
		return fmt.Errorf("a scan goes along axis %s", a.name)
	}
	n, f := extent(a.r), m.N
	if f < 1 || f > n && !(m.Tail == Guard && a.owner != "") {
		return fmt.Errorf("axis %s has %d iterations", m.Name, n)
	}
	tail := m.Tail
	if n%f == 0 {
		tail = Exact
	} else if tail == Exact {
		return fmt.Errorf("%d does not divide the %d iterations of %s", f, n, m.Name)
	}
	if tail == Peel && k.guarded(a) {
		return fmt.Errorf("a guard speaks of axis %s, and the rest would lose it", a.name)
	}
	if tail == Peel && a.owner != "" {
		return k.peelReduce(a, n, f)
	}
	outer, inner := k.newRange((n+f-1)/f, a.name+".0"), k.newRange(f, a.name+".1")
	base := outer.Mul(k.t.Index(f))
	if tail == Shift {
		if a.owner != "" {
			return fmt.Errorf("a reduction would count elements twice")
		}
		base = minIndex(base, k.t.Index(n-f))
	}
	at := k.facts.affine(base.Add(inner)).node(k.t)
	ao, ai := k.replaceAxis(a, []*uop.UOp{outer, inner}, at)
	ao.shift, ai.shift = a.shift || tail == Shift, a.shift
	switch tail {
	case Guard:
		if a.owner == "" && !k.target.Grid {
			return fmt.Errorf("guard is for reductions; outputs have shift and peel")
		}
		g := at.Less(k.t.Index(n))
		if ai.guard != nil { // that of the axis itself
			g = ai.guard.And(g)
		}
		ai.guard = g
	case Peel:
		ao.full, ao.inner = n/f, inner
		ao.rest = k.newRange(n%f, a.name+".t")
		k.byR[ao.rest] = &axis{name: a.name + ".t", r: ao.rest, full: -1}
	}
	return nil
}

// guarded says whether the guard of some axis depends on a.
func (k *kernel) guarded(a *axis) bool {
	id := k.facts.rangeID(a.r)
	for _, x := range k.axes {
		if x.guard != nil && (x == a || k.facts.freeRanges(x.guard).has(id)) {
			return true
		}
	}
	return false
}

// peeled says whether an axis is the outer or inner part of a peeled split.
func (k *kernel) peeled(a *axis) bool {
	if a.full >= 0 {
		return true
	}
	for _, x := range k.axes {
		if x.inner == a.r {
			return true
		}
	}
	return false
}

// minIndex is the smaller of two indices; index arithmetic never comes near the least integer.
func minIndex(a, b *uop.UOp) *uop.UOp { return a.Neg().Max(b.Neg()).Neg() }

// replaceAxis puts two ranges in the place of axis a, whose value is now given by at.
func (k *kernel) replaceAxis(a *axis, ranges []*uop.UOp, at *uop.UOp) (outer, inner *axis) {
	owner := a.owner
	delete(k.axes, a.name)
	outer = k.addAxis(a.name+".0", ranges[0], owner)
	inner = k.addAxis(a.name+".1", ranges[1], owner)
	if a.guard != nil {
		inner.guard = a.guard
	}
	k.substituteRanges(map[*uop.UOp]*uop.UOp{a.r: at}, map[*uop.UOp][]*uop.UOp{a.r: ranges})
	for _, g := range k.groups {
		g.axes = replaceIn(g.axes, a, outer, inner)
		g.order = replaceIn(g.order, a, outer, inner)
	}
	return outer, inner
}

func replaceIn(list []*axis, a *axis, by ...*axis) []*axis {
	if i := slices.Index(list, a); i >= 0 {
		return slices.Replace(slices.Clone(list), i, i+1, by...)
	}
	return list
}

// substituteRanges replaces ranges by expressions, in reductions' and outputs' own lists by lists of ranges.
func (k *kernel) substituteRanges(at map[*uop.UOp]*uop.UOp, lists map[*uop.UOp][]*uop.UOp) {
	expand := func(ranges []*uop.UOp) (out []*uop.UOp) {
		for _, r := range ranges {
			if l, ok := lists[r]; ok {
				for _, x := range l {
					if !slices.Contains(out, x) {
						out = append(out, x)
					}
				}
			} else {
				out = append(out, r)
			}
		}
		return out
	}
	k.rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if e, ok := at[u]; ok {
			return e
		}
		if parts, ranges := reduceParts(u); ranges != nil {
			return k.t.Make(uop.Reduce, u.DType(), u.Arg(), append(slices.Clone(src[:len(parts)]), expand(ranges)...)...)
		}
		return k.fold(remake(k.t, u, src))
	})
	for i := range k.outs {
		k.outs[i].Axes = expand(k.outs[i].Axes)
	}
	for i := range k.sharedSubexprs {
		t := &k.sharedSubexprs[i]
		t.r, t.a = k.substitute(at, t.r), k.substitute(at, t.a)
	}
	for _, a := range k.axes {
		if a.guard != nil {
			a.guard = k.substitute(at, a.guard)
		}
	}
}

// substitute replaces nodes in one expression and folds.
func (k *kernel) substitute(with map[*uop.UOp]*uop.UOp, u *uop.UOp) *uop.UOp {
	w := &rewriter{t: k.t, fold: k.fold}
	for from, to := range with {
		w.done.Set(from, to)
	}
	return w.do(u)
}

// fuse makes one axis of two, the first being the outer one.
func (k *kernel) fuse(m Directive) error {
	if len(m.Axes) != 2 || k.axes[m.Axes[0]] == nil || k.axes[m.Axes[1]] == nil {
		return fmt.Errorf("needs two axes")
	}
	a, b := k.axes[m.Axes[0]], k.axes[m.Axes[1]]
	if k.runs(a.r) || k.runs(b.r) {
		return fmt.Errorf("a scan goes along one of axes %s and %s", a.name, b.name)
	}
	if a == b || a.owner != b.owner || k.peeled(a) || k.peeled(b) || a.guard != nil || b.guard != nil {
		return fmt.Errorf("axes %s and %s cannot become one", a.name, b.name)
	}
	for _, g := range k.groups {
		if slices.Contains(g.axes, a) != slices.Contains(g.axes, b) {
			return fmt.Errorf("axes %s and %s belong to different nests", a.name, b.name)
		}
	}
	n := extent(b.r)
	f := k.newRange(extent(a.r)*n, a.name+"+"+b.name)
	c := k.t.Index(n)
	delete(k.axes, a.name)
	delete(k.axes, b.name)
	joined := k.addAxis(a.name+"+"+b.name, f, a.owner)
	joined.shift = a.shift || b.shift
	one := []*uop.UOp{f}
	k.substituteRanges(map[*uop.UOp]*uop.UOp{a.r: f.IDiv(c), b.r: f.Mod(c)}, map[*uop.UOp][]*uop.UOp{a.r: one, b.r: one})
	for _, g := range k.groups {
		g.axes = replaceIn(replaceIn(g.axes, a, joined), b)
		g.order = replaceIn(replaceIn(g.order, a, joined), b)
	}
	return nil
}

// inAll says that all nests have an axis.
func (k *kernel) inAll(a *axis) bool {
	return !slices.ContainsFunc(k.groups, func(g *group) bool { return !slices.Contains(g.axes, a) })
}

// order sets the order of the loops of a nest, or of a reduction.
func (k *kernel) order(m Directive) error {
	var list []*axis
	for i, name := range m.Axes {
		a := k.axes[name]
		if a == nil {
			return k.noAxis(name)
		}
		if slices.Contains(list, a) {
			return fmt.Errorf("axis %s is named twice", name)
		}
		list = append(list, a)
		k.place[a.r] = i
	}
	for _, g := range k.groups {
		n, own := 0, 0 // axes of the nest, and of no other
		for _, a := range g.axes {
			if slices.Contains(list, a) {
				if n++; !k.inAll(a) {
					own++
				}
			}
		}
		switch {
		case n == 0, own == 0 && len(k.groups) > 1: // it is of another nest, which goes through the same rows
			continue
		case n == len(g.axes):
			g.order = slices.Clone(list)
			for g.order[len(g.order)-1].owner != "" { // inside all outputs' axes: the reduction's own loops
				g.order = g.order[:len(g.order)-1]
			}
		default:
			return fmt.Errorf("it must name all axes of its nest")
		}
	}
	return nil
}
