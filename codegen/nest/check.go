package nest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
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
func (k *Kernel) check() error {
	threads := 0
	for _, name := range SortedAxes(k.Axes) {
		a := k.Axes[name]
		n := codegen.Extent(a.Range)
		switch {
		case a.Kind == codegen.Tile && a.Owner != "":
			return fmt.Errorf("codegen: tile %s: it belongs to a reduction", name)
		case a.Kind != codegen.Serial && k.Runs(a.Range):
			return fmt.Errorf("codegen: axis %s: a scan goes along it, so it must be serial", name)
		case a.Kind == codegen.Tile && n > maxTile:
			return fmt.Errorf("codegen: tile %s: %d instances are more than %d", name, n, maxTile)
		case a.Kind == codegen.Vector && n > maxLanes && codegen.MachineVectors(k.Target):
			return fmt.Errorf("codegen: vector %s: %d lanes are more than %d", name, n, maxLanes)
		case a.Kind == codegen.Vector && a.Guard != nil && k.Target.Masks && a.Owner != "" && k.Facts.FreeRanges(a.Guard).Within(k.Facts.Set(a.Range)):
			// lanes that do not exist: see padLanes
		case a.Kind != codegen.Serial && a.Kind != codegen.Lane && a.Guard != nil:
			return fmt.Errorf("codegen: axis %s has a guard, so it must be serial", name)
		case a.Kind == codegen.Grid && (a.Owner != "" || !k.Target.Grid || len(k.Groups) > 1), a.Kind == codegen.Lane && (!k.Target.Grid || len(k.Groups) > 1):
			return fmt.Errorf("codegen: axis %s: the kernel cannot be shared by workgroups", name)
		case a.Full >= 0 && a.Kind != codegen.Serial && a.Kind != codegen.Thread:
			return fmt.Errorf("codegen: axis %s is peeled, so it must be serial or shared by threads", name)
		}
		if a.Kind == codegen.Thread {
			threads++
			one := threads == 1 || k.Target.Grid
			last := k.Groups[len(k.Groups)-1]
			if a.Owner != "" || !one || len(k.Groups) > 1 && (k.Target.Grid || a != k.SharedRow() && !(slices.Contains(last.Order, a) && k.Threaded(last))) {
				return fmt.Errorf("codegen: thread %s: threads share one axis of the outputs of the only nest, rows that all nests go through, or the last nest", name)
			}
		}
	}
	for _, name := range k.reds {
		vectors := 0
		_, ranges := codegen.ReduceParts(k.Values[name])
		for _, r := range ranges {
			if a := k.ByRange[r]; a != nil && (a.Kind == codegen.Vector || a.Kind == codegen.Lane) {
				vectors++
			}
		}
		if vectors > 1 {
			return fmt.Errorf("codegen: reduction %s has %d axes of lanes", name, vectors)
		}
	}
	for _, g := range k.Groups {
		if err := k.checkNest(g); err != nil {
			return err
		}
	}
	return nil
}

// SortedAxes are the names of axes, sorted.
func SortedAxes(m map[string]*Axis) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.SortStableFunc(names, strings.Compare)
	return names
}

