package tune

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/model"
)

// step is a way to change a list a little; it gives all results of the change.
type step func(l *list, t *codegen.Target) [][]codegen.Directive

// steps are all of them. The first works on any list; the others on lists whose effect on axes is followed, and for targets
// with vectors: what the invocations of a graphics processor do together hangs together.
var steps = []struct {
	name string
	any  bool
	do   step
}{
	{"another factor", true, factors},
	{"no split", false, unsplit},
	{"another order", false, reorder},
	{"threads", false, rethread},
	{"blocks", false, blocks([]int{16, 64, 4})},
	{"registers", false, blocks([]int{2, 4, 8}, codegen.Tiles)},
	{"lanes of sums", false, sumLanes},
	{"less staged", false, unstage},
	{"staged elsewhere", false, restage},
	{"more staged", false, stage},
}

// factors doubles, halves and shifts the factor of each split.
func factors(l *list, t *codegen.Target) (out [][]codegen.Directive) {
	for i, m := range l.directives {
		if m.Verb != codegen.Split {
			continue
		}
		before := read(l.nest, l.directives[:i])
		a, ok := before.axes[m.Name]
		for _, n := range []int{m.N * 2, m.N / 2, m.N + 2, m.N - 2, m.N * 3 / 2} {
			if n < 2 || n == m.N || t.Grid && n&(n-1) != 0 || ok && n >= a.n {
				continue
			}
			directives := slices.Clone(l.directives)
			directives[i].N = n
			if ok && m.Tail == codegen.Exact {
				directives[i].Tail = before.rest(a, n, l.axes[m.Name+".1"].kind == codegen.Vectors)
			}
			out = append(out, directives)
		}
	}
	return out
}

// unsplit takes each split back: all of the axis runs as its outer part did, or as its inner part.
func unsplit(l *list, t *codegen.Target) (out [][]codegen.Directive) {
	for i, m := range l.directives {
		if m.Verb == codegen.Split {
			out = append(out, rename(l.without(i), m.Name+".0", m.Name, m.Name+".1"), rename(l.without(i), m.Name+".1", m.Name, m.Name+".0"))
		}
	}
	return out
}

// reorder exchanges neighbours in the order, and brings each loop to the front.
func reorder(l *list, t *codegen.Target) (out [][]codegen.Directive) {
	for i := 1; i < len(l.order); i++ {
		swapped := slices.Clone(l.order)
		swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
		if out = append(out, l.with(swapped)); i > 1 {
			out = append(out, l.with(front(l.order, l.order[i])))
		}
	}
	return out
}

// rethread gives the threads another axis, or one more.
func rethread(l *list, t *codegen.Target) (out [][]codegen.Directive) {
	at := slices.IndexFunc(l.directives, func(m codegen.Directive) bool { return m.Verb == codegen.Threads })
	if at < 0 {
		for _, name := range l.order {
			if a := l.axes[name]; a.own && a.kind == codegen.Order && a.n > 1 {
				out = append(out, l.with(front(l.order, name), codegen.Directive{Verb: codegen.Threads, Name: name}))
			}
		}
		return out
	}
	name := l.directives[at].Name
	without := read(l.nest, l.without(at))
	for _, other := range l.order {
		if a := l.axes[other]; other == name || !a.own || a.kind != codegen.Order {
			continue
		} else if a.n > 1 {
			out = append(out, without.with(front(l.order, other), codegen.Directive{Verb: codegen.Threads, Name: other}))
		}
		fused := name + "+" + other
		out = append(out, renameIn(without.with(except(l.order, other), codegen.Directive{Verb: codegen.Fuse, Axes: []string{name, other}},
			codegen.Directive{Verb: codegen.Threads, Name: fused}), name, fused))
	}
	return out
}

// renameIn calls an axis otherwise where directives speak of what there is at the end.
func renameIn(directives []codegen.Directive, from, to string) []codegen.Directive {
	out := slices.Clone(directives)
	for i, m := range out {
		switch m.Verb {
		case codegen.Stage:
			if m.At == from {
				out[i].At = to
			}
			fallthrough
		case codegen.Order, codegen.Carry:
			out[i].Axes = slices.Clone(m.Axes)
			for j, x := range m.Axes {
				if x == from {
					out[i].Axes[j] = to
				}
			}
		}
	}
	return out
}

