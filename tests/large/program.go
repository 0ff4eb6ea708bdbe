package large

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// T is short for tensors.
type T = *tensor.Tensor

// step is one layer of a program: its name in the table, the seed of its choices and the values that it takes, by the numbers of
// the steps that gave them. Choices depend on shapes, so a program stays one when steps are left out.
type step struct {
	id   int
	name string
	seed uint64
	args []int
}

// program is a list of steps, of which the last and some others are results.
type program struct {
	seed     uint64
	exact    bool        // whole numbers only: every result is exact
	dtype    dtype.DType // of the leaves
	limit    int         // no axis of a leaf is longer
	elements int         // of leaves that are drawn by themselves
	steps    []step
	roots    []int // steps whose values are results
	way      int   // how results are realized
	fill     int   // of leaves: 0 usual numbers, 1 also infinite ones, NaN and zeros of both signs
	turn     int   // which of several runs it is: numbers that shapes do not depend on differ
}

// value is a tensor and, in exact programs, a bound of its elements and of partial sums on the way.
type value struct {
	t     T
	bound float64
	leaf  int // number of the leaf that it is, −1 for none
}

// build makes the graph of a program.
type build struct {
	*rand.Rand
	p      *program
	dtype  dtype.DType
	values map[int]value
	order  []int
	leaves []T
	data   [][]float64                                        // of each leaf
	given  []T                                                // stand-ins for leaves, when captured
	move   func() float64                                     // a factor near 1 for each element of a leaf
	place  func(data []float64, d dtype.DType, shape []int) T // makes a leaf
	other  int                                                // the second operand of the step under way
}

// most is how many elements a value may have.
const most = 1 << 16

// edges are sizes at which something ends: vectors, tiles, blocks, and one more or less.
var edges = []int{1, 2, 3, 5, 7, 8, 9, 11, 13, 15, 16, 17, 23, 31, 32, 33, 37, 63, 64, 65, 96, 100, 127, 128, 129, 255, 256, 257, 511, 513, 1000, 1023, 2049, 4097, 10_007, 30_030, 65_535, 65_537, 100_003}

// size is a random size up to a limit.
func (b *build) size(limit int) int {
	limit = max(1, min(limit, b.p.limit))
	for range 8 {
		if n := edges[b.IntN(len(edges))]; n <= limit {
			return n
		}
	}
	return 1 + b.IntN(limit)
}

// small is a size that is small.
func (b *build) small(limit int) int { return b.size(min(limit, 17)) }

// shape is a random shape of so many axes.
func (b *build) shape(rank int) []int {
	s := make([]int, rank)
	n := 1
	for _, i := range b.Perm(rank) {
		s[i] = b.size(b.p.elements / n)
		n *= s[i]
	}
	return s
}

func pick[E any](b *build, from ...E) E { return from[b.IntN(len(from))] }

func (b *build) one(n int) bool { return b.IntN(n) == 0 }

// leaf makes a new leaf of floats: whole numbers from −3 to 3, or uniform ones from −1 to 1.
func (b *build) leaf(shape ...int) T {
	return b.filled(func() float64 {
		if b.p.fill == 1 && b.IntN(9) == 0 {
			return specials[b.IntN(len(specials))]
		}
		if b.p.exact {
			return float64(b.IntN(7) - 3)
		}
		return float64(float32(b.Float64()*2 - 1))
	}, true, shape...)
}

// specials are numbers that need care.
var specials = []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 0}

// number is one from 0 to n−1, another one in each turn.
func (b *build) number(n int) int {
	k := b.IntN(n)
	return (k + b.p.turn*(1+b.IntN(n))) % n
}

// weight is a leaf scaled so that sums over n stay about 1, or of whole numbers.
func (b *build) weight(n int, shape ...int) T {
	if b.p.exact {
		return b.leaf(shape...)
	}
	return b.leaf(shape...).Mul(1.7 / math.Sqrt(float64(max(1, n))))
}

func (b *build) filled(f func() float64, floats bool, shape ...int) T {
	n := 1
	for _, k := range shape {
		n *= k
	}
	data := make([]float64, n)
	for i := range data {
		data[i] = f()
		if b.move != nil && floats {
			data[i] *= b.move()
		}
	}
	k := len(b.leaves)
	var t T
	switch {
	case b.given != nil:
		t = b.given[k]
	default:
		t = b.place(data, b.leafType(floats), shape)
	}
	b.leaves = append(b.leaves, t)
	b.data = append(b.data, data)
	return t
}

func (b *build) leafType(floats bool) dtype.DType {
	if floats {
		return b.dtype
	}
	return dtype.I32
}

// indices is a leaf of numbers from 0 to n−1.
func (b *build) indices(n int, shape ...int) T {
	return b.filled(func() float64 { return float64(b.IntN(n)) }, false, shape...)
}

// newBuild prepares a build; place puts leaves on a device.
func newBuild(p *program, d dtype.DType) *build {
	return &build{p: p, dtype: d, values: map[int]value{}, place: array}
}

