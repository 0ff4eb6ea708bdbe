package codegen

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// axis is a loop-to-be: a range with a name and the way it runs.
type axis struct {
	name  string
	r     *uop.UOp
	kind  Kind
	owner string   // the reduction it belongs to; "" for axes of outputs
	full  int      // ≥ 0: from this iteration on, rest replaces inner (a peeled tail)
	inner *uop.UOp // the inner axis of that split
	rest  *uop.UOp
	guard *uop.UOp // the iteration counts only where this holds
	shift bool     // some elements are computed twice: the last tile of a split was moved inwards
}

// group is one nest of outputs: outs whose axes agree.
type group struct {
	outs  []int
	axes  []*axis
	order []*axis // the loops, outermost first; may hold axes of reductions
}

// kernel is a Spec on its way down.
type kernel struct {
	t              *uop.Table
	target         *Target
	params         []Param
	vars           []*uop.UOp
	outs           []Out
	facts          *facts
	groups         []*group
	axes           map[string]*axis
	byR            map[*uop.UOp]*axis
	values         map[string]*uop.UOp // named loads and reductions
	reds           []string            // names of reductions, inner ones first
	loads          []string            // names of loads
	sharedSubexprs []sharedSubexpr
	place          map[*uop.UOp]int // position of a range in an explicit order
	stages         []Directive
	carry          []Directive
	unpackings     map[string]*unpackedFactors // of narrow loads
	matrices       map[string][2]matrixFactor  // reductions whose staged blocks are products of matrices
	finite         []light                     // loads that do with less than their gate while all their elements are finite

	row *uop.UOp // the outermost axis of all nests where each of its iterations keeps to rows of its own, before any is divided

	scanned, scanning rangeSet // axes along which scans go, and what their values run over
	keyed             bool     // one of them is by key

	nextID int // of a new range
}

// newKernel copies the Spec into canonical form and names what directives may speak of.
func newKernel(s *Spec, target *Target) *kernel {
	k := bareKernel(s, target)
	k.prepare()
	return k
}

func bareKernel(s *Spec, target *Target) *kernel {
	return &kernel{t: s.Home, target: target, params: slices.Clone(s.Params), vars: s.Vars, outs: slices.Clone(s.Outs),
		facts: newFacts(), axes: map[string]*axis{}, byR: map[*uop.UOp]*axis{}, values: map[string]*uop.UOp{},
		place: map[*uop.UOp]int{}, unpackings: map[string]*unpackedFactors{}}
}

func (k *kernel) prepare() {
	k.canonical()
	k.ungate()
	if k.target.Grid && !k.target.CPUBacked {
		k.gateProducts()
	}
	k.groupOuts()
	k.nameAxes()
	k.findRow()
	k.nameValues()
	if !k.target.Grid {
		k.nameUnpacked()
	}
	k.nameShared()
}

// roots lists every expression of the outputs.
func (k *kernel) roots() []*uop.UOp { return rootsOf(k.outs) }

// rootsOf lists those of one nest.
func (k *kernel) rootsOf(g *group) []*uop.UOp {
	var outs []Out
	for _, i := range g.outs {
		outs = append(outs, k.outs[i])
	}
	return rootsOf(outs)
}

func rootsOf(outs []Out) []*uop.UOp {
	var out []*uop.UOp
	for _, o := range outs {
		out = append(out, o.Index...)
		if o.Gate != nil {
			out = append(out, o.Gate)
		}
		out = append(out, o.Value)
	}
	return out
}

