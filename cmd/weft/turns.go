package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/choose"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/native"
	"github.com/weft-ml/weft/tensor"
)

// weft bench --turns takes its turns beside other programs that measure the same (tests/peers): an order a line comes in as JSON,
// and an answer a line goes out.

// order is what to do: "list" says who measures and what there is, "limits" measures the processor, "load" prepares a case and writes
// its inputs and results to a folder, "run" measures the case that was loaded, "launches" the launches of its runs, one by one.
type order struct {
	Do   string  `json:"do"`
	Case string  `json:"case,omitempty"`
	Dir  string  `json:"dir,omitempty"`
	MS   float64 `json:"ms,omitempty"`
}

// reply has what was asked for, or says why there is nothing.
type reply struct {
	Failed string       `json:"failed,omitempty"`
	About  string       `json:"about,omitempty"`
	Cases  []listedCase `json:"cases,omitempty"`

	GFlops float64 `json:"gflops,omitempty"` // of all threads
	GBps   float64 `json:"gbps,omitempty"`   // of a copy, what is read and what is written

	MedianMS float64 `json:"median_ms,omitempty"`
	MinMS    float64 `json:"min_ms,omitempty"`
	Runs     int     `json:"runs,omitempty"`

	Launches []launched `json:"launches,omitempty"` // of a run, the longest first
}

// launched is a kernel as a run launches it.
type launched struct {
	Kernel string  `json:"kernel"`
	Times  float64 `json:"times"`
	MS     float64 `json:"ms"` // of all of them
	Flops  float64 `json:"flops"`
	Bytes  float64 `json:"bytes"`
}

type listedCase struct {
	Name    string  `json:"name"`
	About   string  `json:"about"`
	Flops   float64 `json:"flops"`
	Bytes   float64 `json:"bytes"`
	ByBytes bool    `json:"by_bytes"`
}

// contents says what lies in the folder of a case, beside it.
type contents struct {
	In    []written   `json:"in"`
	Model []written   `json:"model"`
	ONNX  string      `json:"onnx,omitempty"` // the file of a model that takes in by their names
	Outs  [][]written `json:"outs"`           // of the first runs: a case that changes its model gives another result each time
}

