// Package nest is a Spec as nests of loops: axes and values have names, which directives speak of, and a directive changes axes and
// expressions so that the values stay. Each change is a law of its own (laws.go, apply.go); check.go says what has to hold at the end. It refuses
// to know statements, and which directives are good ones.
package nest

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/uop"
)

// Axis is a loop-to-be: a range with a name and the way it runs.
type Axis struct {
	Name  string
	Range *uop.UOp
	Kind  codegen.Kind
	Owner string   // the reduction it belongs to; "" for axes of outputs
	Full  int      // ≥ 0: from this iteration on, rest replaces inner (a peeled tail)
	Inner *uop.UOp // the inner axis of that split
	Rest  *uop.UOp
	Guard *uop.UOp // the iteration counts only where this holds
	// Exists, or nil: elsewhere the iteration adds zeros, so that it need not be done where that is known in time.
	Exists *uop.UOp
	shift  bool // some elements are computed twice: the last tile of a split was moved inwards
}

// Group is one nest of outputs: outs whose axes agree.
type Group struct {
	Outs  []int
	Axes  []*Axis
	Order []*Axis // the loops, outermost first; may hold axes of reductions
}

// Kernel is a Spec on its way down.
type Kernel struct {
	Table          *uop.Table
	Target         *codegen.Target
	Params         []codegen.Param
	Vars           []*uop.UOp
	Outs           []codegen.Out
	Facts          *affine.Facts
	Groups         []*Group
	Axes           map[string]*Axis
	ByRange        map[*uop.UOp]*Axis
	Values         map[string]*uop.UOp // named loads and reductions
	reds           []string            // names of reductions, inner ones first
	loads          []string            // names of loads
	SharedSubexprs []SharedSubexpr
	Place          map[*uop.UOp]int // position of a range in an explicit order
	Stages         []codegen.Directive
	Carry          []codegen.Directive
	Unpackings     map[string]*UnpackedFactors // of narrow loads
	Matrices       map[string][2]MatrixFactor  // reductions whose staged blocks are products of matrices
	Finite         []Light                     // loads that do with less than their gate while all their elements are finite

	row *uop.UOp // the outermost axis of all nests where each of its iterations keeps to rows of its own, before any is divided

	Scanned, scanning affine.RangeSet // axes along which scans go, and what their values run over
	Keyed             bool            // one of them is by key
	Held              int             // values that one of them holds, where it is a recurrence

	nextID int // of a new range
}

// New is Bare and Prepare.
func New(s *codegen.Spec, target *codegen.Target) *Kernel {
	k := Bare(s, target)
	k.Prepare()
	return k
}

// Bare copies the Spec as it is, and names nothing.
func Bare(s *codegen.Spec, target *codegen.Target) *Kernel {
	return &Kernel{Table: s.Home, Target: target, Params: slices.Clone(s.Params), Vars: s.Vars, Outs: slices.Clone(s.Outs),
		Facts: affine.NewFacts(), Axes: map[string]*Axis{}, ByRange: map[*uop.UOp]*Axis{}, Values: map[string]*uop.UOp{},
		Place: map[*uop.UOp]int{}, Unpackings: map[string]*UnpackedFactors{}}
}

// Prepare brings a bare kernel into canonical form and names what directives may speak of.
func (k *Kernel) Prepare() {
	k.canonical()
	k.ungate()
	if k.Target.Grid && !k.Target.CPUBacked {
		k.gateProducts()
	}
	k.GroupOuts()
	k.nameAxes()
	k.findRow()
	k.nameValues()
	if !k.Target.Grid {
		k.nameUnpacked()
	}
	k.nameShared()
}

// Roots lists every expression of the outputs.
func (k *Kernel) Roots() []*uop.UOp { return codegen.RootsOf(k.Outs) }

// rootsOf lists those of one nest.
func (k *Kernel) rootsOf(g *Group) []*uop.UOp {
	var outs []codegen.Out
	for _, i := range g.Outs {
		outs = append(outs, k.Outs[i])
	}
	return codegen.RootsOf(outs)
}

