package tune

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/model"
)

// Sizes that lists are made of. What a target can do of it Legal says.
const (
	sharedWork = 1 << 15 // operations from which on threads are tried
	sharedMost = 32      // iterations that the axis of the threads should have
	longLanes  = 1024    // of vectors of any length
	mostAxes   = 3       // that lanes are tried along
)

// form is a way to run a nest in neutral words: who gets which part of which axis. write says it in the directives of a target.
type form struct {
	lanes     string // the axis along which neighbours run at once; "": none
	width     int
	registers []part // several results are kept at a time
	sum       int    // lanes of sums that do not run over those of the outputs; 0: none
	share     bool
}

type part struct {
	axis string
	n    int
}

// forms lists ways to run a nest, the likely ones first: neighbours in memory run at once, and registers hold what uses the same
// operands.
func forms(nest *model.NestFacts, share bool) (out []form) {
	share = share || work(nest) > sharedWork
	for _, lanes := range laneAxes(nest) {
		for _, width := range widths(nest, lanes) {
			for _, regs := range registers(nest, lanes) {
				sums := []int{0}
				if slices.ContainsFunc(nest.Sums, func(s model.SumFacts) bool { return !slices.Contains(s.Over, lanes) }) {
					sums = []int{4 * max(1, nest.Lanes), max(1, nest.Lanes), 0}
					if nest.Lanes == 0 {
						sums = []int{longLanes, 0}
					}
				}
				for _, sum := range sums {
					out = append(out, form{lanes, width, regs, sum, share})
				}
			}
		}
	}
	return out
}

// work is how many operations a nest has, of which loads and updates of sums are taken to be the most.
func work(nest *model.NestFacts) (n int) {
	for _, a := range slices.Concat(nest.Reads, nest.Writes) {
		n += a.Count
	}
	for _, s := range nest.Sums {
		n += s.Updates
	}
	return n
}

// laneAxes are the axes of outputs that lanes may run along, those first along which most accesses are dense, and none.
func laneAxes(nest *model.NestFacts) []string {
	type scored struct {
		name  string
		score int
	}
	var list []scored
	for _, a := range nest.Axes {
		if !a.Own || a.N < 2 {
			continue
		}
		s := scored{a.Name, 0}
		for _, x := range slices.Concat(nest.Reads, nest.Writes) {
			switch n, ok := x.Stride(a.Name); {
			case ok && n == 1:
				s.score += 4
			case ok && n == 0:
				s.score++
			default:
				s.score -= 2
			}
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b scored) int { return b.score - a.score })
	var out []string
	for _, s := range list[:min(len(list), mostAxes)] {
		out = append(out, s.name)
	}
	return append(out, "")
}

func size(nest *model.NestFacts, axis string) int {
	for _, a := range nest.Axes {
		if a.Name == axis {
			return a.N
		}
	}
	return 1
}

