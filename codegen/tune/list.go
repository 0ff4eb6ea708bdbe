package tune

import (
	"maps"
	"slices"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/model"
)

// list is a list of directives with what they make of the axes of a nest.
type list struct {
	directives []codegen.Directive
	nest       *model.NestFacts
	axes       map[string]axis
	order      []string // the loops of the outputs' nest, outermost first; a sum's loops where they were put among them
	known      bool     // every directive is one whose effect on axes is followed here
}

// axis is a loop: how long, what it is a part of, how it runs.
type axis struct {
	n    int
	of   []string // axes of the Spec
	sum  bool     // of a reduction
	own  bool
	kind codegen.Verb // Order: serial
}

// read follows directives from the axes of a Spec on.
func read(nest *model.NestFacts, directives []codegen.Directive) *list {
	l := &list{directives: directives, nest: nest, axes: map[string]axis{}, known: true}
	for _, s := range nest.Sums {
		for _, a := range s.Axes {
			l.axes[a.Name] = axis{a.N, []string{a.Name}, true, false, codegen.Order}
		}
	}
	for _, a := range nest.Axes { // and not of a sum, if it is that too
		l.axes[a.Name] = axis{a.N, []string{a.Name}, false, a.Own, codegen.Order}
		l.order = append(l.order, a.Name)
	}
	for _, m := range directives {
		l.follow(m)
	}
	return l
}

func (l *list) follow(m codegen.Directive) {
	switch m.Verb {
	case codegen.Split:
		a, ok := l.axes[m.Name]
		if !ok {
			l.known = false
			return
		}
		outer, inner := a, a
		outer.n, inner.n = (a.n+m.N-1)/m.N, m.N
		l.replace([]string{m.Name}, map[string]axis{m.Name + ".0": outer, m.Name + ".1": inner}, m.Name+".0", m.Name+".1")
	case codegen.Fuse:
		if len(m.Axes) != 2 {
			return
		}
		a, b := l.axes[m.Axes[0]], l.axes[m.Axes[1]]
		name := m.Axes[0] + "+" + m.Axes[1]
		joined := axis{a.n * b.n, slices.Concat(a.of, b.of), a.sum, a.own && b.own, codegen.Order}
		l.replace(m.Axes, map[string]axis{name: joined}, name)
	case codegen.Order:
		if len(m.Axes) > 0 && !l.axes[m.Axes[0]].sum {
			l.order = slices.Clone(m.Axes)
		}
	case codegen.Threads, codegen.Grids, codegen.Lanes, codegen.Tiles, codegen.Vectors:
		if a, ok := l.axes[m.Name]; ok {
			a.kind = m.Verb
			l.axes[m.Name] = a
		}
	case codegen.Nest:
		l.known = false
	}
}

// replace puts axes in the place of others.
func (l *list) replace(old []string, with map[string]axis, names ...string) {
	if i := slices.Index(l.order, old[0]); i >= 0 {
		l.order = slices.Replace(slices.Clone(l.order), i, i+1, names...)
	}
	for _, name := range old {
		delete(l.axes, name)
		l.order = slices.DeleteFunc(l.order, func(x string) bool { return x == name })
	}
	maps.Copy(l.axes, with)
}

// rest is what is left over where n does not divide an axis.
func (l *list) rest(a axis, n int, lanes bool) codegen.Tail {
	switch {
	case a.n%n == 0:
		return codegen.Exact
	case a.sum && lanes:
		return codegen.Peel
	case a.sum:
		return codegen.Guard
	case l.nest.Once:
		return codegen.Peel
	}
	return codegen.Shift
}

// without gives the directives but for one.
func (l *list) without(i int) []codegen.Directive {
	return slices.Delete(slices.Clone(l.directives), i, i+1)
}

// with gives the directives with one more before the order, the stages and the carries, which speak of what is there at the end, and
// with another order (nil: as it is).
func (l *list) with(order []string, more ...codegen.Directive) []codegen.Directive {
	out := make([]codegen.Directive, 0, len(l.directives)+len(more)+1)
	at := -1
	for _, m := range l.directives {
		late := m.Verb == codegen.Order || m.Verb == codegen.Stage || m.Verb == codegen.Carry
		if late && at < 0 {
			at = len(out)
		}
		if m.Verb == codegen.Order && order != nil && !l.axes[m.Axes[0]].sum {
			continue
		}
		out = append(out, m)
	}
	if at < 0 {
		at = len(out)
	}
	if order != nil {
		more = append(slices.Clone(more), codegen.Directive{Verb: codegen.Order, Axes: order})
	}
	return slices.Insert(out, at, more...)
}

// rename gives the directives with some axes called otherwise, in fused names too; those that are about the axis gone are left
// out, and so is it in lists.
func rename(directives []codegen.Directive, from, to, gone string) []codegen.Directive {
	name := func(s string) string {
		parts := strings.Split(s, "+")
		for i, p := range parts {
			if p == from {
				parts[i] = to
			}
		}
		return strings.Join(parts, "+")
	}
	var out []codegen.Directive
	for _, m := range directives {
		if m.Name == gone && m.Verb != codegen.Stage && m.Verb != codegen.Carry {
			continue
		}
		m.Name, m.At, m.Tile, m.Vector = name(m.Name), name(m.At), name(m.Tile), name(m.Vector)
		var axes []string
		for _, x := range m.Axes {
			if x != gone {
				axes = append(axes, name(x))
			}
		}
		if len(axes) < 2 && m.Verb == codegen.Fuse || len(axes) == 0 && m.Verb == codegen.Order {
			continue
		}
		m.Axes = axes
		out = append(out, m)
	}
	return out
}