// Rewrite maps every expression of the kernel with one function of a node and its new operands.
func (k *Kernel) Rewrite(f func(u *uop.UOp, src []*uop.UOp) *uop.UOp) {
	var done uop.Map[*uop.UOp]
	get := func(u *uop.UOp) *uop.UOp { v, _ := done.Get(u); return v }
	for _, r := range k.Roots() {
		codegen.Remember(&done, r, func(u *uop.UOp) *uop.UOp { return f(u, codegen.MapAll(u.Src(), get)) })
	}
	for i := range k.Outs {
		o := &k.Outs[i]
		o.Index = slices.Clone(o.Index)
		for j, x := range o.Index {
			o.Index[j] = get(x)
		}
		o.Value = get(o.Value)
		if o.Gate != nil {
			o.Gate = get(o.Gate)
		}
	}
	for name, v := range k.Values {
		if w := get(v); w != nil {
			k.Values[name] = w
		}
	}
}

// GroupOuts puts outputs with the same axes into one nest, when nothing between them is in another.
func (k *Kernel) GroupOuts() {
	for i, o := range k.Outs {
		if n := len(k.Groups); n > 0 && o.Merge == nil && !o.Apart {
			last := k.Outs[k.Groups[n-1].Outs[0]]
			if last.Merge == nil && slices.Equal(last.Axes, o.Axes) {
				k.Groups[n-1].Outs = append(k.Groups[n-1].Outs, i)
				continue
			}
		}
		k.Groups = append(k.Groups, &Group{Outs: []int{i}})
	}
}

func (k *Kernel) addAxis(name string, r *uop.UOp, owner string) *Axis {
	a := &Axis{Name: name, Range: r, Owner: owner, Full: -1}
	k.Axes[name] = a
	k.ByRange[r] = a
	if id := r.Arg().(uop.RangeArg).ID; id >= k.nextID {
		k.nextID = id + 1
	}
	return a
}

// nameAxes names the axes of outputs: by the range's own name where it is free, else by nest and place.
func (k *Kernel) nameAxes() {
	for g, grp := range k.Groups {
		for i, r := range k.Outs[grp.Outs[0]].Axes {
			if old := k.ByRange[r]; old != nil { // shared by two nests that do not agree in all axes
				grp.Axes = append(grp.Axes, old)
				continue
			}
			name := r.Arg().(uop.RangeArg).Name
			if name == "" || k.Axes[name] != nil || name == codegen.Root {
				name = Letters(g) + fmt.Sprint(i)
			}
			grp.Axes = append(grp.Axes, k.addAxis(name, r, ""))
		}
		grp.Order = slices.Clone(grp.Axes)
	}
}

// Letters counts a, b, … z, aa, ab …
func Letters(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return Letters(i/26-1) + string(rune('a'+i%26))
}

// nameValues names reductions r0, r1 … (inner ones first), their axes, loads, and what is a load in a wider type.
func (k *Kernel) nameValues() {
	seen := map[int]int{}
	names := map[*uop.UOp]string{}
	for _, u := range uop.Topo(k.Roots()...) {
		switch u.Op() {
		case uop.Cast:
			if l := u.At(0); l.Op() == uop.Load && widens(u) && k.Values[names[l]+WideSuffix] == nil {
				k.Values[names[l]+WideSuffix] = u
			}
		case uop.Reduce:
			k.nameReduce(fmt.Sprintf("r%d", len(k.reds)), u)
		case uop.Scan:
			k.noteScan(u)
		case uop.Load:
			slot := u.At(0).Arg().(uop.ParamArg).Slot
			name := fmt.Sprintf("p%d", slot)
			if n := seen[slot]; n > 0 {
				name = fmt.Sprintf("p%d.%d", slot, n)
			}
			seen[slot]++
			k.Values[name], names[u] = u, name
			k.loads = append(k.loads, name)
		case uop.Range:
			if id := u.Arg().(uop.RangeArg).ID; id >= k.nextID {
				k.nextID = id + 1
			}
		}
	}
}

func (k *Kernel) nameReduce(name string, u *uop.UOp) {
	k.reds = append(k.reds, name)
	k.Values[name] = u
	_, ranges := codegen.ReduceParts(u)
	for i, r := range ranges {
		if k.ByRange[r] != nil { // one loop range under two reductions: named after the first
			continue
		}
		n := r.Arg().(uop.RangeArg).Name
		if n == "" || k.Axes[n] != nil || n == codegen.Root {
			n = name + "." + Letters(i)
		}
		k.addAxis(n, r, name)
	}
}

// NewRange makes a range of its own.
func (k *Kernel) NewRange(n int, name string) *uop.UOp {
	r := k.Table.Range(k.nextID, n, name)
	k.nextID++
	return r
}
