package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/weft-ml/weft/uop"
)

// What only values can tell, as an index that lies outside, is found by the play that uses the value and told to who reads
// what was computed from it. Realize takes the Checks out of a graph and computes, beside the values, flags: the largest
// code of each check. The arrays that a play leaves know which flags they depend on, and what the arrays that the play
// read depended on; reading an array reads those flags first. A play never waits for flags, but when an array depends on
// very many they are read and forgotten.

// ValueError says that a value was computed from one that makes no sense: an index outside its axis, a class that does not
// exist, a singular matrix.
type ValueError struct {
	Op     string
	Reason string
	At     string // file and line of the operation
}

func (e *ValueError) Error() string {
	s := "tensor: " + e.Op + ": " + e.Reason
	if e.At != "" {
		s += " (" + e.At + ")"
	}
	return s
}

const (
	maxColumns = 8  // flags of one array
	maxDoubts  = 64 // arrays of flags that an array may depend on before they are read
)

// flags are the largest codes of some checks of a play, an array on the device until it has been read.
type flags struct {
	checks []uop.CheckArg
	store  *storage
	codes  []int32 // once read
}

// doubt is a choice of the flags of an array, by bits.
type doubt struct {
	*flags
	which uint8
}

// raised gives the first check that found something.
func (d doubt) raised() *ValueError {
	for i, code := range d.codes {
		if code > 0 && d.which>>i&1 == 1 {
			c := d.checks[i]
			return &ValueError{Op: c.Op, Reason: strings.Replace(c.Reason, "%d", c.Number(code), 1), At: c.At}
		}
	}
	return nil
}

// clean reports whether the flags were read and nothing was found.
func (d doubt) clean() bool { return d.store == nil && d.raised() == nil }

// doubts are what an array depends on, the oldest first. They are not changed, so that arrays share them; nil is none.
type doubts struct{ list []doubt }

// column is a check of a graph.
type column struct {
	code *uop.UOp
	arg  uop.CheckArg
}

// numbers is a set of small numbers, by bits; not changed.
type numbers []uint64

func (a numbers) with(i int) numbers {
	out := make(numbers, max(len(a), i/64+1))
	copy(out, a)
	out[i/64] |= 1 << (i % 64)
	return out
}

func (a numbers) has(i int) bool { return i/64 < len(a) && a[i/64]>>(i%64)&1 == 1 }

func (a numbers) or(b numbers) numbers {
	if len(a) < len(b) {
		a, b = b, a
	}
	for i, w := range b {
		if a[i]|w != a[i] {
			out := slices.Clone(a)
			for k := i; k < len(b); k++ {
				out[k] |= b[k]
			}
			return out
		}
	}
	return a
}

// carry notes which checks the value of u depends on.
func (r *resolver) carry(u *uop.UOp, srcs []*uop.UOp) {
	var on numbers
	if len(r.on) > 0 {
		for _, s := range srcs {
			on = on.or(r.on[s])
		}
	}
	if u.Op() == uop.Check && len(srcs) > 1 && u.At(1).Shape().Numel() > 0 {
		on = on.with(r.column(counted(u.At(1), r.of(u.At(1))), u.Arg().(uop.CheckArg)))
	}
	if on != nil {
		if r.on == nil {
			r.on = map[*uop.UOp]numbers{}
		}
		r.on[u] = on
	}
}

// column is the number of a check. Checks with one code are one: whichever was found first tells of it.
func (r *resolver) column(code *uop.UOp, a uop.CheckArg) int {
	for i, c := range r.columns {
		if c.code == code && c.arg.Op == a.Op && c.arg.Reason == a.Reason {
			return i
		}
	}
	r.columns = append(r.columns, column{code, a})
	return len(r.columns) - 1
}

// flagTargets are arrays of flags to compute beside the values: few kernels, in which codes of similar numbers are rows.
func flagTargets(columns []column) []target {
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	size := func(i int) int { return columns[i].code.Shape().Numel() }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(size(a), size(b)), cmp.Compare(a, b)) })
	byNumber := map[int]column{}
	for i, c := range columns {
		byNumber[i] = c
	}
	var out []target
	for len(order) > 0 {
		n, sum := 0, 0
		for n < len(order) && n < maxColumns {
			width := size(order[n]) // the largest, so every row would be as wide
			if n > 0 && width*(n+1) > max(4096, 2*(sum+width)) {
				break
			}
			n, sum = n+1, sum+width
		}
		group := order[:n]
		order = order[n:]
		t := target{value: flagRows(byNumber, group), flags: group}
		for _, c := range group {
			t.checks, t.codes = append(t.checks, columns[c].arg), append(t.codes, columns[c].code)
		}
		out = append(out, t)
	}
	return out
}

// flagRows is the largest code of each column of a group. Codes of one shape are looked through along its axes, which are often those of what
// indices are computed from; others are laid in rows.
func flagRows(columns map[int]column, group []int) *uop.UOp {
	codes := make([]*uop.UOp, len(group))
	width, alike := 0, true
	for i, c := range group {
		codes[i] = alongAxes(columns[c].code)
		width = max(width, codes[i].Shape().Numel())
		alike = alike && codes[i].Shape().Equal(codes[0].Shape())
	}
	shape := []int{width}
	if alike {
		shape = codes[0].Shape()
	}
	axes := make([]int, len(shape))
	for i := range axes {
		axes[i] = i + 1
	}
	var rows *uop.UOp
	for i, code := range codes {
		lo, hi := make([]int, 1+len(shape)), make([]int, 1+len(shape))
		lo[0], hi[0] = i, len(group)-1-i
		if !alike {
			n := code.Shape().Numel()
			code, hi[1] = code.Reshape(n), width-n
		}
		row := code.Reshape(append([]int{1}, code.Shape()...)...).Pad(lo, hi)
		if rows == nil {
			rows = row
		} else {
			rows = rows.Max(row)
		}
	}
	return rows.Reduce(uop.MaxOf, axes...)
}

