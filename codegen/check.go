package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// Limits that keep kernels small: values of one Tile loop, instances of all together, lanes on machines whose
// vectors have a width.
const (
	maxTile      = 64
	maxInstances = 1024
	maxLanes     = 1024
)

// check says whether the axes can run as the directives say.
func (k *kernel) check() error {
	threads := 0
	for _, name := range sortedAxes(k.axes) {
		a := k.axes[name]
		n := extent(a.r)
		switch {
		case a.kind == Tile && a.owner != "":
			return fmt.Errorf("codegen: tile %s: it belongs to a reduction", name)
		case a.kind != Serial && k.runs(a.r):
			return fmt.Errorf("codegen: axis %s: a scan goes along it, so it must be serial", name)
		case a.kind == Tile && n > maxTile:
			return fmt.Errorf("codegen: tile %s: %d instances are more than %d", name, n, maxTile)
		case a.kind == Vector && n > maxLanes && machineVectors(k.target):
			return fmt.Errorf("codegen: vector %s: %d lanes are more than %d", name, n, maxLanes)
		case a.kind == Vector && a.guard != nil && k.target.Masks && a.owner != "" && k.facts.freeRanges(a.guard).within(k.facts.set(a.r)):
			// lanes that do not exist: see padLanes
		case a.kind != Serial && a.kind != Lane && a.guard != nil:
			return fmt.Errorf("codegen: axis %s has a guard, so it must be serial", name)
		case a.kind == Grid && (a.owner != "" || !k.target.Grid || len(k.groups) > 1), a.kind == Lane && (!k.target.Grid || len(k.groups) > 1):
			return fmt.Errorf("codegen: axis %s: the kernel cannot be shared by workgroups", name)
		case a.full >= 0 && a.kind != Serial && a.kind != Thread:
			return fmt.Errorf("codegen: axis %s is peeled, so it must be serial or shared by threads", name)
		}
		if a.kind == Thread {
			threads++
			one := threads == 1 && k.target.Threads || k.target.Grid
			last := k.groups[len(k.groups)-1]
			if a.owner != "" || !one || len(k.groups) > 1 && (k.target.Grid || a != k.sharedRow() && !(slices.Contains(last.order, a) && k.threaded(last))) {
				return fmt.Errorf("codegen: thread %s: threads share one axis of the outputs of the only nest, rows that all nests go through, or the last nest", name)
			}
		}
	}
	for _, name := range k.reds {
		vectors := 0
		_, ranges := reduceParts(k.values[name])
		for _, r := range ranges {
			if a := k.byR[r]; a != nil && (a.kind == Vector || a.kind == Lane) {
				vectors++
			}
		}
		if vectors > 1 {
			return fmt.Errorf("codegen: reduction %s has %d axes of lanes", name, vectors)
		}
	}
	for _, g := range k.groups {
		if err := k.checkNest(g); err != nil {
			return err
		}
	}
	return nil
}

func sortedAxes(m map[string]*axis) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.SortStableFunc(names, strings.Compare)
	return names
}

func (k *kernel) checkNest(g *group) error {
	vectors, instances := 0, 1
	for i, a := range g.order {
		switch a.kind {
		case Vector:
			vectors++
		case Tile:
			instances *= extent(a.r)
		}
		if v := slices.IndexFunc(g.order[:i], func(x *axis) bool { return x.kind == Vector }); a.kind == Thread && v >= 0 {
			return fmt.Errorf("codegen: order: the threads' axis %s lies inside the lanes of %s", a.name, g.order[v].name)
		}
		if k.runs(a.r) && i+1 < len(g.order) {
			return fmt.Errorf("codegen: order: a scan goes along %s, so it must be the innermost", a.name)
		}
		if a.full >= 0 && slices.ContainsFunc(g.order[:i], func(x *axis) bool { return x.r == a.inner }) {
			return fmt.Errorf("codegen: order: the peeled axis %s lies inside its own tail", a.name)
		}
	}
	if vectors > 1 || instances > maxInstances {
		return fmt.Errorf("codegen: a nest has %d vector axes and %d instances", vectors, instances)
	}
	for _, i := range g.outs {
		if err := k.checkOut(g, k.outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkOut refuses what would write an element twice where that counts, or in another order.
func (k *kernel) checkOut(g *group, o Out) error {
	stored := rangeSet{}
	for _, x := range o.Index {
		stored = stored.or(k.facts.freeRanges(x))
	}
	last := -1
	for _, a := range g.order {
		if a.owner != "" {
			continue
		}
		if k.keyed && (a.kind == Vector || a.kind == Tile) {
			return fmt.Errorf("codegen: axis %s: accumulators by key are those of one row at a time", a.name)
		}
		if a.kind == Vector && !stored.has(k.facts.rangeID(a.r)) {
			return fmt.Errorf("codegen: vector %s: all lanes would store to one element", a.name)
		}
		if o.Merge == nil || k.ownsSplit(o, a.r) {
			continue
		}
		at := slices.Index(o.Axes, a.r)
		if a.kind != Serial || at < last {
			return fmt.Errorf("codegen: axis %s: merged elements must come in order", a.name)
		}
		last = at
	}
	if !k.shifted(o) {
		return nil
	}
	if o.Merge != nil {
		return fmt.Errorf("codegen: split shift: merged elements would count twice")
	}
	for _, u := range uop.Topo(k.rootsOf(g)...) {
		if u.Op() == uop.Load && u.At(0).Arg().(uop.ParamArg).Slot == o.Param {
			return fmt.Errorf("codegen: split shift: the output is read as well, and would be read after it was written")
		}
	}
	return nil
}

// ownsSplit says that different r mean different elements of a merged output: one index of it is a different number for each value of
// the ranges that it depends on, r among them, or goes from part to part with r. What the others are does not matter then, also if they
// come from data at r.
func (k *kernel) ownsSplit(o Out, r *uop.UOp) bool {
	if len(o.Index) != len(k.params[o.Param].Dims) {
		return false
	}
	id := k.facts.rangeID(r)
	for _, x := range o.Index {
		if !k.facts.freeRanges(x).has(id) {
			continue
		}
		if k.facts.freeRanges(x).within(k.facts.set(o.Axes...)) && !fromData(x) && k.oneToOne(x) || k.inParts(x, r) {
			return true
		}
	}
	return false
}

// inParts says that an index is in a part of its own for each r, wherever it is there.
func (k *kernel) inParts(x, r *uop.UOp) bool {
	rest := k.facts.affine(x)
	size := rest.coeff(r)
	rest.terms = slices.DeleteFunc(slices.Clone(rest.terms), func(t term) bool { return t.u == r })
	at := rest.node(k.t)
	lo, hi, ok := symbolic.Bounds(at)
	return ok && size > 0 && hi-lo < size
}

// oneToOne says that an index of split axes has a different value for each of their values.
func (k *kernel) oneToOne(x *uop.UOp) bool {
	a := k.facts.affine(x)
	slices.SortStableFunc(a.terms, func(s, t term) int { return abs(s.k) - abs(t.k) })
	reach := 1
	for _, t := range a.terms {
		if t.u.Op() != uop.Range || abs(t.k) < reach {
			return false
		}
		reach += abs(t.k) * (extent(t.u) - 1)
	}
	return true
}

// shifted says whether an output computes some elements twice.
func (k *kernel) shifted(o Out) bool {
	return slices.ContainsFunc(o.Axes, func(r *uop.UOp) bool { return k.byR[r] != nil && k.byR[r].shift })
}
