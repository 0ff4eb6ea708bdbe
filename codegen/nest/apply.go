package nest

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// Apply carries out directives on the kernel's expressions and axes: splits, fusions, laws, kinds, orders. Stages and
// carries are checked and kept for the tree.
func (k *Kernel) Apply(directives []codegen.Directive) error { return (&applier{k}).apply(directives) }

// applier carries directives out, one after the other.
type applier struct{ *Kernel }

func (k *applier) apply(directives []codegen.Directive) error {
	for _, m := range directives {
		if err := k.applyOne(m); err != nil {
			return fmt.Errorf("codegen: directive %q: %w", m, err)
		}
	}
	for _, m := range slices.Concat(k.Stages, k.Carry) {
		if err := k.remains(m); err != nil {
			return fmt.Errorf("codegen: directive %q: %w", m, err)
		}
	}
	k.absentSteps()
	return k.check()
}

// remains says whether what a stage or a carry speaks of is still there after all directives.
func (k *applier) remains(m codegen.Directive) error {
	if m.Shared && !k.Target.Grid {
		return fmt.Errorf("%s has no workgroups", k.Target.Name)
	}
	if m.Verb == codegen.Stage && m.At != codegen.Root && k.Axes[m.At] == nil {
		return k.noAxis(m.At)
	}
	for _, x := range m.Axes {
		if k.Axes[x] == nil {
			return k.noAxis(x)
		}
	}
	return nil
}

func (k *applier) applyOne(m codegen.Directive) error {
	switch m.Verb {
	case codegen.Split:
		return k.split(m)
	case codegen.Fuse:
		return k.fuse(m)
	case codegen.Nest:
		return k.nest(m)
	case codegen.Dot:
		return k.dot(m)
	case codegen.Matrix:
		if k.Target.Matrix == nil {
			return fmt.Errorf("%s has no instruction that multiplies matrices", k.Target.Name)
		}
		return k.matrix(m)
	case codegen.Order:
		return k.order(m)
	case codegen.Threads, codegen.Grids, codegen.Lanes, codegen.Tiles, codegen.Vectors:
		a := k.Axes[m.Name]
		if a == nil {
			return k.noAxis(m.Name)
		}
		a.Kind = map[codegen.Verb]codegen.Kind{codegen.Threads: codegen.Thread, codegen.Grids: codegen.Grid, codegen.Lanes: codegen.Lane, codegen.Tiles: codegen.Tile, codegen.Vectors: codegen.Vector}[m.Verb]
		if a.Kind == codegen.Vector {
			k.padLanes(a)
		}
		return nil
	case codegen.Stage:
		if k.Values[m.Name] == nil {
			return fmt.Errorf("there is no value %s", m.Name)
		}
		if k.scans(k.Values[m.Name]) {
			return fmt.Errorf("%s is taken up by a scan, once, or depends on one", m.Name)
		}
		if m.At != codegen.Root && k.Axes[m.At] == nil {
			return k.noAxis(m.At)
		}
		for _, x := range m.Axes {
			if k.Axes[x] == nil {
				return k.noAxis(x)
			}
		}
		if err := k.sharedReduction(m); err != nil {
			return err
		}
		k.Stages = append(k.Stages, m)
		return nil
	case codegen.Carry:
		if v := k.Values[m.Name]; v == nil || v.Op() != uop.Reduce {
			return fmt.Errorf("there is no reduction %s", m.Name)
		}
		for _, x := range m.Axes {
			if k.Axes[x] == nil {
				return k.noAxis(x)
			}
		}
		k.Carry = append(k.Carry, m)
		return nil
	}
	return k.assumeFinite(m)
}

// sharedReduction says why a stage cannot leave a reduction in workgroup memory, or nil: that holds one value for each element,
// and copies of copies are not made.
func (k *applier) sharedReduction(m codegen.Directive) error {
	u := k.Values[m.Name]
	if u.Op() != uop.Reduce {
		return nil
	}
	if u.Arg().(uop.ReduceArg).Parts > 1 && m.Shared {
		return fmt.Errorf("%s has several parts, and workgroup memory holds one", m.Name)
	}
	for _, other := range k.Stages {
		if other.Name == m.Name && (m.Shared || other.Shared) {
			return fmt.Errorf("%s is staged twice, once in workgroup memory", m.Name)
		}
	}
	return nil
}

func (k *applier) noAxis(name string) error {
	var have []string
	for _, g := range k.Groups {
		for _, a := range g.Axes {
			have = append(have, a.Name)
		}
	}
	for _, name := range k.reds {
		if u := k.Values[name]; u.Op() == uop.Reduce {
			_, ranges := codegen.ReduceParts(u)
			for _, r := range ranges {
				have = append(have, k.ByRange[r].Name)
			}
		}
	}
	return fmt.Errorf("there is no axis %s (there are %v)", name, have)
}

