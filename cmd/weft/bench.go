package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime/native"
)

// benchOptions are the flags of weft bench.
type benchOptions struct {
	Device string
	JSON   bool
	Child  bool // this process is one that another weft bench started for a case
	Turns  bool // orders come in

	Launches bool // the engine tells of each launch, for the order that asks for their times
}

// benchResult is what --json prints, one a line. A rate or a fraction that does not apply is 0.
type benchResult struct {
	Case      string  `json:"case"`
	Device    string  `json:"device"`
	MedianMS  float64 `json:"median_ms"`
	MinMS     float64 `json:"min_ms"`
	GFlops    float64 `json:"gflops"`
	GBps      float64 `json:"gbps"`
	OfPeak    float64 `json:"of_peak"` // of the multiply-add peak or, where bytes are the limit, of the copy bandwidth
	Kernels   int     `json:"kernels"`
	Launches  int     `json:"launches"` // of one run
	CompileMS float64 `json:"compile_ms"`
	PeakBytes int64   `json:"peak_bytes"`

	Threads int `json:"threads"`
	// The same on one thread, against the peak of one thread.
	OneThreadMS     float64 `json:"one_thread_median_ms,omitempty"`
	OneThreadGFlops float64 `json:"one_thread_gflops,omitempty"`
	OneThreadOfPeak float64 `json:"one_thread_of_peak,omitempty"`
}

// benchCase is something to measure. Exactly one of prepare and special is set.
type benchCase struct {
	name, about string
	flops       float64 // of one run, a multiply-add counting 2
	bytes       float64 // that one run must at least read and write
	byBytes     bool    // memory is its limit, not arithmetic

	prepare func(ctx context.Context) (*work, error) // with the inputs on the default device
	special func(ctx context.Context, b *bench) (*benchResult, error)
}

// peaks is what the machine can do at most; zero where that cannot be measured.
type peaks struct{ one, all, copy float64 }

// bench is one run of the command.
type bench struct {
	*program
	o       benchOptions
	options engine.Options
	device  string
	peaks   peaks
}

func benchCommand(p *program) *cobra.Command {
	var o benchOptions
	names := make([]string, len(benchCases))
	var list strings.Builder
	for i, c := range benchCases {
		names[i] = c.name
		fmt.Fprintf(&list, "  %-20s %s\n", c.name, c.about)
	}
	c := &cobra.Command{
		Use:       "bench [CASE…]",
		Short:     "Measure kernels, steps and compiling",
		Long:      "Measures all cases, or those named:\n\n" + list.String(),
		ValidArgs: names,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case o.Launches && !o.Turns:
				return usagef("--launches is for --turns")
			case o.Turns && len(args) > 0:
				return usagef("with --turns cases come in orders, not as arguments")
			case o.Turns:
				return p.turns(c.Context(), c.InOrStdin(), o.Device, o.Launches)
			}
			return p.bench(c.Context(), args, o)
		},
	}
	deviceFlag(c, &o.Device, "device to measure (default: $DEV, else the best that works)")
	c.Flags().BoolVar(&o.JSON, "json", false, "print one JSON object a line")
	c.Flags().BoolVar(&o.Child, "child", false, "measure in this process what is measured in a fresh one")
	c.Flags().BoolVar(&o.Turns, "turns", false, "take orders from standard input, beside other programs: make bench-peers")
	c.Flags().MarkHidden("child")
	c.Flags().BoolVar(&o.Launches, "launches", false, "with --turns: measure each launch by itself")
	c.Flags().MarkHidden("turns")
	c.Flags().MarkHidden("launches")
	return c
}

// pickCases finds cases by name; no name means all.
func pickCases(names []string) ([]benchCase, error) {
	if len(names) == 0 {
		return benchCases, nil
	}
	var out []benchCase
	for _, name := range names {
		i := slices.IndexFunc(benchCases, func(c benchCase) bool { return c.name == name })
		if i < 0 {
			var known []string
			for _, c := range benchCases {
				known = append(known, c.name)
			}
			return nil, usagef("unknown bench case %q; there are %s", name, strings.Join(known, ", "))
		}
		out = append(out, benchCases[i])
	}
	return out, nil
}

