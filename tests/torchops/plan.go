package torchops

import (
	"context"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Plan writes the plans of the cases for a device and computes nothing: see gets each of them. A case that needs a value
// to be built, or an element type that the device has not, has none; the report says so.
func Plan(ctx context.Context, e *engine.Engine, cases []*Case, see func(*engine.View)) *Report {
	d := &device{e, ctx}
	report := &Report{Device: e.Name()}
	for len(cases) > 0 {
		n := min(Batch, len(cases))
		report.Results = append(report.Results, d.planBatch(cases[:n], see)...)
		cases = cases[n:]
	}
	return report
}

func (d *device) planBatch(cases []*Case, see func(*engine.View)) []*Result {
	results := make([]*Result, len(cases))
	jobs := make([]*job, len(cases))
	var all []*uop.UOp
	for i, c := range cases {
		if jobs[i], results[i] = d.prepare(c); results[i] == nil {
			all = append(all, jobs[i].nodes()...)
		}
	}
	view, err := d.Plan(all...)
	if err == nil {
		see(view)
	}
	for i, c := range cases {
		if results[i] != nil {
			continue
		}
		results[i] = &Result{c, Passed, ""}
		if err == nil {
			continue
		}
		one, err := d.Plan(jobs[i].nodes()...)
		if err != nil {
			results[i] = refused(c, err)
			continue
		}
		see(one)
	}
	return results
}
