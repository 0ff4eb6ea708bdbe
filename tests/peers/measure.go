package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// result is what a library needs for a case.
type result struct {
	MS    float64   `json:"ms,omitempty"`    // the median of the turns
	Turns []float64 `json:"turns,omitempty"` // the median of each round
	Least float64   `json:"least,omitempty"` // the fastest run of all rounds
	Lacks bool      `json:"lacks,omitempty"` // the library has no such function, or nobody wrote it down
	Wrong string    `json:"wrong,omitempty"`
}

// row is a case that was measured.
type row struct {
	Group   string            `json:"group"`
	Case    listed            `json:"case"`
	Results map[string]result `json:"results"`
	Alone   *alone            `json:"alone,omitempty"` // where somebody else is faster
}

// limits are what the processor can do.
type limits struct {
	GFlops float64 `json:"gflops"`
	GBps   float64 `json:"gbps"`
}

// record is a run.
type record struct {
	Command string            `json:"command"`
	When    string            `json:"when"`
	Machine []string          `json:"machine"`
	About   map[string]string `json:"about"` // what the libraries say about themselves
	Rounds  int               `json:"rounds"`
	MS      float64           `json:"ms"`
	Threads int               `json:"threads"`
	GPU     bool              `json:"gpu,omitempty"`
	Limits  limits            `json:"limits"`
	One     limits            `json:"one"` // of one thread
	Rows    []row             `json:"rows"`
	Memory  []resident        `json:"memory,omitempty"`
}

// measure has all take turns; single is the process of one thread, nil on a graphics processor.
func measure(o options, ws workers, single *worker) (*record, error) {
	r := &record{Command: command(o), When: time.Now().Format("2 January 2006"), Machine: machine(), About: map[string]string{},
		Rounds: o.rounds, MS: o.ms, Threads: o.threads, GPU: o.gpu}
	known := map[string]listed{}
	for _, c := range ws[0].about.Cases {
		known[c.Name] = c
	}
	for _, w := range ws {
		r.About[w.name] = w.about.About
	}
	if err := r.findLimits(ws[0], single); err != nil {
		return nil, err
	}
	for _, g := range groups {
		for _, name := range g.names() {
			if !o.wants(g.name, name) || o.gpu && g.name == "models" { // which ONNX Runtime alone has
				continue
			}
			c, ok := known[name]
			if !ok {
				return nil, fmt.Errorf("weft bench has no case %q", name)
			}
			results, err := compare(o, ws, name)
			if err != nil {
				return nil, err
			}
			r.Rows = append(r.Rows, row{Group: g.name, Case: c, Results: results})
			if x := &r.Rows[len(r.Rows)-1]; single != nil && x.figures(r.Limits).behind() {
				if x.Alone, err = measureAlone(single, name, o.ms); err != nil {
					return nil, err
				}
			}
			fmt.Fprintln(os.Stderr, r.Rows[len(r.Rows)-1].line(r.Limits))
		}
	}
	if len(r.Rows) == 0 {
		return nil, fmt.Errorf("nothing is called %q; see -help", o.only)
	}
	return r, r.findLimits(ws[0], single)
}

// findLimits measures the processor; of several times the best counts. Those of graphics processors are not known.
func (r *record) findLimits(weft, single *worker) error {
	if r.GPU {
		return nil
	}
	for w, l := range map[*worker]*limits{weft: &r.Limits, single: &r.One} {
		got, err := w.ask(order{Do: "limits"}, patience)
		if err == nil && got.Failed != "" {
			err = errors.New(got.Failed)
		}
		if err != nil {
			return fmt.Errorf("measure the processor's limits: %w", err)
		}
		*l = limits{max(l.GFlops, got.GFlops), max(l.GBps, got.GBps)}
	}
	return nil
}

// between is how long everyone rests between two turns: threads of the last one may still look for work.
const between = 10 * time.Millisecond

// compare has everyone prepare a case and measures those whose results are right, in rounds that begin with another one each time.
func compare(o options, ws workers, name string) (map[string]result, error) {
	dir, err := os.MkdirTemp("", "weft-peers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := map[string]result{}
	var able workers
	for _, w := range ws {
		got, err := w.ask(order{Do: "load", Case: name, Dir: dir}, patience)
		if err != nil {
			return nil, err
		}
		switch {
		case got.Failed != "" || got.Wrong != "":
			out[w.name] = result{Wrong: got.Failed + got.Wrong}
		case got.Lacks:
			out[w.name] = result{Lacks: true}
		default:
			able = append(able, w)
		}
		if w == ws[0] && len(able) == 0 {
			return out, nil // nothing to compare with
		}
	}
	turns, least := map[string][]float64{}, map[string]float64{}
	for round := -1; round < o.rounds; round++ { // the first one warms up
		for k := range able {
			w := able[(k+round+len(able))%len(able)]
			time.Sleep(between)
			got, err := w.ask(order{Do: "run", MS: o.ms}, patience)
			if err == nil && got.Failed != "" {
				err = fmt.Errorf("%s, %s: %s", w.name, name, got.Failed)
			}
			if err != nil {
				return nil, err
			}
			if round >= 0 {
				turns[w.name] = append(turns[w.name], got.MedianMS)
				if known := least[w.name]; known == 0 || got.MinMS < known {
					least[w.name] = got.MinMS
				}
			}
		}
	}
	for name, ts := range turns {
		out[name] = result{MS: median(ts), Turns: ts, Least: least[name]}
	}
	return out, nil
}

// command is how this run was started.
func command(o options) string {
	s := fmt.Sprintf("go run ./tests/peers -rounds %d -ms %g -threads %d", o.rounds, o.ms, o.threads)
	if o.write != "" {
		s += " -write " + filepath.Base(o.write) // wherever the repository lies
	}
	if o.only != "" {
		s += " -only " + o.only
	}
	if o.gpu {
		s += " -gpu"
	}
	if o.with != "" {
		s += fmt.Sprintf(" -with %q", o.with)
	}
	return s
}

// line is a row for people who wait.
func (r row) line(l limits) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-23s", r.Case.Name)
	for _, lib := range libraries {
		got := r.Results[lib.name]
		switch {
		case got.Wrong != "":
			fmt.Fprintf(&b, "%12s", "wrong")
		case got.MS > 0:
			fmt.Fprintf(&b, "%12.3f", got.MS)
		default:
			fmt.Fprintf(&b, "%12s", "-")
		}
	}
	f := r.figures(l)
	fmt.Fprintf(&b, "  %6.2f  %-12s %6.2f", f.ratio, f.spread(), f.atBest)
	return b.String()
}
