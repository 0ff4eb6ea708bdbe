package large

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// judge compares an engine with the reference.
type judge struct {
	device string
	engine *engine.Engine
	truth  *engine.Engine // INTERP in float64, every node stored, no directives
}

// newJudge opens the device with fences and poison, and the reference.
func newJudge(device string, o engine.Options) (*judge, error) {
	truth, err := opened("INTERP", " AS TRUTH", engine.Options{NoOpt: true, StoreAll: true, Unchecked: true})
	if err != nil {
		return nil, err
	}
	o.Poison, o.Fence = true, true
	name := " UNDER TEST " + strings.ToUpper(o.CC)
	if o.NoOpt {
		name += " NOOPT"
	}
	if o.StoreAll {
		name += " STOREALL"
	}
	e, err := opened(device, name, o)
	if err != nil {
		return nil, err
	}
	return &judge{device, e, truth}, nil
}

// opened opens a device under a name of its own, with its own options.
func opened(device, suffix string, o engine.Options) (*engine.Engine, error) {
	b, ok := engine.Find(device)
	if !ok {
		return nil, &engine.UnknownDevice{Name: device, Known: engine.Names()}
	}
	name := device + suffix
	if _, ok := engine.Find(name); !ok {
		b.Name, b.Rank = name, 0
		engine.Register(b)
	}
	engine.Configure(o, name)
	return engine.Use(name)
}

// on gives a function that puts leaves on an engine.
func on(e *engine.Engine) func([]float64, dtype.DType, []int) T {
	return func(data []float64, d dtype.DType, shape []int) T {
		u, err := e.FromBytes(d, shape, encode(d, data))
		if err != nil {
			panic(err)
		}
		return tensor.FromNode(u, e)
	}
}

// read gives the elements of tensors.
func read(ctx context.Context, ts []T) ([][]float64, error) {
	var out [][]float64
	for _, t := range ts {
		raw, err := t.Bytes(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, decode(t.DType(), raw))
	}
	return out, nil
}

// truth runs a program on the reference. With move set, its leaves are a little off.
func (j *judge) reference(ctx context.Context, p *program, d dtype.DType, move func() float64) ([][]float64, error) {
	b := newBuild(p, d)
	b.place, b.move = on(j.truth), move
	engine.Configure(engine.Options{}, j.truth.Name()) // for what is made of constants alone
	roots := b.run()
	if err := tensor.Realize(ctx, roots...); err != nil {
		return nil, err
	}
	return read(ctx, roots)
}

// tested runs a program on the device as its way says.
func (j *judge) tested(ctx context.Context, p *program) ([][]float64, []T, error) {
	b := newBuild(p, p.dtype)
	b.place = on(j.engine)
	engine.Configure(engine.Options{}, j.engine.Name())
	roots := b.run()
	switch p.way {
	case 0:
		if err := tensor.Realize(ctx, roots...); err != nil {
			return nil, nil, err
		}
	case 1: // one after the other, the last first
		for i := len(roots) - 1; i >= 0; i-- {
			if _, err := roots[i].Bytes(ctx); err != nil {
				return nil, nil, err
			}
		}
	case 2: // half way
		if v, ok := b.values[b.order[len(b.order)/2]]; ok {
			if err := v.t.Realize(ctx); err != nil {
				return nil, nil, err
			}
		}
	case 3: // captured, run on other numbers first
		return j.captured(ctx, p, b)
	}
	out, err := read(ctx, roots)
	return out, roots, err
}

func (j *judge) captured(ctx context.Context, p *program, b *build) ([][]float64, []T, error) {
	f, err := tensor.Capture(ctx, func(in ...T) []T {
		c := newBuild(p, p.dtype)
		c.given = in
		return c.run()
	}, b.leaves...)
	if err != nil && strings.Contains(err.Error(), "computes nothing") {
		roots := b.run()
		out, err := read(ctx, roots)
		return out, roots, err
	}
	if err != nil {
		return nil, nil, err
	}
	other := make([]T, len(b.leaves))
	for i, l := range b.leaves {
		data := make([]float64, len(b.data[i]))
		for k := range data { // the same numbers in another order, which indices allow too
			data[k] = b.data[i][len(data)-1-k]
		}
		other[i] = on(j.engine)(data, l.DType(), l.Shape())
	}
	first, err := f.Run(ctx, other...)
	if err != nil {
		return nil, nil, err
	}
	second, err := f.Run(ctx, b.leaves...)
	if err != nil {
		return nil, nil, err
	}
	if _, err := read(ctx, first); err != nil {
		return nil, nil, err
	}
	out, err := read(ctx, second)
	return out, second, err
}

// check says what is wrong with a program on the device, "" for nothing.
func (j *judge) check(ctx context.Context, p *program) (fault string) {
	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Sprintf("panic: %v", r)
			if _, ok := r.(error); !ok {
				fault += "\n" + string(debug.Stack())
			}
		}
	}()
	if p.way == 5 && p.turn == 0 { // several times, with other numbers in the graph
		defer func() { p.turn = 0 }()
		for ; p.turn < 4; p.turn++ {
			if s := j.once(ctx, p); s != "" {
				return fmt.Sprintf("turn %d: %s", p.turn, s)
			}
		}
		return ""
	}
	return j.once(ctx, p)
}

