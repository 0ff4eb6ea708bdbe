package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/atomicfile"
	"github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/search"
)

// defaultWidth is the width of the search of weft tune report where BEAM does not say one.
const defaultWidth = 4

func tuneCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use: "tune", Short: "Search for faster kernels, and ship what was found", Args: sensible(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
		Long: `With BEAM=n every program searches by the clock for directives of its kernels that beat the model's choice, and keeps them in the cache
folder. These commands say what a search would gain, and carry what was found elsewhere.`,
	}
	var o tuneOptions
	report := &cobra.Command{
		Use: "report [CASE…]", Short: "Say how far the model's choice lies from the best that is found",
		Long: "Searches the kernels of all cases of weft bench, or of those named, and says how much longer each takes as the model chooses.",
		RunE: func(c *cobra.Command, args []string) error { return p.tuneReport(c.Context(), args, o) },
	}
	deviceFlag(report, &o.Device, "device to search on (default: $DEV, else the best that works)")
	report.Flags().BoolVar(&o.JSON, "json", false, "print one JSON object a kernel, and no summary")
	report.Flags().DurationVar(&o.Time, "time", 0, "for each kernel, at most (default 20s)")
	report.Flags().BoolVar(&o.Processor, "processor-time", false, "measure by the processor time of this process, on one thread: for a machine that does other work")
	check(report, atLeast(&o.Time, 0), "time")
	c.AddCommand(report,
		&cobra.Command{
			Use: "export FILE", Short: "Write all directives that were found to a file", Args: sensible(cobra.ExactArgs(1)),
			Long: "Writes what is kept in the cache folder to a file that another machine imports, or that a program hands to engine.Options.Directives.",
			RunE: func(_ *cobra.Command, args []string) error { return p.tuneExport(args[0]) },
		},
		&cobra.Command{
			Use: "import FILE", Short: "Keep directives that were found elsewhere", Args: sensible(cobra.ExactArgs(1)),
			Long: "Reads a file of weft tune export into the cache folder. Directives count on the kind of machine on which they were found, and only if they are legal.",
			RunE: func(_ *cobra.Command, args []string) error { return p.tuneImport(args[0]) },
		})
	return c
}

type tuneOptions struct {
	Device string
	JSON   bool
	Time   time.Duration

	Processor bool
}

func (p *program) openDirectives() (*backends.Directives, error) {
	o, _, err := settings(p.getenv, p.log)
	if err != nil {
		return nil, err
	}
	return backends.OpenDirectives(o)
}

func (p *program) tuneExport(path string) error {
	m, err := p.openDirectives()
	if err != nil {
		return err
	}
	defer m.Close()
	text, n := m.Export()
	if n == 0 {
		return errors.New("nothing was found yet: run a program with BEAM=4, or weft tune report, first")
	}
	err = atomicfile.Replace(path, ".weft-tune-", func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = fmt.Fprintf(p.out, "%d kernels\n", n)
	return err
}

func (p *program) tuneImport(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, search.MostBytes+1))
	if err != nil {
		return err
	}
	m, err := p.openDirectives()
	if err != nil {
		return err
	}
	defer m.Close()
	n, err := m.Import(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	_, err = fmt.Fprintf(p.out, "%d kernels\n", n)
	return err
}

// tuned is a kernel of a case.
type tuned struct {
	Case    string  `json:"case"`
	Device  string  `json:"device"`
	Kernel  string  `json:"kernel"`
	ModelMS float64 `json:"model_ms"`
	BestMS  float64 `json:"best_ms"`
	Times   float64 `json:"times"` // the model's time by the best
	Model   string  `json:"model"`
	Best    string  `json:"best"`
}

// tuneReport searches the kernels of cases.
func (p *program) tuneReport(ctx context.Context, names []string, o tuneOptions) error {
	cases, err := pickCases(names)
	if err != nil {
		return err
	}
	dev, err := p.open(ctx, o.Device)
	if err != nil {
		return err
	}
	b := &bench{program: p, device: dev.Name()}
	if b.options, _, err = settings(p.getenv, p.log); err != nil {
		return err
	}
	if b.options.Search == 0 {
		b.options.Search = defaultWidth
	}
	b.options.SearchTime = o.Time
	if o.Processor {
		b.options.Threads, b.options.SearchClock = 1, processorTime
	}
	for _, c := range cases {
		if len(names) > 0 && c.prepare == nil {
			return usagef("case %s has no kernels to search for", c.name)
		}
	}
	cases = slices.DeleteFunc(slices.Clone(cases), func(c benchCase) bool { return c.prepare == nil })
	var all []tuned
	bar := newProgress(p.log, "tune", len(cases))
	defer bar.done()
	for i, c := range cases {
		found, err := b.tune(ctx, c)
		if all = append(all, found...); err != nil {
			err = fmt.Errorf("tune %s: %w", c.name, err)
			if ctx.Err() != nil && !o.JSON { // what is known
				_ = p.summary(all)
			}
			return err
		}
		if o.JSON {
			for _, t := range found {
				if err := json.NewEncoder(p.out).Encode(t); err != nil {
					return err
				}
			}
		}
		bar.step(i+1, c.name)
	}
	if o.JSON {
		return nil
	}
	return p.summary(all)
}

// tune runs a case once, with a search of its kernels.
func (b *bench) tune(ctx context.Context, c benchCase) (found []tuned, err error) {
	seen := map[string]bool{}
	b.options.Searched = func(x search.Choice) {
		if !seen[x.Key] {
			seen[x.Key] = true
			found = append(found, tuned{c.name, b.device, x.Name, x.ModelSeconds * 1e3, x.BestSeconds * 1e3, 1 / x.Ratio(), x.Model, x.Best})
		}
	}
	if _, err := b.fresh(ctx, b.options.Threads); err != nil {
		return nil, err
	}
	w, err := c.prepare(engine.NoSearch(ctx)) // inputs are no part of the case
	if err != nil {
		return nil, err
	}
	_, err = timed(ctx, w.run)
	return found, err
}

// summary prints all kernels, those first whose model's choice is furthest from the best, and the mean.
func (p *program) summary(all []tuned) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(p.out, "no kernels were searched for")
		return err
	}
	slices.SortStableFunc(all, func(a, b tuned) int { return cmp.Compare(b.Times, a.Times) })
	var text strings.Builder
	sum, far := 0., 0
	fmt.Fprintf(&text, "%-17s %-34s %10s %10s %6s\n", "case", "kernel", "model ms", "best ms", "times")
	for _, t := range all {
		sum += math.Log(t.Times)
		if t.Times > 2 {
			far++
		}
		fmt.Fprintf(&text, "%-17s %-34s %10.4f %10.4f %6.2f\n", t.Case, t.Kernel, t.ModelMS, t.BestMS, t.Times)
	}
	fmt.Fprintf(&text, "%d kernels take %.2f times as long in the geometric mean as the best that was found; %d more than twice as long\n",
		len(all), math.Exp(sum/float64(len(all))), far)
	for _, t := range all[:min(10, len(all))] {
		if t.Times > 1 {
			fmt.Fprintf(&text, "\n%s %s: %.2f times\n  model %s\n  best  %s\n", t.Case, t.Kernel, t.Times, t.Model, t.Best)
		}
	}
	_, err := io.WriteString(p.out, text.String())
	return err
}
