package sizes

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

var ctx = context.Background()

// value is what is known of a value of a program, whatever the sizes are.
type value struct {
	id   int
	dims []dim
	d    dtype.DType
	unit float64 // of floats that no order of summation changes: multiples of it; 0: others
	mag  float64 // the most that elements are apart from 0
	err  float64 // how far floats may be apart, in roundings of 1
}

func (v value) fixed() bool {
	return !slices.ContainsFunc(v.dims, func(d dim) bool { return !d.fixed() })
}

// exact says that two ways to compute a value give the same bits.
func (v value) exact() bool { return !v.d.IsFloat() || v.unit > 0 }

func (v value) numel() int {
	n := 1
	for _, d := range v.dims {
		n *= d.most()
	}
	return n
}

func (v value) String() string {
	var dims []string
	for _, d := range v.dims {
		dims = append(dims, d.String())
	}
	s := fmt.Sprintf("%v[%s]", v.d, strings.Join(dims, " "))
	if v.exact() {
		s += " exact"
	}
	return s
}

// step computes a value of others.
type step struct {
	name string
	in   []int
	text string // the arguments
	out  value
	do   func(e *env, in []*tensor.Tensor) *tensor.Tensor
	leaf *leaf
	kept bool // a result, whatever comes of it: an assignment
}

// leaf is what a program is given: an input of each run, or a state that all share.
type leaf struct {
	id    int
	state bool
	flat  bool // made as one row of elements
	from  int  // of integers: the least, and how many there are
	n     int
	wrong bool // some index may be outside
}

// program is a list of steps; those that only b and t tell apart.
type program struct {
	seed    uint64
	steps   []step
	results []int
	cache   int  // the leaf that the first result becomes; -1: there is none
	apart   bool // results are realized one by one
	sizes   [][2]int
}

// env is a run of a program.
type env struct {
	b, t   int
	run    int
	seed   uint64
	engine *engine.Engine
	states map[int]*tensor.Tensor
	fed    map[int]*tensor.Tensor
}

func (e *env) at(d dim) int { return d.at(e.b, e.t) }

func (e *env) shape(ds []dim) []int {
	out := make([]int, len(ds))
	for i, d := range ds {
		out[i] = e.at(d)
	}
	return out
}

// leaf makes the array of a leaf.
func (e *env) leaf(l *leaf, v value) *tensor.Tensor {
	if t := e.fed[l.id]; t != nil && slices.Equal(t.Shape(), e.shape(v.dims)) {
		return t
	}
	if t := e.states[l.id]; t != nil {
		return t
	}
	run := e.run
	if l.state {
		run = -1
	}
	r := rand.New(rand.NewPCG(e.seed, uint64(1000*(run+1)+l.id)))
	shape := e.shape(v.dims)
	n := 1
	for _, k := range shape {
		n *= k
	}
	unit := v.unit
	if unit == 0 {
		unit = 0.25
	}
	var raw []byte
	wrong := l.wrong && run%3 == 2 && n > 0
	at := 0
	if wrong {
		at = r.IntN(n)
	}
	for i := range n {
		x := l.from + r.IntN(l.n)
		if wrong && i == at {
			x = 1000 + i
		}
		switch v.d {
		case dtype.F32:
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)*float32(unit)))
		case dtype.I32:
			raw = binary.LittleEndian.AppendUint32(raw, uint32(int32(x)))
		case dtype.Bool:
			raw = append(raw, byte(x&1))
		}
	}
	made := shape
	if l.flat {
		made = []int{n}
	}
	u, err := e.engine.FromBytes(v.d, made, raw)
	if err != nil {
		panic(err)
	}
	t := tensor.FromNode(u, e.engine).Reshape(shape...)
	if l.state {
		e.states[l.id] = t
	}
	return t
}

// run builds the graph for given sizes. What it panics with is what tensor.Try gives.
func (p *program) run(e *env) (outs []*tensor.Tensor) {
	values := map[int]*tensor.Tensor{}
	for _, s := range p.steps {
		if s.leaf != nil {
			values[s.out.id] = e.leaf(s.leaf, s.out)
			continue
		}
		in := make([]*tensor.Tensor, len(s.in))
		for i, id := range s.in {
			in[i] = values[id]
		}
		t := s.do(e, in)
		if want := e.shape(s.out.dims); !slices.Equal(want, t.Shape()) || t.DType() != s.out.d {
			panic(fmt.Sprintf("%s gives %v%v, not %v%v", s.name, t.DType(), t.Shape(), s.out.d, want))
		}
		values[s.out.id] = t
	}
	for _, id := range p.results {
		outs = append(outs, values[id])
	}
	return outs
}

// live is the program without what no result needs.
func (p *program) live() *program {
	q := *p
	q.steps = nil
	need := map[int]bool{}
	for _, id := range p.results {
		need[id] = true
	}
	for _, s := range slices.Backward(p.steps) {
		if !need[s.out.id] && !(s.leaf != nil && s.leaf.id == p.cache) {
			continue
		}
		for _, id := range s.in {
			need[id] = true
		}
		q.steps = append(q.steps, s)
	}
	slices.Reverse(q.steps)
	return &q
}

func (p *program) value(id int) value {
	return p.steps[slices.IndexFunc(p.steps, func(s step) bool { return s.out.id == id })].out
}

func (p *program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\n", p.seed)
	for _, s := range p.steps {
		var in []string
		for _, id := range s.in {
			in = append(in, fmt.Sprint("v", id))
		}
		if s.text != "" {
			in = append(in, s.text)
		}
		fmt.Fprintf(&b, "  v%d = %s(%s)  // %v\n", s.out.id, s.name, strings.Join(in, ", "), s.out)
	}
	fmt.Fprintf(&b, "  results %v", p.results)
	if p.cache >= 0 {
		fmt.Fprintf(&b, ", the first becomes leaf %d", p.cache)
	}
	if p.apart {
		b.WriteString(", one by one")
	}
	fmt.Fprintf(&b, "\n  sizes [b t]: %v\n", p.sizes)
	return b.String()
}
