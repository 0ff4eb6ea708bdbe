// Package devicetest checks a device against the reference evaluator: every op on every element type, on
// sizes that fit no vector, on views, and everything that networks are made of, with gradients.
//
// It knows graphs and how their results may differ from the truth. It refuses to know the device: a new one is
// tested by one line.
//
//	func TestCPU(t *testing.T) { devicetest.Run(t, "CPU") }
//
// Cases are built when they are needed and realized many to a compile; when a batch fails, its cases are run one by
// one, and those that fail are printed with their inputs' seed, the first bad element and the kernels.
// WEFT_SEED=n draws other inputs and shapes, WEFT_CASE=text runs the cases whose name contains it, WEFT_EACH=n each n-th and one of each op; a
// device may have fewer than all where nothing is said (RunPart).
package devicetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tests/table"
	"github.com/weft-ml/weft/uop"
)

// Case is a graph to compute on two devices.
type Case struct {
	Name  string // op, types and shapes: enough to find it again
	Tol   Tolerance
	Build func(in *Inputs) []*uop.UOp // makes the leaves, gives the roots
	seed  uint64
}

// groups lists all cases, a sub-test each.
var groups = []struct {
	name  string
	cases func(s *suite)
}{
	{"elementwise", elementwise},
	{"cast", casts},
	{"movement", movement},
	{"reduce", reductions},
	{"scan", scans},
	{"index", indexing},
	{"tensor", tensors},
	{"network", networks},
	{"gradient", gradients},
	{"graph", graphs},
	{"chain", chains},
	{"assign", assignments},
}

// Run checks a device by name.
func Run(t *testing.T, device string) {
	RunWith(t, device, engine.Options{Poison: true})
}

// RunPart is Run of each n-th case and one of each op, unless WEFT_EACH says otherwise: for a device that shares with another, which runs all,
// everything but what it compiles kernels with.
func RunPart(t *testing.T, device string, n int) {
	run(t, device, engine.Options{Poison: true}, each(n), nil)
}

// RunWith is Run with the device opened under options.
func RunWith(t *testing.T, device string, o engine.Options) { run(t, device, o, each(1), nil) }

// run runs each n-th case on a device opened under options, and of these those that some chooses on it; all, if it is nil.
func run(t *testing.T, device string, o engine.Options, n int, some func(dev *engine.Engine, cases []Case) []Case) {
	dev, err := engine.Open(device, o)
	need.Device(t, device, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	ref, err := engine.Open("REF", engine.Options{})
	need.Device(t, "REF", err)
	seed, err := strconv.ParseUint(getenv("WEFT_SEED", "1"), 10, 64)
	require.NoError(t, err, "WEFT_SEED")
	hardware := flushes[device] && flushesNow(t, dev)
	if hardware && !NormalInputs {
		NormalInputs = true
		t.Cleanup(func() { NormalInputs = false })
	}
	row := table.Row{Suite: "conformance", Device: device}
	left, all := 0, 0
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			s := newSuite(seed)
			g.cases(s)
			r := runner{t: t, dev: dev, ref: ref, seed: seed}
			cases := s.matching(os.Getenv("WEFT_CASE"), n)
			left, all = left+len(cases), all+len(s.matching(os.Getenv("WEFT_CASE"), 1))
			if some != nil {
				cases = some(dev, cases)
			}
			for i := range cases {
				cases[i].Tol.Tiny = flushes[device]
				if op, _, _ := strings.Cut(cases[i].Name, " "); hardware {
					cases[i].Tol.ULP = max(cases[i].Tol.ULP, loose[op])
				}
			}
			r.run(cases)
			row.Passed += len(cases) - r.failed - r.notYet
			row.Failed += r.failed
			row.NotYet += r.notYet
		})
	}
	t.Logf("%s: %s", device, need.PartOf(left, all))
	require.NoError(t, table.Add(row))
}

// flushesNow asks a device whether it takes denormal numbers for zero, as processors of graphics do and software does not.
func flushesNow(t *testing.T, dev *engine.Engine) bool {
	u, err := dev.FromBytes(dtype.F32, []int{1}, []byte{1, 0, 0, 0})
	require.NoError(t, err)
	got, err := tensor.FromNode(u, dev).Mul(0x1p23).Item(context.Background()) // the least number that is not denormal
	require.NoError(t, err)
	return got == 0
}