// alongAxes is what is computed element by element from arrays that all were brought from one shape to another, in the first of these: a program
// lays indices in a row, and the order in which they are looked through does not count. Anything else it is as it is.
func alongAxes(u *uop.UOp) *uop.UOp {
	var from uop.Shape
	made := map[*uop.UOp]*uop.UOp{}
	var in func(x *uop.UOp) *uop.UOp // nil: it was not brought from that shape
	in = func(x *uop.UOp) *uop.UOp {
		if y, met := made[x]; met {
			return y
		}
		var y *uop.UOp
		switch {
		case x.Op() == uop.Const:
			y = x
		case x.Op() == uop.Reshape && len(x.At(0).Shape()) > 0 && (from == nil || from.Equal(x.At(0).Shape())):
			y = x.At(0)
			from = y.Shape()
		case x.Op().Elementwise():
			whole := true
			for _, s := range x.Src() {
				whole = whole && in(s) != nil
			}
			if whole {
				y = x.WithSrc(x.Home(), in)
			}
		}
		made[x] = y
		return y
	}
	if v := in(u); v != nil && v.Shape().Numel() == u.Shape().Numel() {
		return v
	}
	return u
}

// reads lists, for each root of a graph, the inputs that its value depends on.
func reads(c *canonical) []numbers {
	out := make([]numbers, len(c.graph.Roots))
	on := map[*uop.UOp]numbers{}
	roots := make([]*uop.UOp, len(out))
	for i, r := range c.graph.Roots {
		roots[i] = r.Value
	}
	for _, u := range uop.Topo(roots...) {
		var set numbers
		if a, ok := u.Arg().(uop.ParamArg); ok {
			set = numbers{}.with(a.Slot)
		}
		for _, s := range u.Src() {
			set = set.or(on[s])
		}
		on[u] = set
	}
	for i, r := range roots {
		out[i] = on[r]
	}
	return out
}

// newDoubts works out what the targets of a play depend on, before any of them has its new contents. inputs gives, for
// target i, what it reads; stores are the arrays of the results.
func newDoubts(targets []target, stores []*storage, inputs func(i int, each func(*storage))) []*doubts {
	var fresh map[int]doubt
	for i, t := range targets {
		if t.flags == nil {
			continue
		}
		if fresh == nil {
			fresh = map[int]doubt{}
		}
		f := &flags{store: stores[i], checks: t.checks}
		for row, c := range t.flags {
			fresh[c] = doubt{f, 1 << row}
		}
	}
	out := make([]*doubts, len(targets))
	var known []merged
	for i, t := range targets {
		if t.flags != nil {
			continue
		}
		var from []*doubts
		inputs(i, func(s *storage) {
			if s.doubts != nil && !slices.Contains(from, s.doubts) {
				from = append(from, s.doubts)
			}
		})
		if from == nil && t.on == nil {
			continue
		}
		at := slices.IndexFunc(known, func(m merged) bool { return slices.Equal(m.on, t.on) && slices.Equal(m.from, from) })
		if at < 0 {
			at = len(known)
			known = append(known, merged{from, t.on, merge(from, t.on, fresh)})
		}
		out[i] = known[at].result
	}
	return out
}

// inherit notes, after a play, what its results depend on.
func (e *Engine) inherit(ctx context.Context, targets []target, stores []*storage, inputs func(i int, each func(*storage))) error {
	for i, d := range newDoubts(targets, stores, inputs) {
		stores[i].doubts = d
	}
	return e.bound(ctx, stores)
}

// merged is a merge that other targets of the play share.
type merged struct {
	from   []*doubts
	on     numbers
	result *doubts
}

// merge joins what was inherited and what is new, without what was read and found clean.
func merge(from []*doubts, on numbers, fresh map[int]doubt) *doubts {
	var list []doubt
	known := 0 // of which d may be one; those of one array are different anyway
	add := func(d doubt) {
		if d.clean() {
			return
		}
		for i := range list[:known] {
			if list[i].flags == d.flags {
				list[i].which |= d.which
				return
			}
		}
		list = append(list, d)
	}
	if len(from) > 0 { // as mostly one array's that is the whole list
		list = make([]doubt, 0, len(from[0].list)+len(fresh))
	}
	for _, f := range from {
		known = len(list)
		for _, d := range f.list {
			add(d)
		}
	}
	first := len(list) // no array depends on these yet
	for c := range len(on) * 64 {
		if on.has(c) {
			list = addFresh(list, first, fresh[c])
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &doubts{list}
}

// addFresh adds a flag of this play to those from first on.
func addFresh(list []doubt, first int, d doubt) []doubt {
	for i := first; i < len(list); i++ {
		if list[i].flags == d.flags {
			list[i].which |= d.which
			return list
		}
	}
	return append(list, d)
}
