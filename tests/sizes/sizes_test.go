// Package sizes runs random programs whose arrays have ever new sizes on engines that give each combination of sizes a plan of its own, and on
// engines that have one plan for many (see package sizes of the module): what they give must be the same.
//
// WEFT_SIZES_SEEDS=n runs as many programs on each device, from WEFT_SIZES_FROM on; WEFT_SIZES_DEVICES=CPU,WASM names devices. A program that fails is
// made smaller and printed.
package sizes

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// setting is a number of the environment.
func setting(t *testing.T, name string, n int) int {
	if s := os.Getenv(name); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err, name)
	}
	return n
}

// TestOnePlanForManySizes compares both ways to run the programs of some seeds.
func TestOnePlanForManySizes(t *testing.T) {
	seeds := map[string]int{"INTERP": 90, "CPU": 3, "WASM": 6}
	if s := os.Getenv("WEFT_SIZES_DEVICES"); s != "" {
		of := map[string]int{}
		for _, name := range strings.Split(s, ",") {
			of[name] = seeds[name]
		}
		seeds = of
	}
	from := setting(t, "WEFT_SIZES_FROM", 1)
	for _, device := range slices.Sorted(maps.Keys(seeds)) {
		t.Run(device, func(t *testing.T) {
			_, err := engine.Open(device, engine.Options{})
			need.Device(t, device, err)
			n := setting(t, "WEFT_SIZES_SEEDS", seeds[device])
			runs, shared, errors, refused := 0, 0, 0, map[string]int{}
			for seed := from; seed < from+n; seed++ {
				p := generate(uint64(seed))
				began := time.Now()
				r := compareRuns(device, p)
				if d := time.Since(began); d > 20*time.Second {
					t.Logf("seed %d took %v", seed, d)
				}
				if os.Getenv("WEFT_SIZES_PRINT") != "" {
					t.Logf("%v%+v", p, r)
				}
				runs, shared, errors = runs+r.runs, shared+r.shared, errors+r.errors
				if r.fault != "" {
					small := smaller(p, func(q *program) bool { return compareRuns(device, q).fault != "" })
					assert.Fail(t, "other results", "%s: %s\n%v\nof\n%s\n%v", device, compareRuns(device, small).fault, small, r.fault, p)
				}
				if os.Getenv("WEFT_SIZES_REFUSED") != "" && r.shared == 0 && r.fault == "" && r.errors == 0 {
					if op := refusal(t, device, p); op != "" {
						refused[op]++
					}
				}
			}
			t.Logf("%d programs, %d runs, %d of their plays by plans for many sizes, %d errors", n, runs, shared, errors)
			if n >= 50 {
				assert.Greater(t, shared, runs/5, "what is compared are two ways")
			}
			ops := slices.Collect(maps.Keys(refused))
			slices.SortFunc(ops, func(a, b string) int { return refused[b] - refused[a] })
			for _, op := range ops {
				t.Logf("%4d %s", refused[op], op)
			}
		})
	}
}

// TestProgramsSideBySide runs programs of the same ops and other axes, which take turns: none may be taken for a case of another.
func TestProgramsSideBySide(t *testing.T) {
	runs, shared := 0, 0
	from := setting(t, "WEFT_SIZES_FROM", 1)
	for seed := from; seed < from+setting(t, "WEFT_SIZES_SEEDS", 25); seed++ {
		ps := alike(uint64(seed))
		if len(ps) < 2 {
			continue
		}
		r := compareRuns("INTERP", ps...)
		runs, shared = runs+r.runs, shared+r.shared
		assert.Empty(t, r.fault, "seed %d:\n%v", seed, ps)
	}
	t.Logf("%d runs, %d of their plays by plans for many sizes", runs, shared)
}