// widths are how many lanes are tried along an axis.
func widths(nest *model.NestFacts, axis string) (out []int) {
	n := size(nest, axis)
	switch w := nest.Lanes; {
	case axis == "":
		return []int{1}
	case w == 0:
		for _, k := range []int{n, longLanes, longLanes / 4} {
			if k = min(k, n); !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	case n < w:
		return []int{n}
	default:
		for _, k := range []int{w, 2 * w, 4 * w} {
			if k <= n {
				out = append(out, k)
			}
		}
	}
	return out
}

// registers are how many results of which axes are held at a time: along axes of which some operand is independent, so that it
// is used for all of them.
func registers(nest *model.NestFacts, lanes string) [][]part {
	out := [][]part{nil}
	var reused []string
	for _, a := range nest.Axes {
		if a.Own && a.Name != lanes && a.N > 1 && slices.ContainsFunc(nest.Reads, func(x model.AccessFacts) bool { return !x.Along[a.Name] }) {
			reused = append(reused, a.Name)
		}
	}
	if len(nest.Sums) == 0 {
		return out
	}
	for i, a := range reused {
		for _, n := range []int{4, 8, 2} {
			if n <= size(nest, a) {
				out = append(out, []part{{a, n}})
			}
		}
		for _, b := range reused[i+1:] {
			if size(nest, a) >= 2 && size(nest, b) >= 4 {
				out = append(out, []part{{a, 2}, {b, 4}})
			}
		}
	}
	return out
}

// write says a form in directives for a target with vectors and threads.
func (f form) write(nest *model.NestFacts) []codegen.Directive {
	l := read(nest, nil)
	var directives []codegen.Directive
	if len(f.registers) > 0 {
		for _, name := range nest.Finite {
			directives = append(directives, codegen.Directive{Verb: codegen.Finite, Name: name})
		}
	}
	inner := map[string]string{}
	cut := func(name string, n int, kind codegen.Verb) {
		a := l.axes[name]
		if n < a.n {
			directives = append(directives, codegen.Directive{Verb: codegen.Split, Name: name, N: n, Tail: l.rest(a, n, kind == codegen.Vectors)})
			inner[name], name = name+".1", name+".1"
		} else {
			inner[name] = name
		}
		directives = append(directives, codegen.Directive{Verb: kind, Name: name})
	}
	for _, r := range f.registers {
		cut(r.axis, r.n, codegen.Tiles)
	}
	if f.lanes != "" && f.width > 1 {
		cut(f.lanes, f.width, codegen.Vectors)
	}
	for _, s := range nest.Sums {
		if f.sum > 1 && (f.lanes == "" || !slices.Contains(s.Over, f.lanes)) {
			if x := denseAxis(nest, &s); x.N > 1 && inner[x.Name] == "" {
				cut(x.Name, min(f.sum, x.N), codegen.Vectors)
			}
		}
	}
	l = read(nest, directives)
	var outer, within []string
	for _, name := range l.order {
		if k := l.axes[name].kind; k == codegen.Order {
			outer = append(outer, name)
		} else if k == codegen.Tiles {
			within = append(within, name)
		}
	}
	if in := inner[f.lanes]; in != "" {
		within = append(within, in)
	}
	if f.share {
		outer = share(l, &directives, outer)
	}
	if len(outer)+len(within) > 1 {
		directives = append(directives, codegen.Directive{Verb: codegen.Order, Axes: slices.Concat(outer, within)})
	}
	return directives
}

// denseAxis is the axis of a sum along which most of its operands are dense.
func denseAxis(nest *model.NestFacts, s *model.SumFacts) (best model.AxisFacts) {
	most := -1
	for _, a := range s.Axes {
		score := 0
		for _, i := range s.Reads {
			if n, ok := nest.Reads[i].Stride(a.Name); ok && n == 1 {
				score++
			}
		}
		if score > most || score == most && a.N > best.N {
			best, most = a, score
		}
	}
	return best
}

// share gives the outermost axes to threads, as many of them fused as keep many threads busy.
func share(l *list, directives *[]codegen.Directive, outer []string) []string {
	free := func(i int) bool {
		if i >= len(outer) || !l.axes[outer[i]].own {
			return false
		}
		return !slices.ContainsFunc(*directives, func(m codegen.Directive) bool {
			return m.Verb == codegen.Split && m.Tail == codegen.Peel && m.Name+".0" == outer[i]
		})
	}
	if len(outer) == 0 || !l.axes[outer[0]].own {
		return outer
	}
	if !free(0) { // peeled: it can be shared, and not fused
		*directives = append(*directives, codegen.Directive{Verb: codegen.Threads, Name: outer[0]})
		return outer
	}
	name, n := outer[0], l.axes[outer[0]].n
	rest := outer[1:]
	for k := 1; n < sharedMost && free(k); k++ {
		*directives = append(*directives, codegen.Directive{Verb: codegen.Fuse, Axes: []string{name, outer[k]}})
		name, n, rest = name+"+"+outer[k], n*l.axes[outer[k]].n, outer[k+1:]
	}
	*directives = append(*directives, codegen.Directive{Verb: codegen.Threads, Name: name})
	return append([]string{name}, rest...)
}