func (k *applier) split(m codegen.Directive) error {
	a := k.Axes[m.Name]
	if a == nil {
		return k.noAxis(m.Name)
	}
	if k.peeled(a) {
		return fmt.Errorf("axis %s is part of a peeled split", a.Name)
	}
	if k.Runs(a.Range) {
		return fmt.Errorf("a scan goes along axis %s", a.Name)
	}
	n, f := codegen.Extent(a.Range), m.N
	if f < 1 || f > n && !(m.Tail == codegen.Guard && a.Owner != "") {
		return fmt.Errorf("axis %s has %d iterations", m.Name, n)
	}
	tail := m.Tail
	if n%f == 0 {
		tail = codegen.Exact
	} else if tail == codegen.Exact {
		return fmt.Errorf("%d does not divide the %d iterations of %s", f, n, m.Name)
	}
	if tail == codegen.Peel && k.guarded(a) {
		return fmt.Errorf("a guard speaks of axis %s, and the rest would lose it", a.Name)
	}
	if tail == codegen.Peel && a.Owner != "" {
		return k.peelReduce(a, n, f)
	}
	outer, inner := k.NewRange((n+f-1)/f, a.Name+".0"), k.NewRange(f, a.Name+".1")
	base := outer.Mul(k.Table.Index(f))
	if tail == codegen.Shift {
		if a.Owner != "" {
			return fmt.Errorf("a reduction would count elements twice")
		}
		base = MinIndex(base, k.Table.Index(n-f))
	}
	at := k.Facts.Form(base.Add(inner)).Node(k.Table)
	ao, ai := k.replaceAxis(a, []*uop.UOp{outer, inner}, at)
	ao.shift, ai.shift = a.shift || tail == codegen.Shift, a.shift
	switch tail {
	case codegen.Guard:
		if a.Owner == "" && !k.Target.Grid {
			return fmt.Errorf("guard is for reductions; outputs have shift and peel")
		}
		g := at.Less(k.Table.Index(n))
		if ai.Guard != nil { // that of the axis itself
			g = ai.Guard.And(g)
		}
		ai.Guard = g
	case codegen.Peel:
		ao.Full, ao.Inner = n/f, inner
		ao.Rest = k.NewRange(n%f, a.Name+".t")
		k.ByRange[ao.Rest] = &Axis{Name: a.Name + ".t", Range: ao.Rest, Full: -1}
	}
	return nil
}

// guarded says whether the guard of some axis depends on a.
func (k *applier) guarded(a *Axis) bool {
	id := k.Facts.RangeID(a.Range)
	for _, x := range k.Axes {
		if x.Guard != nil && (x == a || k.Facts.FreeRanges(x.Guard).Has(id)) {
			return true
		}
	}
	return false
}

// peeled says whether an axis is the outer or inner part of a peeled split.
func (k *Kernel) peeled(a *Axis) bool {
	if a.Full >= 0 {
		return true
	}
	for _, x := range k.Axes {
		if x.Inner == a.Range {
			return true
		}
	}
	return false
}

// MinIndex is the smaller of two indices; index arithmetic never comes near the least integer.
func MinIndex(a, b *uop.UOp) *uop.UOp { return a.Neg().Max(b.Neg()).Neg() }

// replaceAxis puts two ranges in the place of axis a, whose value is now given by at.
func (k *applier) replaceAxis(a *Axis, ranges []*uop.UOp, at *uop.UOp) (outer, inner *Axis) {
	owner := a.Owner
	delete(k.Axes, a.Name)
	outer = k.addAxis(a.Name+".0", ranges[0], owner)
	inner = k.addAxis(a.Name+".1", ranges[1], owner)
	if a.Guard != nil {
		inner.Guard = a.Guard
	}
	k.substituteRanges(map[*uop.UOp]*uop.UOp{a.Range: at}, map[*uop.UOp][]*uop.UOp{a.Range: ranges})
	for _, g := range k.Groups {
		g.Axes = replaceIn(g.Axes, a, outer, inner)
		g.Order = replaceIn(g.Order, a, outer, inner)
	}
	return outer, inner
}

func replaceIn(list []*Axis, a *Axis, by ...*Axis) []*Axis {
	if i := slices.Index(list, a); i >= 0 {
		return slices.Replace(slices.Clone(list), i, i+1, by...)
	}
	return list
}