func (p *program) bench(ctx context.Context, names []string, o benchOptions) error {
	cases, err := pickCases(names)
	if err != nil {
		return err
	}
	dev, err := p.open(ctx, o.Device)
	if err != nil {
		return err
	}
	b := &bench{program: p, o: o, device: dev.Name()}
	if b.options, _, err = settings(p.getenv, p.log); err != nil {
		return err
	}
	if b.options.CacheDir == "" { // a folder of its own, so that compiling is measured
		if b.options.CacheDir, err = os.MkdirTemp("", "weft-bench-"); err != nil {
			return fmt.Errorf("make a folder for compiled kernels: %w; set TMPDIR or WEFT_CACHE to a folder that can be written to", err)
		}
		defer os.RemoveAll(b.options.CacheDir)
	}
	needPeaks := b.device == "CPU" && slices.ContainsFunc(cases, func(c benchCase) bool { return c.flops+c.bytes > 0 || c.name == "limits" })
	if needPeaks {
		if err := b.measurePeaks(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			fmt.Fprintf(p.log, "no peaks to compare with: %v\n", err)
		}
	}
	for _, c := range cases {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := b.measure(ctx, c)
		if len(names) == 0 && (errors.As(err, new(*missingData)) || errors.Is(err, errNoLimits)) {
			fmt.Fprintf(p.log, "without %s: %v\n", c.name, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("bench %s: %w", c.name, err)
		}
		if err := b.print(r); err != nil {
			return err
		}
	}
	return nil
}

// measurePeaks finds the limits of the processor with the device's own compiler and threads.
func (b *bench) measurePeaks(ctx context.Context) (err error) {
	e, err := b.fresh(ctx, b.options.Threads)
	if err != nil {
		return err
	}
	b.peaks.one, b.peaks.all, b.peaks.copy, err = native.LimitsContext(ctx, e.Device())
	return err
}

// fresh opens the device anew, so that nothing is cached in it and its counters are 0.
func (b *bench) fresh(ctx context.Context, threads int) (*engine.Engine, error) {
	if e, err := engine.UseContext(ctx, b.device); err == nil {
		e.Close()
	}
	o := b.options
	o.Threads = threads
	engine.Configure(o, b.device)
	return engine.UseContext(ctx, b.device)
}

func (b *bench) measure(ctx context.Context, c benchCase) (*benchResult, error) {
	if c.special != nil {
		return c.special(ctx, b)
	}
	r, err := b.measureOn(ctx, c, b.options.Threads)
	if err != nil {
		return nil, err
	}
	r.OfPeak = c.share(r.MedianMS, b.peaks.all, b.peaks.copy)
	if r.Threads > 1 {
		one, err := b.measureOn(ctx, c, 1)
		if err != nil {
			return nil, err
		}
		r.OneThreadMS, r.OneThreadGFlops = one.MedianMS, one.GFlops
		if !c.byBytes {
			r.OneThreadOfPeak = c.share(one.MedianMS, b.peaks.one, 0)
		}
	}
	return r, nil
}

// share is the fraction of a peak that a run of ms reached; 0 where the peak is not known.
func (c benchCase) share(ms, gflops, gbps float64) float64 {
	amount, peak := c.flops, gflops
	if c.byBytes {
		amount, peak = c.bytes, gbps
	}
	if !(peak > 0) {
		return 0
	}
	return amount / (ms * 1e6) / peak
}

// A case runs for about this long, but at least and at most so often.
const (
	benchTime = 1500 * time.Millisecond
	benchMin  = 5
	benchMax  = 2000
)

func (b *bench) measureOn(ctx context.Context, c benchCase, threads int) (*benchResult, error) {
	e, err := b.fresh(ctx, threads)
	if err != nil {
		return nil, err
	}
	w, err := c.prepare(ctx)
	if err != nil {
		return nil, err
	}
	before := e.Stats()
	first, err := timed(ctx, w.run)
	if err != nil {
		return nil, err
	}
	compiled := e.Stats()
	// A second run settles what the first leaves behind, such as the states of an optimiser.
	if _, err := timed(ctx, w.run); err != nil {
		return nil, err
	}
	settled := e.Stats()
	times, start := []float64{}, time.Now()
	for len(times) < benchMin || (time.Since(start) < benchTime && len(times) < benchMax) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ms, err := timed(ctx, w.run)
		if err != nil {
			return nil, err
		}
		times = append(times, ms)
	}
	end := e.Stats()
	med := median(times)
	if b.device == "NULL" { // which compiles and never runs
		return &benchResult{Case: c.name, Device: e.Name(), Kernels: compiled.Kernels - before.Kernels,
			Launches: (end.Launches - settled.Launches) / len(times), CompileMS: first, PeakBytes: end.PeakBytes, Threads: 1}, nil
	}
	return &benchResult{
		Case: c.name, Device: e.Name(), MedianMS: med, MinMS: slices.Min(times), Threads: max(e.Info().Threads, 1),
		GFlops: c.flops / (med * 1e6), GBps: c.bytes / (med * 1e6),
		Kernels: compiled.Kernels - before.Kernels, Launches: (end.Launches - settled.Launches) / len(times),
		CompileMS: max(0, first-med), PeakBytes: end.PeakBytes,
	}, nil
}

func timed(ctx context.Context, f func(context.Context) error) (ms float64, err error) {
	start := time.Now()
	err = f(ctx)
	return time.Since(start).Seconds() * 1e3, err
}

// print writes a result as JSON or as a line for people.
func (b *bench) print(r *benchResult) error {
	if b.o.JSON {
		return json.NewEncoder(b.out).Encode(r)
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%-20s %-6s", r.Case, r.Device)
	put := func(ok bool, format string, args ...any) {
		if ok {
			fmt.Fprintf(&line, format, args...)
		}
	}
	put(r.MedianMS > 0, " %9.3f ms (min %.3f)", r.MedianMS, r.MinMS)
	put(r.GFlops > 0, " %7.1f GFLOP/s", r.GFlops)
	put(r.GBps > 0, " %6.1f GB/s", r.GBps)
	put(r.OfPeak > 0, " %5.1f %% of peak", 100*r.OfPeak)
	put(true, " on %d threads", r.Threads)
	put(r.OneThreadGFlops > 0, "; on one %.1f GFLOP/s", r.OneThreadGFlops)
	put(r.OneThreadOfPeak > 0, " %.1f %%", 100*r.OneThreadOfPeak)
	put(r.Kernels > 0, "; %d kernels, %d launches", r.Kernels, r.Launches)
	put(r.CompileMS > 0, ", compiled in %.0f ms", r.CompileMS)
	put(r.PeakBytes > 0, ", %s", sizeText(r.PeakBytes))
	_, err := fmt.Fprintln(b.out, line.String())
	return err
}
