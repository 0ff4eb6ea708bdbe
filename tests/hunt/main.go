// Command hunt looks for slow corners: programs drawn at random, on the CPU, beside PyTorch. They are operations of random shapes, types and axes,
// forwards or their gradients, and networks of random layers, forwards or a step of training. It prints how many times as long PyTorch takes,
// the worst for Weft first, and the geometric mean. It refuses to judge: what is slow there is looked into by whoever runs it, and values are
// for tests/torchops and the fuzzer.
//
//	go run ./tests/hunt -seed 2 -networks 40 -large -type bfloat16
//	go run ./tests/hunt -seed 3 -operations 4 -only tanh,gather
//
// It uses the Python that make bench-peers installs.
package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

//go:embed python/hunt.py
var script string

// program is what both sides measure.
type program struct {
	Kind   string   `json:"kind"` // network or operation
	Name   string   `json:"name"` // of an operation
	Type   string   `json:"type"`
	Shape  []int    `json:"shape"`
	A      int      `json:"a"` // axes
	B      int      `json:"b"`
	Layers []string `json:"layers"` // of a network
	Grad   bool     `json:"grad"`   // or a step of training

	prepare func() // makes what follows
	graph   func(in ...*tensor.Tensor) []*tensor.Tensor
	in      []*tensor.Tensor
	ms      float64
	first   float64 // seconds until the first result
}

func (p *program) String() string {
	if p.Kind == "network" {
		return fmt.Sprintf("%s %v%s %s", p.Type, p.Shape, map[bool]string{true: " step"}[p.Grad], strings.Join(p.Layers, ", "))
	}
	return fmt.Sprintf("%s %s %v axes %d %d%s", p.Name, p.Type, p.Shape, p.A, p.B, map[bool]string{true: " gradient"}[p.Grad])
}

func main() {
	if err := hunt(); err != nil {
		fmt.Fprintln(os.Stderr, "hunt:", err)
		os.Exit(1)
	}
}

func hunt() error {
	seed := flag.Uint64("seed", 1, "of what is drawn")
	networks := flag.Int("networks", 0, "how many networks")
	large := flag.Bool("large", false, "networks of many channels and small batches")
	kind := flag.String("type", "float32", "of networks")
	operations := flag.Int("operations", 0, "how many programs of each operation")
	only := flag.String("only", "", "operations, with commas; all otherwise")
	cache, _ := os.UserCacheDir()
	python := flag.String("python", filepath.Join(cache, "weft", "peers", "python", "bin", "python"), "a Python with torch; make bench-peers installs this one")
	flag.Parse()
	if *networks+*operations == 0 || flag.NArg() > 0 {
		flag.Usage()
		return errors.New("say how many -networks or -operations")
	}
	if _, err := os.Stat(*python); err != nil {
		return fmt.Errorf("no Python with torch: %w; make bench-peers ONLY=products installs one", err)
	}
	d, ok := dtype.Parse(*kind)
	if !ok || !d.IsFloat() {
		return fmt.Errorf("-type %s: a type of floats belongs there", *kind)
	}
	ctx := context.Background()
	if _, err := engine.Use("CPU"); err != nil {
		return err
	}
	var all []*program
	for i := range *networks {
		all = append(all, drawNetwork(rand.New(rand.NewPCG(*seed, uint64(i))), d, *large))
	}
	r := rand.New(rand.NewPCG(*seed, math.MaxUint64))
	for _, o := range ops {
		if *only == "" || slices.Contains(strings.Split(*only, ","), o.name) {
			for range *operations {
				all = append(all, drawOperation(r, o))
			}
		}
	}
	all = slices.DeleteFunc(all, func(p *program) bool { return p == nil || !p.ready() })
	for i, p := range all {
		if err := p.measure(ctx); err != nil {
			return fmt.Errorf("%v: %w", p, err)
		}
		fmt.Fprintf(os.Stderr, "\r%d of %d", i+1, len(all))
	}
	fmt.Fprintln(os.Stderr, ", and PyTorch")
	theirs, err := peer(ctx, *python, all)
	if err != nil {
		return err
	}
	report(all, theirs)
	return nil
}

// ready prepares a program, and says whether it is one: there are operations that not all operands are for.
func (p *program) ready() bool {
	p.prepare()
	return p.graph(p.in...) != nil
}

// measure captures a program and times it.
func (p *program) measure(ctx context.Context) error {
	if err := tensor.Realize(ctx, p.in...); err != nil {
		return err
	}
	begin := time.Now()
	c, err := tensor.Capture(ctx, p.graph, p.in...)
	if err != nil {
		return err
	}
	run := func() (float64, error) {
		start := time.Now()
		out, err := c.Run(ctx, p.in...)
		if err != nil {
			return 0, err
		}
		if err := out[0].Engine().Sync(ctx); err != nil {
			return 0, err
		}
		took := time.Since(start)
		for _, t := range out {
			t.Discard()
		}
		return took.Seconds() * 1e3, nil
	}
	if _, err := run(); err != nil {
		return err
	}
	p.first = time.Since(begin).Seconds()
	var times []float64
	for begin := time.Now(); len(times) < leastRuns || len(times) < mostRuns && time.Since(begin) < runTime; {
		ms, err := run()
		if err != nil {
			return err
		}
		times = append(times, ms)
	}
	slices.Sort(times)
	p.ms = times[len(times)/4]
	p.in, p.graph = nil, nil
	return nil
}

// How often a program is run; its time is that of the first quarter of them in order. PyTorch does as much.
const leastRuns, mostRuns, runTime = 5, 60, 150 * time.Millisecond

// peer has PyTorch measure the programs, in milliseconds; 0 where it has no such operation.
func peer(ctx context.Context, python string, all []*program) (ms []float64, err error) {
	in, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, python, "-W", "ignore", "-c", script)
	c.Stdin, c.Stderr = strings.NewReader(string(in)), os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var x float64
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			return nil, errors.Join(fmt.Errorf("PyTorch's side said %q", lines.Text()), c.Wait())
		}
		ms = append(ms, x)
	}
	if err := c.Wait(); err != nil {
		return nil, fmt.Errorf("PyTorch's side: %w", err)
	}
	if len(ms) != len(all) {
		return nil, fmt.Errorf("PyTorch's side measured %d of %d programs", len(ms), len(all))
	}
	return ms, nil
}

func report(all []*program, theirs []float64) {
	type row struct {
		ratio, theirs float64
		*program
	}
	var rows []row
	logs := 0.0
	for i, p := range all {
		if theirs[i] > 0 {
			rows = append(rows, row{theirs[i] / p.ms, theirs[i], p})
			logs += math.Log(theirs[i] / p.ms)
		}
	}
	slices.SortFunc(rows, func(x, y row) int { return cmp.Compare(x.ratio, y.ratio) })
	fmt.Println("torch/weft   weft ms  torch ms   first s")
	for _, r := range rows {
		fmt.Printf("%10.2f %9.3f %9.3f %9.2f  %v\n", r.ratio, r.ms, r.theirs, r.first, r.program)
	}
	fmt.Printf("%10.2f is the geometric mean of %d programs\n", math.Exp(logs/float64(max(1, len(rows)))), len(rows))
}