func front(order []string, name string) []string {
	return append([]string{name}, except(order, name)...)
}

func except(order []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(order), func(x string) bool { return x == name })
}

// loops lists the loops of the outputs that run one iteration after the other, in a thread or in all.
func (l *list) loops() (out []string) {
	for _, name := range l.order {
		if a := l.axes[name]; !a.sum && (a.kind == codegen.Order || a.kind == codegen.Threads) && a.n > 1 {
			out = append(out, name)
		}
	}
	return out
}

// inside puts an axis behind the serial loops, before the registers and the lanes.
func (l *list) inside(order []string, name string) []string {
	at := len(order)
	for at > 0 && (l.axes[order[at-1]].kind == codegen.Tiles || l.axes[order[at-1]].kind == codegen.Vectors) {
		at--
	}
	return slices.Insert(slices.Clone(order), at, name)
}

// cutInside cuts a loop by n, with the inner part inside, and says more of it.
func (l *list) cutInside(name string, n int, more ...codegen.Directive) []codegen.Directive {
	i := slices.Index(l.order, name)
	order := l.inside(slices.Replace(slices.Clone(l.order), i, i+1, name+".0"), name+".1")
	more = append([]codegen.Directive{{Verb: codegen.Split, Name: name, N: n, Tail: l.rest(l.axes[name], n, false)}}, more...)
	if l.axes[name].kind == codegen.Threads {
		l = read(l.nest, slices.DeleteFunc(slices.Clone(l.directives), func(m codegen.Directive) bool { return m.Verb == codegen.Threads && m.Name == name }))
		more = append(more, codegen.Directive{Verb: codegen.Threads, Name: name + ".0"})
	}
	return renameIn(l.with(order, more...), name, name+".0")
}

// blocks cuts loops so that blocks of some sizes lie outside and what is in one runs innermost: for the caches, or as kind says.
func blocks(sizes []int, kind ...codegen.Verb) step {
	return func(l *list, t *codegen.Target) (out [][]codegen.Directive) {
		put := func(name string) (more []codegen.Directive) {
			for _, verb := range kind {
				more = append(more, codegen.Directive{Verb: verb, Name: name})
			}
			return more
		}
		for _, name := range l.loops() {
			for _, n := range sizes {
				switch a := l.axes[name]; {
				case !a.own || n > a.n:
				case n < a.n:
					out = append(out, l.cutInside(name, n, put(name+".1")...))
				case len(kind) > 0:
					out = append(out, l.with(l.inside(except(l.order, name), name), put(name)...))
				}
			}
		}
		return out
	}
}

// sumLanes gives lanes to sums that have none.
func sumLanes(l *list, t *codegen.Target) (out [][]codegen.Directive) {
	w := max(l.nest.Lanes, 1)
	if l.nest.Lanes == 0 {
		w = 256 // vectors of any length
	}
	for _, s := range l.nest.Sums {
		if slices.ContainsFunc(s.Axes, func(a model.AxisFacts) bool {
			x, whole := l.axes[a.Name]
			return !whole || x.kind != codegen.Order
		}) {
			continue
		}
		x := denseAxis(l.nest, &s)
		for _, n := range []int{4 * w, w} {
			switch a := l.axes[x.Name]; {
			case n > 1 && n < x.N:
				out = append(out, l.with(nil, codegen.Directive{Verb: codegen.Split, Name: x.Name, N: n, Tail: l.rest(a, n, true)},
					codegen.Directive{Verb: codegen.Vectors, Name: x.Name + ".1"}))
			case x.N > 1:
				out = append(out, l.with(nil, codegen.Directive{Verb: codegen.Vectors, Name: x.Name}))
			}
		}
	}
	return out
}