// substituteRanges replaces ranges by expressions, in reductions' and outputs' own lists by lists of ranges.
func (k *applier) substituteRanges(at map[*uop.UOp]*uop.UOp, lists map[*uop.UOp][]*uop.UOp) {
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
	k.Rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if e, ok := at[u]; ok {
			return e
		}
		if parts, ranges := codegen.ReduceParts(u); ranges != nil {
			return k.Table.Make(uop.Reduce, u.DType(), u.Arg(), append(slices.Clone(src[:len(parts)]), expand(ranges)...)...)
		}
		return k.Fold(codegen.Remake(k.Table, u, src))
	})
	for i := range k.Outs {
		k.Outs[i].Axes = expand(k.Outs[i].Axes)
	}
	for i := range k.SharedSubexprs {
		t := &k.SharedSubexprs[i]
		t.Range, t.Axis = k.Substitute(at, t.Range), k.Substitute(at, t.Axis)
	}
	for _, a := range k.Axes {
		if a.Guard != nil {
			a.Guard = k.Substitute(at, a.Guard)
		}
	}
}

// Substitute replaces nodes in one expression and folds.
func (k *Kernel) Substitute(with map[*uop.UOp]*uop.UOp, u *uop.UOp) *uop.UOp {
	w := &codegen.Rewriter{Table: k.Table, Fold: k.Fold}
	for from, to := range with {
		w.Done.Set(from, to)
	}
	return w.Do(u)
}

// fuse makes one axis of two, the first being the outer one.
func (k *applier) fuse(m codegen.Directive) error {
	if len(m.Axes) != 2 || k.Axes[m.Axes[0]] == nil || k.Axes[m.Axes[1]] == nil {
		return fmt.Errorf("needs two axes")
	}
	a, b := k.Axes[m.Axes[0]], k.Axes[m.Axes[1]]
	if k.Runs(a.Range) || k.Runs(b.Range) {
		return fmt.Errorf("a scan goes along one of axes %s and %s", a.Name, b.Name)
	}
	if a == b || a.Owner != b.Owner || k.peeled(a) || k.peeled(b) || a.Guard != nil || b.Guard != nil {
		return fmt.Errorf("axes %s and %s cannot become one", a.Name, b.Name)
	}
	for _, g := range k.Groups {
		if slices.Contains(g.Axes, a) != slices.Contains(g.Axes, b) {
			return fmt.Errorf("axes %s and %s belong to different nests", a.Name, b.Name)
		}
	}
	n := codegen.Extent(b.Range)
	f := k.NewRange(codegen.Extent(a.Range)*n, a.Name+"+"+b.Name)
	c := k.Table.Index(n)
	delete(k.Axes, a.Name)
	delete(k.Axes, b.Name)
	joined := k.addAxis(a.Name+"+"+b.Name, f, a.Owner)
	joined.shift = a.shift || b.shift
	one := []*uop.UOp{f}
	k.substituteRanges(map[*uop.UOp]*uop.UOp{a.Range: f.IDiv(c), b.Range: f.Mod(c)}, map[*uop.UOp][]*uop.UOp{a.Range: one, b.Range: one})
	for _, g := range k.Groups {
		g.Axes = replaceIn(replaceIn(g.Axes, a, joined), b)
		g.Order = replaceIn(replaceIn(g.Order, a, joined), b)
	}
	return nil
}

// inAll says that all nests have an axis.
func (k *applier) inAll(a *Axis) bool {
	return !slices.ContainsFunc(k.Groups, func(g *Group) bool { return !slices.Contains(g.Axes, a) })
}

// order sets the order of the loops of a nest, or of a reduction.
func (k *applier) order(m codegen.Directive) error {
	var list []*Axis
	for i, name := range m.Axes {
		a := k.Axes[name]
		if a == nil {
			return k.noAxis(name)
		}
		if slices.Contains(list, a) {
			return fmt.Errorf("axis %s is named twice", name)
		}
		list = append(list, a)
		k.Place[a.Range] = i
	}
	for _, g := range k.Groups {
		n, own := 0, 0 // axes of the nest, and of no other
		for _, a := range g.Axes {
			if slices.Contains(list, a) {
				if n++; !k.inAll(a) {
					own++
				}
			}
		}
		switch {
		case n == 0, own == 0 && len(k.Groups) > 1: // it is of another nest, which goes through the same rows
			continue
		case n == len(g.Axes):
			g.Order = slices.Clone(list)
			for g.Order[len(g.Order)-1].Owner != "" { // inside all outputs' axes: the reduction's own loops
				g.Order = g.Order[:len(g.Order)-1]
			}
		default:
			return fmt.Errorf("it must name all axes of its nest")
		}
	}
	return nil
}