func getenv(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// batch is how many cases are realized together.
const batch = 50

type runner struct {
	t        *testing.T
	dev, ref *engine.Engine
	seed     uint64
	failed   int
	notYet   int // cases of types that the device has not
}

// maxFailures is how many failing cases of a group are printed.
const maxFailures = 12

// run computes the truth of one batch while the device works on the one before.
func (r *runner) run(cases []Case) {
	type job struct {
		cases []Case
		want  [][]result
	}
	jobs := make(chan job, 1)
	go func() {
		defer close(jobs)
		for len(cases) > 0 {
			n := min(batch, len(cases))
			j := job{cases: cases[:n]}
			for _, c := range j.cases {
				w, err := truth(r.ref, c)
				if err != nil {
					w = []result{{err: err}}
				}
				j.want = append(j.want, w)
			}
			jobs <- j
			cases = cases[n:]
		}
	}()
	for j := range jobs {
		r.batch(j.cases, j.want)
	}
	if r.notYet > 0 {
		r.t.Logf("%s: %d cases use element types that it has not", r.dev.Name(), r.notYet)
	}
}

func (r *runner) batch(cases []Case, want [][]result) {
	got, err := compute(r.dev, cases)
	if lacks(err) {
		if cases, want = r.supported(cases, want); len(cases) == 0 {
			return
		}
		got, err = compute(r.dev, cases)
	}
	first := ""
	if err != nil {
		first = err.Error()
	} else {
		first = firstMismatch(cases, got, want)
	}
	if first == "" {
		return
	}
	kept := r.keep(first, cases)
	found := false
	for i := range cases {
		found = r.single(cases[i], want[i]) || found
	}
	if !found {
		r.smallest(first+"\n"+kept, cases, want)
	}
}

func firstMismatch(cases []Case, got, want [][]result) string {
	for i, c := range cases {
		if why := mismatch(c.Tol, got[i], want[i]); why != "" {
			return c.Name + ": " + why
		}
	}
	return ""
}

// lacks says that a device refused an element type in words: that is an answer, not a failure.
func lacks(err error) bool {
	var u *legal.Unsupported
	return errors.As(err, &u)
}

// supported leaves the cases out whose types the device has not, and counts them.
func (r *runner) supported(cases []Case, want [][]result) (left []Case, results [][]result) {
	for i, c := range cases {
		_, err := r.dev.Plan(c.Build(newInputs(r.dev, c.seed))...)
		if lacks(err) {
			r.notYet++
			continue
		}
		left, results = append(left, c), append(results, want[i])
	}
	return left, results
}

// single runs one case and reports whether it failed.
func (r *runner) single(c Case, want []result) bool {
	got, err := compute(r.dev, []Case{c})
	why := ""
	if err != nil {
		why = err.Error()
	} else {
		why = mismatch(c.Tol, got[0], want)
	}
	if why != "" {
		r.report(why, c)
	}
	return why != ""
}

// smallest finds a run of cases that fails though none of them does alone: what they share fails. Where no run fails any
// more, what failed first is told.
func (r *runner) smallest(first string, cases []Case, want [][]result) {
	fails := func(from, to int) string {
		got, err := compute(r.dev, cases[from:to])
		if err != nil {
			return err.Error()
		}
		for i, g := range got {
			if why := mismatch(cases[from+i].Tol, g, want[from+i]); why != "" {
				return cases[from+i].Name + ": " + why
			}
		}
		return ""
	}
	from, to := 0, len(cases)
	for shrunk := true; shrunk; {
		shrunk = false
		for n := (to - from) / 2; n > 0 && !shrunk; n /= 2 {
			switch {
			case fails(from+n, to) != "":
				from, shrunk = from+n, true
			case fails(from, to-n) != "":
				to, shrunk = to-n, true
			}
		}
	}
	if why := fails(from, to); why != "" {
		r.report("only together: "+why+"\nat first: "+first, cases[from:to]...)
		return
	}
	r.report("once, and not again: "+first, cases...)
}

func (r *runner) report(why string, cases ...Case) {
	r.failed++
	r.t.Fail()
	if r.failed > maxFailures {
		return
	}
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	r.t.Logf("%s: %s (WEFT_SEED=%d)\n%s\n%s", r.dev.Name(), strings.Join(names, " + "), r.seed, why, r.kernels(cases))
}

// kernels prints what the device runs for the cases, the first lines of it.
func (r *runner) kernels(cases []Case) string {
	lines := strings.SplitAfter(r.plan(cases), "\n")
	if len(lines) > maxLines {
		lines = append(lines[:maxLines], "…\n")
	}
	return strings.Join(lines, "")
}

// plan prints the kernels without what they have in common.
func (r *runner) plan(cases []Case) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint("no kernel: ", p)
		}
	}()
	var roots []*uop.UOp
	for _, c := range cases {
		roots = append(roots, c.Build(newInputs(r.dev, c.seed))...)
	}
	view, err := r.dev.Plan(roots...)
	if err != nil {
		return "no kernel: " + err.Error()
	}
	var out []string
	prelude := false
	for _, l := range strings.SplitAfter(view.String(), "\n") {
		prelude = prelude || strings.HasPrefix(l, "#ifndef")
		if !prelude {
			out = append(out, l)
		}
		prelude = prelude && !strings.HasPrefix(l, "#endif")
	}
	return strings.Join(out, "")
}

// maxLines is how much of a plan is printed.
const maxLines = 120

// compute builds cases on a device, realizes them together and reads the results.
func compute(e *engine.Engine, cases []Case) (out [][]result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, stack())
		}
	}()
	ctx := context.Background()
	built, all, err := build(e, cases)
	if err != nil {
		return nil, err
	}
	if err := e.Realize(ctx, all...); err != nil {
		return nil, err
	}
	for _, roots := range built {
		var results []result
		for _, u := range roots {
			raw := make([]byte, u.Shape().Numel()*u.DType().Size())
			if err := e.Read(ctx, u, raw); err != nil {
				return nil, err
			}
			results = append(results, result{shape: u.Shape(), values: decode(u.DType(), raw), dtype: u.DType()})
		}
		out = append(out, results)
	}
	return out, nil
}

// own gives a root that depends on no buffer one of its own: its node is the same on every device, and only one of
// them could realize it.
func own(e *engine.Engine, u *uop.UOp) (*uop.UOp, error) {
	for _, n := range uop.Topo(u) {
		if n.Op() == uop.Buffer {
			return u, nil
		}
	}
	to, err := e.Empty(u.DType(), []int{u.Shape().Numel()})
	if err != nil {
		return nil, err
	}
	return to.After(to.Store(u.Reshape(to.Shape()...))).Reshape(u.Shape()...), nil
}
