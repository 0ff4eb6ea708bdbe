package torchops

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/tests/table"
	"github.com/weft-ml/weft/uop"
)

// Batch is how many cases are realized together, so that their kernels are compiled at once.
const Batch = 50

// Report is what came of all cases on one device.
type Report struct {
	Device  string
	Results []*Result
}

// Run runs the cases on a device, Batch at a time. A batch that fails as a whole is done again one by one.
func Run(ctx context.Context, e *engine.Engine, cases []*Case) *Report {
	d := &device{e, ctx}
	report := &Report{Device: e.Name()}
	for len(cases) > 0 {
		n := min(Batch, len(cases))
		report.Results = append(report.Results, d.batch(cases[:n])...)
		cases = cases[n:]
	}
	return report
}

func (d *device) batch(cases []*Case) []*Result {
	results := make([]*Result, len(cases))
	jobs := make([]*job, len(cases))
	var nodes []*uop.UOp
	for i, c := range cases {
		jobs[i], results[i] = d.prepare(c)
		if results[i] == nil {
			nodes = append(nodes, jobs[i].nodes()...)
		}
	}
	together := d.realize(nodes) == nil
	for i, c := range cases {
		if results[i] != nil {
			continue
		}
		if !together {
			if err := d.realize(jobs[i].nodes()); err != nil {
				results[i] = refused(c, err)
				continue
			}
		}
		results[i] = d.finish(jobs[i])
		if c.Denormal && results[i].Status == Failed && d.flushes() {
			results[i] = &Result{c, NotYet, "denormal numbers are zero on this device"}
		}
	}
	return results
}

// flushes asks the device whether it takes denormal numbers for zero.
func (d *device) flushes() bool {
	u, err := d.FromBytes(dtype.F32, []int{1}, []byte{1, 0, 0, 0})
	if err != nil {
		return false
	}
	y := tensor.FromNode(u, d.Engine).Mul(0x1p23).Node() // the least number that is not denormal
	if d.realize([]*uop.UOp{y}) != nil {
		return false
	}
	a, err := d.read(y)
	return err == nil && [4]byte(a.bytes) == [4]byte{}
}

// refused is the result of a case that a device does not compute: an element type that it has not, said in words,
// counts as not yet.
func refused(c *Case, err error) *Result {
	var u *legal.Unsupported
	if errors.As(err, &u) {
		return &Result{c, NotYet, "no " + u.DType.String()}
	}
	return failed(c, "%v", err)
}

func (j *job) nodes() []*uop.UOp {
	var nodes []*uop.UOp
	for _, l := range j.leaves {
		nodes = append(nodes, l.node)
	}
	for _, l := range j.whole {
		nodes = append(nodes, l.node)
	}
	return nodes
}

// realize computes nodes; a panic on the way is an error here, so that the culprit can be found.
func (d *device) realize(nodes []*uop.UOp) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, stack())
		}
	}()
	return d.Realize(d.ctx, nodes...)
}

// Count gives the number of cases with a status.
func (r *Report) Count(s Status) int {
	n := 0
	for _, x := range r.Results {
		if x.Status == s {
			n++
		}
	}
	return n
}

// Row sums a run up.
func (r *Report) Row() table.Row {
	return table.Row{Suite: "torch-ops", Device: r.Device, Passed: r.Count(Passed), Failed: r.Count(Failed), NotYet: r.Count(NotYet)}
}

// Summary is the line that ends a run.
func (r *Report) Summary() string { return r.Row().String() }

// Failures lists the failed cases by op, and the ops that are not there yet.
func (r *Report) Failures() string {
	byOp := map[string][]*Result{}
	missing := map[string]int{}
	for _, x := range r.Results {
		switch x.Status {
		case Failed:
			byOp[x.Case.Op] = append(byOp[x.Case.Op], x)
		case NotYet:
			missing[x.Case.Op+" ("+x.Reason+")"]++
		}
	}
	var b strings.Builder
	for _, name := range sorted(byOp) {
		fmt.Fprintf(&b, "%s %s: %d failed\n", r.Device, name, len(byOp[name]))
		for _, x := range byOp[name] {
			fmt.Fprintf(&b, "    %s: %s\n", x.Case.ID, x.Reason)
		}
	}
	for _, name := range sorted(missing) {
		fmt.Fprintf(&b, "%s not yet: %s, %d cases\n", r.Device, name, missing[name])
	}
	return b.String()
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