// rewrite maps every expression of the kernel with one function of a node and its new operands.
func (k *kernel) rewrite(f func(u *uop.UOp, src []*uop.UOp) *uop.UOp) {
	var done uop.Map[*uop.UOp]
	get := func(u *uop.UOp) *uop.UOp { v, _ := done.Get(u); return v }
	for _, r := range k.roots() {
		remember(&done, r, func(u *uop.UOp) *uop.UOp { return f(u, mapAll(u.Src(), get)) })
	}
	for i := range k.outs {
		o := &k.outs[i]
		o.Index = slices.Clone(o.Index)
		for j, x := range o.Index {
			o.Index[j] = get(x)
		}
		o.Value = get(o.Value)
		if o.Gate != nil {
			o.Gate = get(o.Gate)
		}
	}
	for name, v := range k.values {
		if w := get(v); w != nil {
			k.values[name] = w
		}
	}
}

// remake is u with new operands.
func remake(t *uop.Table, u *uop.UOp, src []*uop.UOp) *uop.UOp {
	if u.Home() == t && slices.Equal(u.Src(), src) {
		return u
	}
	return t.Make(u.Op(), u.DType(), u.Arg(), src...)
}

// groupOuts puts outputs with the same axes into one nest, when nothing between them is in another.
func (k *kernel) groupOuts() {
	for i, o := range k.outs {
		if n := len(k.groups); n > 0 && o.Merge == nil && !o.Apart {
			last := k.outs[k.groups[n-1].outs[0]]
			if last.Merge == nil && slices.Equal(last.Axes, o.Axes) {
				k.groups[n-1].outs = append(k.groups[n-1].outs, i)
				continue
			}
		}
		k.groups = append(k.groups, &group{outs: []int{i}})
	}
}

func (k *kernel) addAxis(name string, r *uop.UOp, owner string) *axis {
	a := &axis{name: name, r: r, owner: owner, full: -1}
	k.axes[name] = a
	k.byR[r] = a
	if id := r.Arg().(uop.RangeArg).ID; id >= k.nextID {
		k.nextID = id + 1
	}
	return a
}

// nameAxes names the axes of outputs: by the range's own name where it is free, else by nest and place.
func (k *kernel) nameAxes() {
	for g, grp := range k.groups {
		for i, r := range k.outs[grp.outs[0]].Axes {
			if old := k.byR[r]; old != nil { // shared by two nests that do not agree in all axes
				grp.axes = append(grp.axes, old)
				continue
			}
			name := r.Arg().(uop.RangeArg).Name
			if name == "" || k.axes[name] != nil || name == Root {
				name = letters(g) + fmt.Sprint(i)
			}
			grp.axes = append(grp.axes, k.addAxis(name, r, ""))
		}
		grp.order = slices.Clone(grp.axes)
	}
}

// letters counts a, b, … z, aa, ab …
func letters(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return letters(i/26-1) + string(rune('a'+i%26))
}

// nameValues names reductions r0, r1 … (inner ones first), their axes, loads, and what is a load in a wider type.
func (k *kernel) nameValues() {
	seen := map[int]int{}
	names := map[*uop.UOp]string{}
	for _, u := range uop.Topo(k.roots()...) {
		switch u.Op() {
		case uop.Cast:
			if l := u.At(0); l.Op() == uop.Load && widens(u) && k.values[names[l]+wideSuffix] == nil {
				k.values[names[l]+wideSuffix] = u
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
			k.values[name], names[u] = u, name
			k.loads = append(k.loads, name)
		case uop.Range:
			if id := u.Arg().(uop.RangeArg).ID; id >= k.nextID {
				k.nextID = id + 1
			}
		}
	}
}

func (k *kernel) nameReduce(name string, u *uop.UOp) {
	k.reds = append(k.reds, name)
	k.values[name] = u
	_, ranges := reduceParts(u)
	for i, r := range ranges {
		if k.byR[r] != nil { // one loop range under two reductions: named after the first
			continue
		}
		n := r.Arg().(uop.RangeArg).Name
		if n == "" || k.axes[n] != nil || n == Root {
			n = name + "." + letters(i)
		}
		k.addAxis(n, r, name)
	}
}

// newRange makes a range of its own.
func (k *kernel) newRange(n int, name string) *uop.UOp {
	r := k.t.Range(k.nextID, n, name)
	k.nextID++
	return r
}
