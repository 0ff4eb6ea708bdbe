package codegen_test

import (
	"math/rand/v2"
	"testing"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// gen makes random Specs.
type gen struct {
	*kit
	rnd *rand.Rand
	d   dtype.DType
}

func (g *gen) pick(n ...int) int { return n[g.rnd.IntN(len(n))] }

// dims are small sizes, rarely 0, often odd.
func (g *gen) dims(rank int) []int {
	out := make([]int, rank)
	for i := range out {
		out[i] = g.pick(1, 2, 3, 5, 8, 9, 17)
		if g.rnd.IntN(30) == 0 {
			out[i] = 0
		}
	}
	return out
}

// access loads a new array by some of the ranges, shuffled, shifted under a gate, or flipped.
func (g *gen) access(ranges []*uop.UOp) *uop.UOp {
	var index []*uop.UOp
	var dims []int
	gate := g.True()
	for _, i := range g.rnd.Perm(len(ranges)) {
		r := ranges[i]
		n := r.Arg().(uop.RangeArg).N
		switch g.rnd.IntN(7) {
		case 0: // broadcast
		case 4: // each twice, or every second twice
			if g.rnd.IntN(3) == 0 {
				r = r.Add(r.Mod(g.Index(3)))
				n += 2
			}
			index, dims = append(index, r.IDiv(g.Index(2))), append(dims, (n+1)/2)
		case 1: // padding
			x := r.Add(g.Index(-1))
			gate = gate.And(g.inside(x, max(n-2, 0)))
			index, dims = append(index, x), append(dims, max(n-2, 0))
		case 2: // flipped
			index, dims = append(index, g.Index(n-1).Add(r.Neg())), append(dims, n)
		case 3: // every second
			index, dims = append(index, r.Mul(g.Index(2))), append(dims, max(2*n-1, 0))
		default:
			index, dims = append(index, r), append(dims, n)
		}
	}
	if len(ranges) >= 2 && g.rnd.IntN(4) == 0 { // a window
		a, b := ranges[0], ranges[len(ranges)-1]
		index = append(index, a.Add(b))
		dims = append(dims, a.Arg().(uop.RangeArg).N+b.Arg().(uop.RangeArg).N)
	}
	p := g.param(g.d, false, dims...)
	return g.loadIf(p, gate, index...)
}

func (g *gen) combine(x, y *uop.UOp) *uop.UOp {
	switch g.rnd.IntN(5) {
	case 0:
		return x.Add(y)
	case 1:
		return x.Max(y)
	case 2:
		return x.Less(y).Where(x, y)
	case 3:
		return x.Sub(y)
	}
	return x.Mul(y)
}

// value is an expression over ranges, with reductions inside.
func (g *gen) value(ranges []*uop.UOp, depth int) *uop.UOp {
	x := g.access(ranges)
	for range g.rnd.IntN(3) {
		x = g.combine(x, g.access(ranges))
	}
	if depth == 0 || g.rnd.IntN(4) == 0 {
		return x
	}
	own := g.rngs(g.dims(1 + g.rnd.IntN(2))...)
	sub := ranges
	if g.rnd.IntN(2) == 0 {
		sub = ranges[:g.rnd.IntN(len(ranges)+1)]
	}
	in := g.value(append(append([]*uop.UOp{}, sub...), own...), depth-1)
	var r *uop.UOp
	switch g.rnd.IntN(6) {
	case 0:
		r = g.ReduceRanges(uop.MaxOf, []*uop.UOp{in}, own)
	case 1:
		r = g.ReduceRanges(uop.ArgMax, []*uop.UOp{in, own[0].Cast(dtype.I32)}, own[:1]).Part(1).Cast(g.d)
		if len(own) > 1 {
			r = g.sum(r, own[1])
		}
	default:
		r = g.sum(in, own...)
	}
	return g.combine(x, r)
}

func randomKit(rnd *rand.Rand) *kit {
	types := []dtype.DType{dtype.F32, dtype.F32, dtype.F32, dtype.F64, dtype.I32, dtype.I16, dtype.U8, dtype.I64}
	g := &gen{newKit(), rnd, types[rnd.IntN(len(types))]}
	axes := g.rngs(g.dims(1 + rnd.IntN(3))...)
	var dims []int
	for _, r := range axes {
		dims = append(dims, r.Arg().(uop.RangeArg).N)
	}
	for range 1 + rnd.IntN(2) {
		o := g.param(g.d, true, dims...)
		g.out(o, axes, g.value(axes, 2))
	}
	return g.kit
}

// randomDirectives tries directives one by one and keeps the legal ones.
func randomDirectives(rnd *rand.Rand, s *codegen.Spec) []codegen.Directive {
	names := []string{"a0", "a1", "a2", "r0.a", "r0.b", "r1.a", "r2.a", "r3.a"}
	var directives []codegen.Directive
	for range 12 {
		n := names[rnd.IntN(len(names))]
		m := codegen.Directive{Name: n}
		switch rnd.IntN(8) {
		case 0, 1, 2:
			m.Verb, m.N, m.Tail = codegen.Split, []int{2, 4, 8, 16}[rnd.IntN(4)], codegen.Tail(rnd.IntN(4))
		case 3:
			m.Verb = codegen.Tiles
		case 4, 5:
			m.Verb = codegen.Vectors
		case 6:
			m.Verb = codegen.Threads
		case 7:
			m = codegen.Directive{Verb: codegen.Fuse, Axes: []string{n, names[rnd.IntN(len(names))]}}
		}
		try := append(append([]codegen.Directive{}, directives...), m)
		if lower.Legal(s, try, target()) == nil {
			directives = try
			if m.Verb == codegen.Split {
				names = append(names, m.Name+".0", m.Name+".1", m.Name+".1")
			}
		}
	}
	return directives
}

func TestRandom(t *testing.T) {
	var jobs []*job
	var want [][]array
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 77))
		for _, kind := range []string{"none", "chosen", "random"} {
			k := randomKit(rand.New(rand.NewPCG(seed, 99)))
			if p, _ := lowered(t, k.s, nil); p.Flops > 1e5 {
				continue
			}
			bufs := k.random(rand.New(rand.NewPCG(seed, 3)))
			w := clone(bufs)
			define(t, k.s, w)
			var m []codegen.Directive
			switch kind {
			case "chosen":
				m = model.Choose(k.s, target())
			case "random":
				m = randomDirectives(rnd, k.s)
			}
			jobs, want = append(jobs, &job{k.s, m, bufs}), append(want, w)
		}
	}
	check(t, "random", jobs, want, 1e-4)
}