// denseAxis is the axis of a sum along which most of its operands are dense.
func denseAxis(nest *model.NestFacts, s *model.SumFacts) (best model.AxisFacts) {
	most := -1
	for _, a := range s.Axes {
		score := 0
		for _, i := range s.Reads {
			if nest.Reads[i].Strides[a.Name] == 1 {
				score++
			}
		}
		if score > most || score == most && a.N > best.N {
			best, most = a, score
		}
	}
	return best
}

// unstage leaves out each stage, carry and assumption of finite numbers.
func unstage(l *list, t *codegen.Target) (out [][]codegen.Directive) {
	for i, m := range l.directives {
		if m.Verb == codegen.Stage || m.Verb == codegen.Carry || m.Verb == codegen.Finite {
			out = append(out, l.without(i))
		}
	}
	return out
}

// restage moves each stage one loop outwards or inwards.
func restage(l *list, t *codegen.Target) (out [][]codegen.Directive) {
	places := append([]string{codegen.Root}, l.order...)
	for i, m := range l.directives {
		if m.Verb != codegen.Stage {
			continue
		}
		at := slices.Index(places, m.At)
		for _, j := range []int{at - 1, at + 1} {
			if at < 0 || j < 0 || j >= len(places) {
				continue
			}
			directives := slices.Clone(l.directives)
			directives[i].At = places[j]
			if !m.Box {
				if r := l.access(m.Name); r != nil {
					directives[i].Axes = l.layout(r, places[j])
				}
			}
			out = append(out, directives)
		}
	}
	return out
}

func (l *list) access(name string) *model.ReadFacts {
	for i := range l.nest.Reads {
		if l.nest.Reads[i].Name == name {
			return &l.nest.Reads[i]
		}
	}
	return nil
}

// stage copies what is read more than once to where it lies together: a box of it, or what each iteration reads in the order in
// which they come.
func stage(l *list, t *codegen.Target) (out [][]codegen.Directive) {
	for i := range l.nest.Reads {
		r := &l.nest.Reads[i]
		if r.Name == "" || slices.ContainsFunc(l.directives, func(m codegen.Directive) bool { return m.Verb == codegen.Stage && m.Name == r.Name }) ||
			!slices.ContainsFunc(l.nest.Sums, func(s model.SumFacts) bool { return slices.Contains(s.Reads, i) && s.Updates >= 4*r.Count }) {
			continue
		}
		lane := ""
		for _, name := range l.order {
			if l.axes[name].kind == codegen.Vectors && l.along(r, name) {
				lane = name
			}
		}
		for _, at := range append([]string{codegen.Root}, l.loops()...) {
			m := codegen.Directive{Verb: codegen.Stage, Name: r.Name, At: at}
			box := m
			box.Box = true
			out = append(out, append(slices.Clone(l.directives), box))
			if m.Axes = l.layout(r, at); len(m.Axes) > 0 {
				m.Vector = lane
				out = append(out, append(slices.Clone(l.directives), m))
			}
		}
	}
	return out
}

// along says whether an access depends on a loop.
func (l *list) along(r *model.ReadFacts, loop string) bool {
	return slices.ContainsFunc(l.axes[loop].of, func(x string) bool {
		_, ok := r.Strides[x]
		return ok
	})
}

// layout is the order of what is staged at a loop: the loops inside it in their order, those of sums before registers and lanes.
func (l *list) layout(r *model.ReadFacts, at string) (out []string) {
	inner := l.order
	if at != codegen.Root {
		inner = l.order[slices.Index(l.order, at)+1:]
	}
	var last []string
	for _, name := range inner {
		switch a := l.axes[name]; {
		case !l.along(r, name):
		case a.kind == codegen.Tiles || a.kind == codegen.Vectors:
			last = append(last, name)
		default:
			out = append(out, name)
		}
	}
	for _, s := range l.nest.Sums {
		for _, a := range s.Axes {
			for _, name := range []string{a.Name, a.Name + ".0", a.Name + ".1"} {
				if _, ok := l.axes[name]; ok && l.along(r, name) && !slices.Contains(l.order, name) && !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
	}
	return append(out, last...)
}