// once is one turn.
func (j *judge) once(ctx context.Context, p *program) string {
	got, roots, err := j.tested(ctx, p)
	if err != nil && p.dtype == dtype.F64 && strings.Contains(err.Error(), "the target lacks it") {
		return "" // WEBGPU has no float64, and says so
	}
	if err != nil {
		return "error: " + err.Error()
	}
	fault, err := j.against(ctx, p, got, roots)
	if err != nil {
		return "reference: " + err.Error()
	}
	return fault
}

// against compares results with the reference.
func (j *judge) against(ctx context.Context, p *program, got [][]float64, roots []T) (string, error) {
	d := dtype.F64
	if p.fill == 1 { // what does not fit the type is part of it
		d = p.dtype
	}
	want, err := j.reference(ctx, p, d, nil)
	if err != nil {
		return "", err
	}
	n, fault := compare(got, want, roots, func(i int) tolerance {
		if p.exact {
			return tolerance{exact: true}
		}
		return newTolerance(want[i], nil, nil, epsilon(p.dtype))
	})
	if n < 0 || p.exact {
		return fault, nil
	}
	off, err := j.wobble(ctx, p, want) // how much it may be
	if err != nil {
		return "", err
	}
	rough, err := j.reference(ctx, p, p.dtype, nil)
	if err != nil {
		return "", err
	}
	_, fault = compare(got, want, roots, func(i int) tolerance { return newTolerance(want[i], off[i], rough[i], epsilon(p.dtype)) })
	return fault, nil
}

// compare gives the first root that is off, −1 for none.
func compare(got, want [][]float64, roots []T, of func(i int) tolerance) (int, string) {
	for i := range want {
		if len(got[i]) != len(want[i]) {
			return i, fmt.Sprintf("root %d: %d elements, want %d", i, len(got[i]), len(want[i]))
		}
		if s := of(i).compare(got[i], want[i]); s != "" {
			return i, fmt.Sprintf("root %d %v%v: %s", i, roots[i].DType(), roots[i].Shape(), s)
		}
	}
	return -1, ""
}

// moved is by how much leaves are off when it is found out what that does.
const moved = 1.0 / (1 << 17)

// wobble says how far elements go when leaves are a little off.
func (j *judge) wobble(ctx context.Context, p *program, want [][]float64) ([][]float64, error) {
	off := make([][]float64, len(want))
	for i := range want {
		off[i] = make([]float64, len(want[i]))
	}
	for k := range uint64(3) {
		r := rand.New(rand.NewPCG(p.seed, 1000+k))
		again, err := j.reference(ctx, p, dtype.F64, func() float64 { return 1 + moved*(2*r.Float64()-1) })
		if err != nil {
			return nil, err
		}
		for i := range want {
			for n := range want[i] {
				d := math.Abs(again[i][n] - want[i][n])
				if !(d <= off[i][n]) {
					off[i][n] = d
				}
			}
		}
	}
	return off, nil
}

func epsilon(d dtype.DType) float64 {
	if d == dtype.F64 {
		return 1.0 / (1 << 50)
	}
	return 1.0 / (1 << 23)
}

// tolerance is how far elements may be off.
type tolerance struct {
	exact   bool
	eps     float64
	off     []float64 // how far each goes when leaves are moved
	round   []float64 // how far each is off without any optimisation, in the type of the program
	typical float64   // the same of most elements
	rounds  float64
	size    float64 // how large they are
}

func newTolerance(want, off, rough []float64, eps float64) tolerance {
	t := tolerance{eps: eps, off: off}
	if rough != nil {
		t.round = make([]float64, len(want))
	}
	n, s := 0., 0.
	for i, w := range want {
		if rough != nil {
			t.round[i] = math.Abs(rough[i] - w)
		}
		if w-w == 0 {
			n, s = n+1, s+w*w
		}
	}
	if n > 0 {
		t.size, t.typical, t.rounds = math.Sqrt(s/n), usual(off), usual(t.round)
	}
	return t
}

// usual is what nine in ten do not exceed.
func usual(x []float64) float64 {
	s := slices.Clone(x)
	s = slices.DeleteFunc(s, func(v float64) bool { return v-v != 0 })
	if len(s) == 0 {
		return 0
	}
	slices.Sort(s)
	return s[len(s)*9/10]
}

// compare names the first element that is off, and how many are.
func (t tolerance) compare(got, want []float64) string {
	bad, first := 0, -1
	for i, w := range want {
		if !t.near(i, got[i], w) {
			if first < 0 {
				first = i
			}
			bad++
		}
	}
	if bad == 0 {
		return ""
	}
	s := fmt.Sprintf("%d of %d off, the first is %d: %v, want %v", bad, len(want), first, got[first], want[first])
	if t.off != nil {
		s += fmt.Sprintf(" (it moves by %g, others %g of %g)", t.off[first], t.typical, t.size)
	}
	return s
}

func (t tolerance) near(i int, got, want float64) bool {
	if got == want || got != got && want != want {
		return true
	}
	if t.exact {
		return false
	}
	limit := 64 * t.eps * (math.Abs(want) + t.size + 1.0/8) // values on the way were about 1 before they cancelled
	if t.off == nil {
		return math.Abs(got-want) <= limit
	}
	d := t.off[i]
	if d != d || math.IsInf(d, 0) || want-want != 0 {
		return true // on the edge of something
	}
	limit += 64 * t.eps / moved * (d + t.typical)
	if r := t.round[i]; r-r == 0 {
		limit += 16 * (r + t.rounds)
	}
	return math.Abs(got-want) <= limit
}
