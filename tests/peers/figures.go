package main

import (
	"fmt"
	"math"
	"slices"
)

// figures are what a row says: how many times as long the best of the others takes, and how near Weft is to the processor's limit.
type figures struct {
	best        string // of the others; none has a right result: ""
	ratio       float64
	least, most float64 // the ratio within a round
	atBest      float64 // the fastest run of all the others by Weft's fastest, which other work on the machine disturbs least
	share       float64 // of the limit that the case has; 0 where its work is not counted
}

// behind says that somebody else is faster.
func (f figures) behind() bool { return f.ratio > 0 && f.ratio < 1 }

func (r row) figures(l limits) (f figures) {
	ours := r.Results[weftName]
	best := math.Inf(1)
	for _, lib := range libraries[1:] {
		if got := r.Results[lib.name]; got.MS > 0 && got.MS < best {
			best, f.best = got.MS, lib.name
		}
	}
	if !(ours.MS > 0) {
		return figures{}
	}
	f.share = r.share(ours.MS, l)
	if f.best != "" {
		f.ratio = best / ours.MS
		f.least, f.most = within(ours.Turns, r.Results[f.best].Turns)
		f.atBest = r.fastestRun() / ours.Least
	}
	return f
}

// fastestRun is that of all the others.
func (r row) fastestRun() float64 {
	least := math.Inf(1)
	for _, lib := range libraries[1:] {
		if got := r.Results[lib.name]; got.Least > 0 {
			least = min(least, got.Least)
		}
	}
	return least
}

// share is the fraction of the multiply-add peak or, where memory is the limit, of the bandwidth.
func (r row) share(ms float64, l limits) float64 {
	work, limit := r.Case.Flops, l.GFlops
	if r.Case.ByBytes {
		work, limit = r.Case.Bytes, l.GBps
	}
	if !(limit > 0) {
		return 0
	}
	return work / (ms * 1e6) / limit
}

// within gives the least and the greatest ratio of two turns of one round; zeros where there are none.
func within(ours, theirs []float64) (least, most float64) {
	for i := range min(len(ours), len(theirs)) {
		ratio := theirs[i] / ours[i]
		if i == 0 {
			least = ratio
		}
		least, most = min(least, ratio), max(most, ratio)
	}
	return least, most
}

func (f figures) spread() string {
	if f.most == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f–%.2f", f.least, f.most)
}

// means are the geometric means of the ratios of n rows.
type means struct {
	n             int
	ratio, atBest float64
}

// geomean takes the rows that have a ratio.
func geomean(rows []row) (m means) {
	var ratio, atBest float64
	for _, r := range rows {
		if f := r.figures(limits{}); f.ratio > 0 {
			ratio += math.Log(f.ratio)
			atBest += math.Log(f.atBest)
			m.n++
		}
	}
	if m.n > 0 {
		m.ratio, m.atBest = math.Exp(ratio/float64(m.n)), math.Exp(atBest/float64(m.n))
	}
	return m
}

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	n := len(xs)
	if n == 0 {
		return 0
	}
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// of are the rows of a group.
func (r *record) of(g group) (out []row) {
	for _, x := range r.Rows {
		if x.Group == g.name {
			out = append(out, x)
		}
	}
	return out
}

// wrong lists what makes a run worthless.
func (r *record) wrong() (out []string) {
	for _, x := range r.Rows {
		for _, lib := range libraries {
			if w := x.Results[lib.name].Wrong; w != "" {
				out = append(out, fmt.Sprintf("%s, %s: %s", x.Case.Name, lib.name, w))
			}
		}
	}
	return out
}
