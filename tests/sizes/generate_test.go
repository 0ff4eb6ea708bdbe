package sizes

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// T is short for what steps compute with.
type T = *tensor.Tensor

// generator makes a program from a seed. What it draws depends on sizes as symbols only.
type generator struct {
	*rand.Rand
	p      *program
	values []value
	leaves int
}

// mostNumel is how many elements a value may have, and mostRank how many axes.
const (
	mostNumel = 30_000
	mostRank  = 4
)

// generate makes the program of a seed.
func generate(seed uint64) *program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 77)), p: &program{seed: seed, cache: -1}}
	if g.IntN(5) == 0 {
		g.cache()
	}
	for range 1 + g.IntN(3) {
		g.leafOf(g.shape(), g.leafType())
	}
	for n := len(g.p.steps) + 3 + g.IntN(20); len(g.p.steps) < n; {
		makers[g.IntN(len(makers))].make(g)
	}
	g.results()
	g.p.apart = g.IntN(4) == 0
	for _, s := range g.p.steps {
		if s.kept && !slices.Contains(g.p.results, s.out.id) {
			g.p.results = append(g.p.results, s.out.id)
		}
	}
	g.p = g.p.live()
	g.sequence()
	return g.p
}

// results are values that are made of many others, and that nothing is made of.
func (g *generator) results() {
	size, used := make([]int, len(g.p.steps)), map[int]bool{}
	var ends []int
	for i, s := range g.p.steps {
		for _, id := range s.in {
			size[i] += size[id] + 1
			used[id] = true
		}
	}
	for i, s := range g.p.steps {
		if !used[i] && s.leaf == nil && !slices.Contains(g.p.results, i) {
			ends = append(ends, i)
		}
	}
	slices.SortFunc(ends, func(a, b int) int { return size[b] - size[a] })
	g.p.results = append(g.p.results, ends[:min(len(ends), 1+g.IntN(3))]...)
	if id := g.IntN(len(g.p.steps)); g.IntN(3) == 0 && g.p.steps[id].leaf == nil && !slices.Contains(g.p.results, id) {
		g.p.results = append(g.p.results, id)
	}
}

// alike are programs that are drawn alike: the same makers, for the same sizes.
func alike(seed uint64) (list []*program) {
	for i := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 78))
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 79+i)), p: &program{seed: seed, cache: -1}}
		g.leafOf([]dim{{b: 1}, {t: 1}, number(3)}[r.IntN(2):], dtype.F32)
		for range 1 + r.IntN(3) {
			makers[r.IntN(len(makers))].make(g)
		}
		if g.results(); len(g.p.results) == 0 {
			continue
		}
		g.p = g.p.live()
		for range 6 {
			g.p.sizes = append(g.p.sizes, [2]int{1 + g.IntN(mostB), 1 + g.IntN(30)})
		}
		list = append(list, g.p)
	}
	return list
}

// sequence draws the sizes of the runs.
func (g *generator) sequence() {
	n, kind := 6+g.IntN(5), g.IntN(6)
	t0, b0 := 1+g.IntN(20), 1+g.IntN(mostB)
	if g.p.cache >= 0 && g.IntN(2) == 0 {
		kind = 0
	}
	varies := func(of func(d dim) bool) bool {
		return slices.ContainsFunc(g.p.steps, func(s step) bool { return s.leaf != nil && slices.ContainsFunc(s.out.dims, of) })
	}
	if b := varies(func(d dim) bool { return d.b+d.bt+d.bb > 0 }); !b && kind == 2 || b && kind < 2 && g.IntN(2) == 0 {
		kind = 4
	}
	if !varies(func(d dim) bool { return d.t+d.bt+d.tt > 0 }) && kind < 2 {
		kind = 2
	}
	for i := range n {
		b, t := b0, t0
		switch kind {
		case 0: // a cache that grows
			t = t0 + i
		case 1:
			t = 1 + g.IntN(mostT)
		case 2:
			b = 1 + g.IntN(mostB)
		case 3: // small ones
			b, t = 1+g.IntN(2), 1+g.IntN(4)
		default:
			b, t = 1+g.IntN(mostB), 1+g.IntN(mostT)
		}
		if i > 0 && g.IntN(6) == 0 {
			s := g.p.sizes[g.IntN(i)]
			b, t = s[0], s[1]
		}
		g.p.sizes = append(g.p.sizes, [2]int{b, t})
	}
}

// cache has a leaf that grows by what each run adds.
func (g *generator) cache() {
	axis := g.IntN(2)
	dims := []dim{{t: 1}, {c: 3}}
	if axis == 1 {
		dims = []dim{{b: 1}, {t: 1}}
	}
	x := g.leafOf(dims, dtype.F32)
	g.p.cache = g.p.steps[len(g.p.steps)-1].leaf.id
	row := slices.Clone(dims)
	row[axis] = number(1)
	y := g.leafOf(row, dtype.F32)
	all := slices.Clone(dims)
	all[axis] = dims[axis].plus(number(1))
	out := g.add("Cat", []value{x, y}, fmt.Sprint("axis ", axis), value{dims: all, d: x.d, unit: x.unit, mag: x.mag}, func(_ *env, in []T) T {
		return tensor.Cat(axis, in...)
	})
	g.p.results = []int{out.id}
}

func (g *generator) leafType() dtype.DType {
	return []dtype.DType{dtype.F32, dtype.F32, dtype.F32, dtype.F32, dtype.I32, dtype.Bool}[g.IntN(6)]
}

