package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Where Weft is slower than somebody else, one more process of it computes the case on one thread, each launch by itself. What that says, and how
// much faster all threads are together, tells whether it is the kernels, their number or the threads that keep the case.

// aloneName names that process.
const aloneName = "Weft on one thread"

// alone is a run of a case there.
type alone struct {
	MS       float64    `json:"ms"` // the median
	Launches []launched `json:"launches"`
}

// launched is a kernel as a run launches it, as weft bench --turns --launches knows it.
type launched struct {
	Kernel string  `json:"kernel"`
	Times  float64 `json:"times"`
	MS     float64 `json:"ms"` // of all of them
	Flops  float64 `json:"flops"`
	Bytes  float64 `json:"bytes"`
}

// measureAlone has a case computed by itself.
func measureAlone(w *worker, name string, ms float64) (*alone, error) {
	dir, err := os.MkdirTemp("", "weft-peers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var got reply
	for _, o := range []order{{Do: "load", Case: name, Dir: dir}, {Do: "run", MS: ms}, {Do: "launches", MS: ms}} {
		if got, err = w.ask(o, patience); err == nil && got.Failed != "" {
			err = errors.New(got.Failed)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, asked to %s %s: %w", w.name, o.Do, name, err)
		}
	}
	return &alone{got.MedianMS, got.Launches}, nil
}

// mostKernels of a case are named, those that take leastPart of its time.
const mostKernels, leastPart = 3, 0.1

// says is what a run by itself says about a row, when one thread has those limits.
func (x row) says(one limits) string {
	a := x.Alone
	if a == nil || !(a.MS > 0) {
		return ""
	}
	var parts, kernels []string
	n, inside := 0.0, 0.0
	for _, l := range a.Launches {
		n, inside = n+l.Times, inside+l.MS
	}
	whole := max(a.MS, inside) // a median, and sums of means
	for _, l := range a.Launches[:min(mostKernels, len(a.Launches))] {
		if l.MS < leastPart*whole {
			break
		}
		k := fmt.Sprintf("`%s` takes %s", l.Kernel, percent(l.MS/whole))
		if one.GFlops > 0 && l.Flops > 0 {
			k += fmt.Sprintf(", %.1f GFLOP/s", l.Flops/l.MS/1e6)
		}
		if one.GBps > 0 && l.Bytes > 0 {
			k += fmt.Sprintf(", %.1f GB/s", l.Bytes/l.MS/1e6)
		}
		kernels = append(kernels, k)
	}
	first := fmt.Sprintf("on one thread %s ms", milliseconds(a.MS))
	if share := x.share(a.MS, one); share > 0 {
		first += fmt.Sprintf(", %s of its limit", percent(share))
	}
	parts = append(parts, first)
	if ours := x.Results[weftName].MS; ours > 0 {
		parts = append(parts, fmt.Sprintf("all threads are %.2f × as fast", a.MS/ours))
	}
	if n == 1 {
		parts = append(parts, "one launch")
	} else {
		parts = append(parts, fmt.Sprintf("%.0f launches", n))
	}
	if between := 1 - inside/a.MS; n > 0 && between > leastPart {
		parts = append(parts, percent(between)+" between launches")
	}
	return strings.Join(append(parts, kernels...), "; ")
}
