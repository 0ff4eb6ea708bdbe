package large

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
)

// line is a program along a direction in which its leaves are moved.
type line struct {
	*judge
	p    *program
	seed []float64 // weights of the elements of the result
	r    *rand.Rand
}

// loss is that of the program with its leaves moved by h, nil where it has none, the leaves that are floats, and what moves them by 1.
func (l *line) loss(h float64) (loss T, to []T, way [][]float64) {
	var moves []float64
	u := rand.New(rand.NewPCG(l.p.seed, 98))
	b := newBuild(l.p, dtype.F64)
	b.place = on(l.engine)
	b.move = func() float64 {
		d := 2*u.Float64() - 1
		moves = append(moves, d)
		return 1 + h*d
	}
	roots := b.run()
	y := roots[len(roots)-1]
	if !y.IsFloat() || y.Numel() == 0 {
		return nil, nil, nil
	}
	for len(l.seed) < y.Numel() {
		l.seed = append(l.seed, l.r.Float64()*2-1)
	}
	for i, t := range b.leaves {
		if t.IsFloat() {
			n := len(b.data[i])
			v := make([]float64, n)
			for k := range v {
				v[k] = b.data[i][k] * moves[k] / (1 + h*moves[k])
			}
			to, way, moves = append(to, t), append(way, v), moves[n:]
		}
	}
	return y.To(dtype.F64).Mul(on(l.engine)(l.seed[:y.Numel()], dtype.F64, y.Shape())).Sum(), to, way
}

// slope is the derivative by the gradient.
func (l *line) slope(ctx context.Context) (float64, error) {
	loss, to, way := l.loss(0)
	if loss == nil {
		return math.NaN(), nil
	}
	gs, err := read(ctx, loss.Grad(to...))
	if err != nil {
		return 0, err
	}
	s := 0.
	for i, g := range gs {
		for n, v := range g {
			s += v * way[i][n]
		}
	}
	return s, nil
}

// difference is the derivative by two values h apart from the middle, and one of them.
func (l *line) difference(ctx context.Context, h float64) (slope, value float64, err error) {
	var v [2]float64
	for i, h := range []float64{h, -h} {
		loss, _, _ := l.loss(h)
		if v[i], err = loss.Item(ctx); err != nil {
			return 0, 0, err
		}
	}
	return (v[0] - v[1]) / (2 * h), v[0], nil
}

// slope compares the gradients of a program, and the gradients of gradients in it, with differences in float64.
func (j *judge) slope(ctx context.Context, p *program) (fault string) {
	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	l := &line{judge: j, p: p, r: rand.New(rand.NewPCG(p.seed, 99))}
	slope, err := l.slope(ctx)
	if err != nil {
		return "error: " + err.Error()
	}
	if slope != slope {
		return ""
	}
	best := math.Inf(1)
	var list []float64
	for _, h := range []float64{1e-4, 1e-5, 1e-6, 1e-7} {
		d, value, err := l.difference(ctx, h)
		if err != nil {
			return "error: " + err.Error()
		}
		if d != d {
			return ""
		}
		list = append(list, d)
		best = min(best, math.Abs(d-slope)/(1e-3+math.Abs(slope)+math.Abs(value)))
	}
	if !(best < 1e-4) {
		return fmt.Sprintf("slope %v, differences %v", slope, list)
	}
	return ""
}

// Gradients are slopes.
func TestSlopes(t *testing.T) {
	ctx := context.Background()
	j := open(t, *devices)
	engine.Configure(engine.Options{}, j.engine.Name())
	n := 0
	for seed := *first; n < count(8); seed++ {
		p := generate(seed)
		if p.exact {
			continue
		}
		n++
		p.dtype, p.way = dtype.F64, 0
		p.limit = 40
		fault := j.slope(ctx, p)
		if *verbose {
			t.Log(p, fault)
		}
		if fault == "" {
			continue
		}
		q := shrink(p, func(p *program) bool { return j.slope(ctx, p) != "" })
		assert.Fail(t, "wrong", "%s\n%v\nmade smaller: %s\n%v", fault, p, j.slope(ctx, q), q)
	}
}