func (k *Kernel) checkNest(g *Group) error {
	vectors, instances := 0, 1
	for i, a := range g.Order {
		switch a.Kind {
		case codegen.Vector:
			vectors++
		case codegen.Tile:
			instances *= codegen.Extent(a.Range)
		}
		if v := slices.IndexFunc(g.Order[:i], func(x *Axis) bool { return x.Kind == codegen.Vector }); a.Kind == codegen.Thread && v >= 0 {
			return fmt.Errorf("codegen: order: the threads' axis %s lies inside the lanes of %s", a.Name, g.Order[v].Name)
		}
		if k.Runs(a.Range) && i+1 < len(g.Order) {
			return fmt.Errorf("codegen: order: a scan goes along %s, so it must be the innermost", a.Name)
		}
		if a.Full >= 0 && slices.ContainsFunc(g.Order[:i], func(x *Axis) bool { return x.Range == a.Inner }) {
			return fmt.Errorf("codegen: order: the peeled axis %s lies inside its own tail", a.Name)
		}
	}
	if vectors > 1 || instances > maxInstances {
		return fmt.Errorf("codegen: a nest has %d vector axes and %d instances", vectors, instances)
	}
	for _, i := range g.Outs {
		if err := k.checkOut(g, k.Outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkOut refuses what would write an element twice where that counts, or in another order.
func (k *Kernel) checkOut(g *Group, o codegen.Out) error {
	stored := affine.RangeSet{}
	for _, x := range o.Index {
		stored = stored.Or(k.Facts.FreeRanges(x))
	}
	last := -1
	for _, a := range g.Order {
		if a.Owner != "" {
			continue
		}
		if k.Keyed && (a.Kind == codegen.Vector || a.Kind == codegen.Tile) {
			return fmt.Errorf("codegen: axis %s: accumulators by key are those of one row at a time", a.Name)
		}
		if a.Kind == codegen.Vector && !stored.Has(k.Facts.RangeID(a.Range)) {
			return fmt.Errorf("codegen: vector %s: all lanes would store to one element", a.Name)
		}
		if o.Merge == nil || k.Owns(o, a.Range) {
			continue
		}
		at := slices.Index(o.Axes, a.Range)
		if a.Kind != codegen.Serial || at < last {
			return fmt.Errorf("codegen: axis %s: merged elements must come in order", a.Name)
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

// Owns says that different r mean different elements of a merged output: one index of it is a different number for each value of
// the ranges that it depends on, r among them, or goes from part to part with r. What the others are does not matter then, also if they
// come from data at r.
func (k *Kernel) Owns(o codegen.Out, r *uop.UOp) bool {
	id := k.Facts.RangeID(r)
	for _, x := range o.Index {
		if k.Facts.FreeRanges(x).Has(id) && (k.oneToOne(k.lowest(o, x, r)) || k.inParts(x, r, o.Gate)) {
			return true
		}
	}
	return false
}

// lowest is an index, or its remainder by what all that comes from data is a multiple of: the place in a row, where data say which row. It is
// empty where it may reach beyond the row, or depends on r not or on more than the output's axes.
func (k *Kernel) lowest(o codegen.Out, x, r *uop.UOp) (low affine.Form) {
	a, row := k.Facts.Form(x), 0
	for _, t := range a.Terms {
		if t.Node.Op() != uop.Range {
			row = symbolic.GCD(row, codegen.Abs(t.Coef))
		}
	}
	reach := 1
	for _, t := range a.Terms {
		if row == 0 || t.Coef%row != 0 {
			if !slices.Contains(o.Axes, t.Node) {
				return affine.Form{}
			}
			low.Terms = append(low.Terms, t)
			reach += codegen.Abs(t.Coef) * (codegen.Extent(t.Node) - 1)
		}
	}
	if low.Coeff(r) == 0 || row > 0 && reach > row {
		return affine.Form{}
	}
	return low
}

// inParts says that an index is in a part of its own for each r, wherever it is there if its gate holds.
func (k *Kernel) inParts(x, r, gate *uop.UOp) bool {
	rest := k.Facts.Form(x)
	size := rest.Coeff(r)
	rest.Terms = slices.DeleteFunc(slices.Clone(rest.Terms), func(t affine.Term) bool { return t.Node == r })
	at := rest.Node(k.Table)
	lo, hi, ok := symbolic.Bounds(at)
	return size > 0 && (ok && hi-lo < size || symbolic.Under(k.Table, codegen.OrTrue(k.Table, gate)).Within(at, size))
}

// oneToOne says that a sum of split axes, of one at least, has a different value for each of their values.
func (k *Kernel) oneToOne(a affine.Form) bool {
	a.Terms = slices.Clone(a.Terms)
	slices.SortStableFunc(a.Terms, func(s, t affine.Term) int { return codegen.Abs(s.Coef) - codegen.Abs(t.Coef) })
	reach := 1
	for _, t := range a.Terms {
		if t.Node.Op() != uop.Range || codegen.Abs(t.Coef) < reach {
			return false
		}
		reach += codegen.Abs(t.Coef) * (codegen.Extent(t.Node) - 1)
	}
	return len(a.Terms) > 0
}

// shifted says whether an output computes some elements twice.
func (k *Kernel) shifted(o codegen.Out) bool {
	return slices.ContainsFunc(o.Axes, func(r *uop.UOp) bool { return k.ByRange[r] != nil && k.ByRange[r].shift })
}