// size draws how long an axis is.
func (g *generator) size() dim {
	switch g.IntN(12) {
	case 0, 1, 2, 3:
		return dim{t: 1}
	case 4, 5:
		return dim{b: 1}
	case 6:
		return dim{t: 1, c: 1}
	case 7:
		return []dim{{t: 2}, {b: 2}, {t: 3}, {t: 1, c: 2}, {t: 2, c: 1}, {t: 1, b: 1}}[g.IntN(6)]
	case 8:
		return number(1)
	}
	return number(2 + g.IntN(4))
}

func (g *generator) shape() (out []dim) {
	for range 1 + g.IntN(3) {
		out = append(out, g.size())
	}
	return out
}

// leafOf is a new input.
func (g *generator) leafOf(dims []dim, d dtype.DType) value {
	l := &leaf{id: g.leaves, from: -8, n: 17, flat: g.IntN(4) == 0}
	v := value{dims: dims, d: d, mag: 8}
	if d == dtype.F32 {
		v.unit, v.mag = 0.25, 2
	}
	return g.leaf(l, v)
}

// indices are an input of numbers from 0 to n−1.
func (g *generator) indices(dims []dim, n int, wrong bool) value {
	return g.leaf(&leaf{id: g.leaves, n: n, wrong: wrong}, value{dims: dims, d: dtype.I32, mag: float64(n)})
}

func (g *generator) leaf(l *leaf, v value) value {
	g.leaves++
	v.id = len(g.p.steps)
	text := fmt.Sprint(l.id)
	if l.state {
		text += " state"
	}
	if l.flat {
		text += " flat"
	}
	if v.d == dtype.I32 {
		text += fmt.Sprintf(" from %d, %d of them", l.from, l.n)
	}
	if l.wrong {
		text += ", some outside"
	}
	g.p.steps = append(g.p.steps, step{name: "Leaf", text: text, out: v, leaf: l})
	g.values = append(g.values, v)
	return v
}

// add is a new step.
func (g *generator) add(name string, in []value, text string, out value, do func(e *env, in []T) T) value {
	out.id = len(g.p.steps)
	s := step{name: name, text: text, out: out, do: do}
	for _, v := range in {
		s.in = append(s.in, v.id)
	}
	if out.d == dtype.Bool {
		s.out.mag, s.out.unit, s.out.err = 1, 0, 0
	}
	if out.d.IsFloat() && s.out.unit > 0 {
		most := float64(1 << 22)
		if out.d == dtype.F16 {
			most = 1 << 10
		}
		if s.out.mag/s.out.unit > most {
			s.out.unit = 0
		}
		s.out.err = 0
	}
	if out.d == dtype.F16 && s.out.unit == 0 {
		s.out.err = max(s.out.err, s.out.mag*(1<<14))
	}
	g.p.steps = append(g.p.steps, s)
	g.values = append(g.values, s.out)
	return s.out
}

// pick draws a value that fits, the newer the likelier.
func (g *generator) pick(fits func(v value) bool) (value, bool) {
	for range 12 {
		i := len(g.values) - 1 - g.IntN(len(g.values))
		if g.IntN(3) > 0 {
			i = len(g.values) - 1 - g.IntN(min(3, len(g.values)))
		}
		if fits(g.values[i]) {
			return g.values[i], true
		}
	}
	return value{}, false
}

func small(dims []dim) bool {
	return len(dims) <= mostRank && value{dims: dims}.numel() <= mostNumel
}

func isFloat(v value) bool { return v.d == dtype.F32 }
func isInt(v value) bool   { return v.d == dtype.I32 }
func isExact(v value) bool { return (v.d == dtype.F32 || v.d == dtype.I32) && v.exact() }
func isNumber(v value) bool {
	return v.d == dtype.F32 || v.d == dtype.I32
}

// float picks one of f32, with as many axes at least.
func (g *generator) float(rank int) (value, bool) {
	return g.pick(func(v value) bool { return v.d == dtype.F32 && len(v.dims) >= rank })
}

// any picks any value with as many axes at least.
func (g *generator) any(rank int) (value, bool) {
	return g.pick(func(v value) bool { return len(v.dims) >= rank })
}

// axis draws one of a value.
func (g *generator) axis(v value) int { return g.IntN(len(v.dims)) }

// like is a float of another shape that no longer is exact.
func like(v value, dims []dim, mag, err float64) value {
	return value{dims: dims, d: v.d, mag: mag, err: err}
}

// moved is a value in another shape.
func moved(v value, dims ...dim) value {
	v.dims = dims
	return v
}

// roughly is how far something is apart whose operands are: err of each, and its own rounding.
func roughly(v value, slope, mag float64) float64 { return v.err*slope + 4*mag + 1 }

// broadcast is the shape of both; ok: they fit whatever the sizes are.
func broadcast(a, b []dim) (out []dim, ok bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out = slices.Clone(a)
	for i := range b {
		x, y := &out[len(a)-len(b)+i], b[i]
		switch {
		case *x == y || y == number(1):
		case *x == number(1):
			*x = y
		default:
			return nil, false
		}
	}
	return out, true
}

// partner picks a value of the same type that fits to v, or has it be an input.
func (g *generator) partner(v value) (value, []dim) {
	var dims []dim
	w, ok := g.pick(func(w value) bool {
		d, ok := broadcast(v.dims, w.dims)
		dims = d
		return ok && w.d == v.d && w.id != v.id && small(d)
	})
	if ok {
		return w, dims
	}
	if v.d != dtype.F32 && v.d != dtype.I32 && v.d != dtype.Bool {
		return v, v.dims
	}
	of := slices.Clone(v.dims)
	if g.IntN(2) == 0 && len(of) > 0 {
		of = of[g.IntN(len(of)):]
	}
	for i := range of {
		if g.IntN(4) == 0 {
			of[i] = number(1)
		}
	}
	return g.leafOf(of, v.d), v.dims
}
