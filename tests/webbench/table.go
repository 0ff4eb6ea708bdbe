package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// printer prints results: tables, or lines of JSON.
type printer struct {
	o       options
	threads int // that everyone should have
	rows    int // results
	judged  int // results with a limit
	fine    int // of these, within it
}

// head begins a table.
func (p *printer) head(title, about string, names []string) {
	if p.o.json {
		return
	}
	fmt.Printf("\n%s: %s\n%-36s", strings.ToUpper(title), about, "")
	for _, n := range names {
		fmt.Printf("%16s", n)
	}
	fmt.Printf("%10s  %-13s%-8s\n", "ratio", "in rounds", "at most")
}

// record is a result as JSON.
type record struct {
	Group   string           `json:"group"`
	Case    string           `json:"case"`
	Results map[string]timed `json:"results"`
	Fastest string           `json:"fastest,omitempty"` // of the others
	Ratio   float64          `json:"ratio,omitempty"`   // weft to the fastest other
	Least   float64          `json:"least,omitempty"`   // the ratio within a round
	Most    float64          `json:"most,omitempty"`
	Limit   float64          `json:"limit,omitempty"`
	OK      bool             `json:"ok"`
}

// judge compares Weft with the fastest of those that a case names.
func judge(group string, c compared, got map[string]timed) record {
	return judgeOf("weft", group, c, got)
}

// judgeOf compares another one than Weft.
func judgeOf(who, group string, c compared, got map[string]timed) record {
	r := record{Group: group, Case: c.name, Results: got, Limit: c.limit}
	best := math.Inf(1)
	for name, t := range got {
		if name == who || t.Failed != "" || c.against != nil && !slices.Contains(c.against, name) {
			continue
		}
		if t.Ms < best {
			best, r.Fastest = t.Ms, name
		}
	}
	if weft, ok := got[who]; ok && weft.Failed == "" && r.Fastest != "" {
		r.Ratio = weft.Ms / best
		r.OK = c.limit == 0 || r.Ratio <= c.limit
		r.Least, r.Most = within(weft.Turns, got[r.Fastest].Turns)
	}
	return r
}

// within gives the least and the greatest ratio of two turns of one round; zeros where there are none.
func within(ours, theirs []float64) (least, most float64) {
	for i := range min(len(ours), len(theirs)) {
		ratio := ours[i] / theirs[i]
		if i == 0 {
			least = ratio
		}
		least, most = min(least, ratio), max(most, ratio)
	}
	return least, most
}

// row prints a case.
func (p *printer) row(group string, c compared, names []string, got map[string]timed) {
	p.rowOf("weft", group, c, names, got)
}

// rowOf prints a case that is about another one than Weft.
func (p *printer) rowOf(who, group string, c compared, names []string, got map[string]timed) {
	r := judgeOf(who, group, c, got)
	p.count(r)
	if p.o.json {
		line(r)
		return
	}
	fmt.Printf("%-36s", c.name)
	var remarks []string
	for _, n := range names {
		t, ok := got[n]
		switch {
		case !ok:
			fmt.Printf("%16s", "-")
		case t.Failed != "":
			fmt.Printf("%16s", "failed")
			remarks = append(remarks, fmt.Sprintf("    %s: %s", n, t.Failed))
		default:
			fmt.Printf("%16.3f", t.Ms)
			if p.threads > 0 && t.Threads != p.threads {
				remarks = append(remarks, fmt.Sprintf("    %s: %d threads", n, t.Threads))
			}
		}
	}
	spread := ""
	if r.Most > 0 {
		spread = fmt.Sprintf("%.2f–%.2f", r.Least, r.Most)
	}
	fmt.Printf("%10.2f  %-13s%s", r.Ratio, spread, verdict(r))
	if c.against != nil {
		fmt.Printf(" (against %s)", strings.Join(c.against, ", "))
	}
	if t := got["weft"]; t.Kept > 0 {
		fmt.Printf("  weft without the way to the page: %.3f", t.Kept)
	}
	fmt.Println()
	for _, f := range remarks {
		fmt.Println(f)
	}
}

func verdict(r record) string {
	switch {
	case r.Limit == 0:
		return "-"
	case r.OK:
		return fmt.Sprintf("%.1f ok", r.Limit)
	}
	return fmt.Sprintf("%.1f too slow", r.Limit)
}

// encoding prints what a dispatch costs the player, in microseconds.
func (p *printer) encoding(version string, t timed) {
	micros := 1000 * t.Ms
	r := record{Group: "encoding", Case: "a dispatch of a plan", Results: map[string]timed{"weft": t}, Limit: mostMicros, Ratio: micros, OK: t.Failed == "" && micros <= mostMicros}
	p.count(r)
	switch {
	case p.o.json:
		line(r)
	case t.Failed != "":
		fmt.Printf("\nENCODING: %s\n", t.Failed)
	default:
		fmt.Printf("\nENCODING: %s, a plan of %d launches of %d kernels: JavaScript time of a play, submission included, by the launches\n"+
			"%.3f µs a dispatch (%.3f to %.3f in %d plays), at most %s\n", version, dispatches, kernels, micros, 1000*t.Low, 1000*t.High, t.Runs, verdict(r))
	}
}

func (p *printer) count(r record) {
	p.rows++
	if r.Limit > 0 {
		p.judged++
	}
	if r.Limit > 0 && r.OK {
		p.fine++
	}
}

// end sums up.
func (p *printer) end() {
	if !p.o.json {
		fmt.Printf("\n%d of %d results within what they may be.\n", p.fine, p.judged)
	}
}