// refusal is the least part of a program that has no plan for many sizes.
func refusal(t *testing.T, device string, p *program) string {
	q := *p
	q.sizes = [][2]int{{2, 5}, {3, 8}, {4, 11}, {5, 9}, {6, 13}, {3, 7}}
	q.cache = -1
	q.apart = false
	fails := func(q *program) bool {
		if len(q.sizes) < 6 || !slices.ContainsFunc(q.steps, func(s step) bool { return s.leaf != nil && !s.out.fixed() }) {
			return false
		}
		r := compareRuns(device, q)
		return r.shared == 0 && r.errors == 0
	}
	if !fails(&q) {
		return ""
	}
	s := smaller(&q, fails)
	var names []string
	for _, x := range s.steps {
		if x.leaf == nil {
			names = append(names, x.name)
		}
	}
	if os.Getenv("WEFT_SIZES_REFUSED") == "2" {
		t.Log(s)
	}
	return strings.Join(names, " ")
}

// result is what a comparison found.
type result struct {
	fault                string // "": none
	runs, shared, errors int
}

// compareRuns runs programs both ways, on the same engines.
func compareRuns(device string, ps ...*program) (r result) {
	var envs [2][]*env
	for i, o := range []engine.Options{{OwnSizes: true, Poison: true}, {EarlySizes: true, Poison: true}} {
		e, err := engine.Open(device, o)
		if err != nil {
			return result{fault: err.Error()}
		}
		defer e.Close()
		for _, p := range ps {
			envs[i] = append(envs[i], &env{seed: p.seed, engine: e, states: map[int]*tensor.Tensor{}})
		}
	}
	for run := range ps[0].sizes {
		for k, p := range ps { // they take turns
			var got [2][]array
			for i := range envs {
				e := envs[i][k]
				e.b, e.t, e.run = p.sizes[run][0], p.sizes[run][1], run
				got[i] = p.play(e)
			}
			r.runs++
			for i, want := range got[0] {
				if want.err != "" {
					r.errors++
				}
				if diff := want.differs(got[1][i]); diff != "" {
					id := -1
					if i < len(p.results) {
						id = p.results[i]
					}
					r.fault = fmt.Sprintf("program %d, run %d, b=%d t=%d, v%d: %s", k, run, p.sizes[run][0], p.sizes[run][1], id, diff)
					return r
				}
			}
			if r.shared = envs[1][k].engine.Stats().Shared; envs[0][k].engine.Stats().Shared > 0 {
				r.fault = "OwnSizes has plans for many sizes"
				return r
			}
		}
	}
	return r
}

// array is a result, or why there is none.
type array struct {
	value
	shape []int
	data  []float64
	err   string
}

// play runs a program once.
func (p *program) play(e *env) (out []array) {
	var ts []*tensor.Tensor
	err := tensor.Try(func() { ts = p.run(e) })
	if err != nil {
		return []array{{err: err.Error()}}
	}
	if p.apart {
		for _, t := range ts {
			if err = t.Realize(ctx); err != nil {
				break
			}
		}
	} else {
		err = tensor.Realize(ctx, ts...)
	}
	if err != nil {
		return []array{{err: err.Error()}}
	}
	for i, t := range ts {
		a := array{value: p.value(p.results[i]), shape: t.Shape()}
		var err error
		switch t.DType() {
		case dtype.Bool:
			a.data, err = read[bool](t, func(x bool) float64 {
				if x {
					return 1
				}
				return 0
			})
		case dtype.I32, dtype.I64, dtype.U8:
			a.data, err = read[int](t, func(x int) float64 { return float64(x) })
		default:
			a.data, err = read[float32](t, func(x float32) float64 { return float64(x) })
		}
		if err != nil {
			a.err = err.Error()
		}
		out = append(out, a)
	}
	e.fed = nil
	if p.cache >= 0 && out[0].err == "" {
		e.fed = map[int]*tensor.Tensor{p.cache: ts[0]}
	}
	return out
}