type written struct {
	Name  string `json:"name,omitempty"`
	File  string `json:"file"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// checkedRuns is how many runs of a case that has a model are compared; others give the same each time.
const checkedRuns = 3

// turns answers orders until there are no more; with launches, one of them is for the launches of a run.
func (p *program) turns(ctx context.Context, in io.Reader, device string, launches bool) error {
	var l *launchTimes
	var hear func(k *plan.Kernel, seconds float64)
	if launches {
		l = &launchTimes{}
		hear = l.hear
	}
	e, err := p.openHearing(ctx, device, choose.Work{}, hear)
	if err != nil {
		return err
	}
	var w *work
	out, lines := json.NewEncoder(p.out), bufio.NewScanner(in)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return usagef("an order that is none: %w", err)
		}
		var a reply
		failed := tensor.Try(func() { a, err = turn(ctx, e, o, &w, l) })
		if err == nil {
			err = failed
		}
		if err != nil {
			a = reply{Failed: err.Error()}
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

func turn(ctx context.Context, e *engine.Engine, o order, w **work, l *launchTimes) (a reply, err error) {
	switch o.Do {
	case "list":
		for _, c := range benchCases {
			if c.prepare != nil {
				a.Cases = append(a.Cases, listedCase{c.name, c.about, c.flops, c.bytes, c.byBytes})
			}
		}
		a.About = e.Name() + ", " + e.Info().Detail
		return a, nil
	case "limits":
		_, a.GFlops, a.GBps, err = native.LimitsContext(ctx, e.Device())
		return a, err
	case "load":
		*w = nil
		c, err := pickCases([]string{o.Case})
		if err != nil {
			return a, err
		}
		if c[0].prepare == nil {
			return a, fmt.Errorf("case %s computes nothing", o.Case)
		}
		if *w, err = c[0].prepare(ctx); err != nil {
			return a, err
		}
		return a, (*w).save(ctx, o.Dir)
	case "launches":
		switch {
		case *w == nil:
			return a, errNotLoaded
		case l == nil:
			return a, errors.New("launches are measured by weft bench --turns --launches only")
		}
		return l.measure(ctx, *w, o.MS)
	case "run":
		if *w == nil {
			return a, errNotLoaded
		}
		times, err := (*w).measure(ctx, o.MS)
		if err != nil {
			return a, err
		}
		return reply{MedianMS: median(times), MinMS: slices.Min(times), Runs: len(times)}, nil
	}
	return a, fmt.Errorf("unknown order %q", o.Do)
}

var errNotLoaded = errors.New("no case is loaded")

// launchTimes adds up the launches of some runs.
type launchTimes struct {
	kernels map[string]*launched
}

func (l *launchTimes) hear(k *plan.Kernel, seconds float64) {
	if l.kernels == nil {
		return
	}
	name := "copy"
	if k != nil {
		name = k.Entry
	}
	x := l.kernels[name]
	if x == nil {
		x = &launched{Kernel: name}
		if k != nil {
			x.Kernel = k.Name
		}
		l.kernels[name] = x
	}
	x.Times++
	x.MS += seconds * 1e3
	if k != nil {
		x.Flops += float64(k.Flops)
		x.Bytes += float64(k.Bytes)
	}
}

func (l *launchTimes) measure(ctx context.Context, w *work, ms float64) (reply, error) {
	l.kernels = map[string]*launched{}
	defer func() { l.kernels = nil }()
	times, err := w.measure(ctx, ms)
	if err != nil {
		return reply{}, err
	}
	runs := float64(len(times))
	a := reply{MedianMS: median(times), MinMS: slices.Min(times), Runs: len(times)}
	for _, x := range l.kernels {
		a.Launches = append(a.Launches, launched{x.Kernel, x.Times / runs, x.MS / runs, x.Flops / runs, x.Bytes / runs})
	}
	slices.SortFunc(a.Launches, func(x, y launched) int { return cmp.Or(cmp.Compare(y.MS, x.MS), strings.Compare(x.Kernel, y.Kernel)) })
	return a, nil
}

// measure runs for some time, once at least, and gives the milliseconds of each run.
func (w *work) measure(ctx context.Context, ms float64) (times []float64, err error) {
	for start := time.Now(); len(times) == 0 || time.Since(start).Seconds()*1e3 < ms; {
		t, err := timed(ctx, w.runAndDiscard)
		if err != nil {
			return nil, err
		}
		times = append(times, t)
	}
	return times, nil
}

// runAndDiscard is run whose results are given back at once, as Python gives back what no name holds.
func (w *work) runAndDiscard(ctx context.Context) error {
	outs, err := w.results(ctx)
	if err != nil {
		return err
	}
	for i, t := range outs {
		if w.net != nil || w.captured.Own(i) && !w.into {
			t.Discard()
		}
	}
	return nil
}

// save writes the inputs, the model, and the results of the first runs to a folder.
func (w *work) save(ctx context.Context, dir string) error {
	var c contents
	if w.net != nil {
		c.ONNX = "model.onnx"
		if err := os.WriteFile(filepath.Join(dir, c.ONNX), w.file, 0o666); err != nil {
			return err
		}
	}
	for i, t := range w.in {
		name := ""
		if w.net != nil {
			name = w.names[i]
		}
		if err := write(ctx, &c.In, dir, fmt.Sprintf("in%d", i), name, t); err != nil {
			return err
		}
	}
	runs := 1
	if w.model != nil {
		runs = checkedRuns
		for i, s := range nn.State(w.model) {
			if err := write(ctx, &c.Model, dir, fmt.Sprintf("model%d", i), s.Name, s.Tensor); err != nil {
				return err
			}
		}
	}
	for run := range runs {
		outs, err := w.results(ctx)
		if err != nil {
			return err
		}
		c.Outs = append(c.Outs, nil)
		for i, t := range outs {
			if err := write(ctx, &c.Outs[run], dir, fmt.Sprintf("out%d-%d", run, i), "", t); err != nil {
				return err
			}
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "contents.json"), text, 0o666)
}

func write(ctx context.Context, list *[]written, dir, file, name string, t *tensor.Tensor) error {
	raw, err := t.Bytes(ctx)
	if err != nil {
		return err
	}
	*list = append(*list, written{name, file, t.DType().String(), t.Shape()})
	return os.WriteFile(filepath.Join(dir, file), raw, 0o666)
}