// array puts numbers on the default device.
func array(data []float64, d dtype.DType, shape []int) T {
	return tensor.FromBytes(d, shape, encode(d, data))
}

// run carries out all steps and gives the results. Steps that find nothing to do pass their operand on.
func (b *build) run() []T {
	for _, s := range b.p.steps {
		b.Rand = rand.New(rand.NewPCG(s.seed, uint64(s.id)))
		b.values[s.id] = b.step(s)
		b.order = append(b.order, s.id)
	}
	var out []T
	for _, r := range b.p.roots {
		if v, ok := b.values[r]; ok {
			out = append(out, v.t)
		}
	}
	if len(out) == 0 {
		out = append(out, b.values[b.order[len(b.order)-1]].t)
	}
	return out
}

// operand is the value of a step, or of one before it if that was left out.
func (b *build) operand(id int) value {
	for ; id >= 0; id-- {
		if v, ok := b.values[id]; ok {
			return v
		}
	}
	k := len(b.leaves)
	return value{b.leaf(b.shape(1 + b.IntN(4))...), 3, k}
}

func (b *build) step(s step) value {
	x := b.operand(s.args[0])
	b.other = s.args[len(s.args)-1]
	m, ok := makers[s.name]
	if !ok {
		panic("BUG: no maker " + s.name)
	}
	if x.t.Numel() == 0 && !m.empty {
		return x
	}
	y, ok := m.make(b, x)
	if !ok || y.t.Numel() > 4*most {
		return x
	}
	if b.p.exact {
		y = b.tame(y)
	}
	return y
}

// exactTo is up to where whole numbers are exact.
func exactTo(d dtype.DType) float64 {
	switch d {
	case dtype.F64:
		return 1 << 53
	case dtype.F32:
		return 1 << 24
	case dtype.F16:
		return 1 << 11
	case dtype.BF16:
		return 1 << 8
	case dtype.I8:
		return 1<<7 - 1
	case dtype.I16:
		return 1<<15 - 1
	}
	return 1<<31 - 1
}

// fits says whether whole numbers up to a bound are exact.
func (b *build) fits(bound float64) bool { return !b.p.exact || bound <= exactTo(b.p.dtype) }

// tame keeps numbers small.
func (b *build) tame(y value) value {
	switch {
	case y.bound <= 4:
		return y
	case b.one(2):
		return value{y.t.Clamp(-3, 3), 3, -1}
	case y.bound > 40 && b.p.dtype.IsFloat():
		return value{y.t.Sign(), 1, -1}
	case y.bound > 40:
		return value{y.t.Clamp(-2, 4), 4, -1}
	}
	return y
}

// generate makes the program of a seed.
func generate(seed uint64) *program {
	r := rand.New(rand.NewPCG(seed, 17))
	p := &program{seed: seed, limit: 4096, dtype: dtype.F32, way: r.IntN(6)}
	p.elements = 1 << 13
	switch r.IntN(12) {
	case 0:
		p.limit, p.elements = most, most
	case 1, 2:
		p.elements = most
	}
	p.exact = r.IntN(2) == 0
	if p.exact {
		kinds := []dtype.DType{dtype.F32, dtype.F32, dtype.F32, dtype.F64, dtype.I32, dtype.I64, dtype.I16, dtype.I8, dtype.F16, dtype.BF16}
		p.dtype = kinds[r.IntN(len(kinds))]
	}
	var names []string
	for name, m := range makers {
		for range m.weight {
			if !(p.exact && m.smooth || !p.exact && m.whole || !p.dtype.IsFloat() && m.floats) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	n := 1 + r.IntN(7)
	p.steps = append(p.steps, step{0, "leaf", r.Uint64(), []int{-1, -1}})
	for i := 1; i <= n; i++ {
		from := i - 1
		if r.IntN(4) == 0 {
			from = r.IntN(i)
		}
		p.steps = append(p.steps, step{i, names[r.IntN(len(names))], r.Uint64(), []int{from, r.IntN(i)}})
		if i == n || r.IntN(6) == 0 {
			p.roots = append(p.roots, i)
		}
	}
	return p
}

// String prints the steps with the shapes of their values.
func (p *program) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "seed %d exact %v %v limit %d way %d fill %d turn %d\n", p.seed, p.exact, p.dtype, p.limit, p.way, p.fill, p.turn)
	b := newBuild(p, p.dtype)
	func() {
		defer func() { recover() }()
		b.run()
	}()
	for _, st := range p.steps {
		fmt.Fprintf(&s, "  %2d %-14s %v seed %d", st.id, st.name, st.args, st.seed)
		if v, ok := b.values[st.id]; ok {
			fmt.Fprintf(&s, " -> %v %v", v.t.DType(), v.t.Shape())
		}
		s.WriteString("\n")
	}
	fmt.Fprintf(&s, "  roots %v\n", p.roots)
	return s.String()
}

// newRand is a generator for a seed and a name.
func newRand(seed uint64, name string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}