func read[E tensor.Element](t *tensor.Tensor, f func(E) float64) (out []float64, err error) {
	list, err := tensor.Data[E](ctx, t)
	for _, x := range list {
		out = append(out, f(x))
	}
	return out, err
}

// differs says how another way's result differs from a, "" for as it may.
func (a array) differs(b array) string {
	switch {
	case a.err != b.err:
		return fmt.Sprintf("the error is %q, not %q", b.err, a.err)
	case a.err != "":
		return ""
	case !slices.Equal(a.shape, b.shape) || len(a.data) != len(b.data):
		return fmt.Sprintf("shape %v, not %v", b.shape, a.shape)
	}
	most := 0.0
	for _, x := range a.data {
		if !math.IsInf(x, 0) && !math.IsNaN(x) {
			most = max(most, math.Abs(x))
		}
	}
	tolerance := 0.0
	if !a.exact() {
		tolerance = min(a.value.err*0x1p-23, 2e-3*max(1, most))
		if a.d == dtype.F16 {
			tolerance = 0.02 * max(1, most)
		}
	}
	bad, n, worst := -1, 0, 0.0
	for i, x := range a.data {
		y := b.data[i]
		if x == y || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		if d := math.Abs(x - y); !(d <= tolerance) {
			if n++; bad < 0 {
				bad = i
			}
			worst = max(worst, d)
		}
	}
	if bad < 0 {
		return ""
	}
	return fmt.Sprintf("element %d of %v is %v, not %v; %d of %d are more than %.3g apart, up to %.3g", bad, a.shape, b.data[bad], a.data[bad], n, len(a.data), tolerance, worst)
}

// smaller takes away what a program does not need to fail.
func smaller(p *program, fails func(p *program) bool) *program {
	until := time.Now().Add(90 * time.Second)
	best := p
	try := func(q *program) bool {
		if time.Now().After(until) || len(q.results) == 0 || len(q.sizes) == 0 {
			return false
		}
		q = q.live()
		if (len(q.steps) < len(best.steps) || len(q.results) < len(best.results) || len(q.sizes) < len(best.sizes) || q.leaves() > best.leaves() || best.apart && !q.apart) && fails(q) {
			best = q
			return true
		}
		return false
	}
	for again := true; again; {
		again = false
		for _, s := range best.steps { // the first value that fails alone
			if s.leaf == nil {
				q := *best
				q.results, q.cache, q.apart = []int{s.out.id}, -1, false
				if (len(best.results) > 1 || s.out.id != best.results[0]) && try(&q) {
					again = true
					break
				}
			}
		}
		for i := range best.results {
			q := *best
			q.results = slices.Delete(slices.Clone(q.results), i, i+1)
			if try(&q) {
				again = true
				break
			}
		}
		for i := 0; i < len(best.steps); i++ { // inputs in place of values
			s := best.steps[i]
			if s.leaf != nil || slices.Contains(best.results, s.out.id) || s.out.d != dtype.F32 && s.out.d != dtype.I32 && s.out.d != dtype.Bool {
				continue
			}
			q := *best
			q.steps = slices.Clone(q.steps)
			l := &leaf{id: 100 + s.out.id, from: -8, n: 17}
			if s.out.d == dtype.I32 {
				l.from, l.n = 0, max(1, int(min(s.out.mag, 5)))
			}
			q.steps[i] = step{name: "Leaf", text: "new", out: s.out, leaf: l}
			if try(&q) {
				again = true
			}
		}
		for i := 0; i < len(best.sizes); i++ {
			q := *best
			q.sizes = slices.Delete(slices.Clone(q.sizes), i, i+1)
			if try(&q) {
				again = true
				i--
			}
		}
		if best.apart {
			q := *best
			q.apart = false
			again = try(&q) || again
		}
	}
	return best
}

// leaves counts the inputs of a program.
func (p *program) leaves() (n int) {
	for _, s := range p.steps {
		if s.leaf != nil {
			n++
		}
	}
	return n
}
