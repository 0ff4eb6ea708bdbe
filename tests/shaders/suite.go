package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/null"
	"github.com/weft-ml/weft/tests/devicetest"
	"github.com/weft-ml/weft/tests/torchops"
)

// shader is a kernel as a device gets it.
type shader struct {
	Name, Entry, Source string
	Writes              []bool // of each storage buffer: bound read_write
	Needs               plan.Features
	file                string
}

// machines are the adapters that kernels are written for, with the least limits that WebGPU promises: every browser must
// take them.
var machines = []struct {
	name string
	wgsl.Machine
}{
	{"on the processor", wgsl.Machine{CPUBacked: true}},
	{"on a graphics card", wgsl.Machine{}},
	{"with subgroups", wgsl.Machine{Features: plan.Subgroups}},
	{"with 16-bit floats", wgsl.Machine{Features: plan.Subgroups | plan.Half}},
}

// slow is an adapter on which large launches are cut into parts.
var slow = plan.Limits{Flops: 50e6, Moves: 10e6}

// compiler is an engine that writes kernels for a machine, cut by limits, and runs nothing. It is registered: optimisers
// look for it.
func compiler(name string, m wgsl.Machine, cut plan.Limits) (*engine.Engine, error) {
	engine.Register(engine.Backend{
		Name: name,
		Open: func(engine.Options, func(*plan.Kernel, float64)) (*engine.Machine, error) {
			return &engine.Machine{Device: null.Open(null.Options{}), Target: wgsl.Target(m), Render: wgsl.Render, Finish: wgsl.Finisher(cut)}, nil
		},
	})
	return engine.Use(name)
}

// collected is one machine's part of the suite.
type collected struct {
	shaders []shader
	cases   int
	without []*torchops.Case // recorded ones whose graphs depend on values
}

// collect plans the conformance cases, the recorded ones in the folder (if not empty) and the large graphs.
func collect(name string, m wgsl.Machine, recorded []*torchops.Case) (c collected, err error) {
	e, err := compiler(name, m, plan.Limits{})
	if err != nil {
		return c, err
	}
	seen := map[string]bool{}
	see := func(v *engine.View) {
		for i := range v.Plan.Kernels {
			if k := &v.Plan.Kernels[i]; !seen[k.Source] {
				seen[k.Source] = true
				c.shaders = append(c.shaders, shaderOf(k))
			}
		}
	}
	n, _, err := devicetest.Plan(e, see)
	if err != nil {
		return c, fmt.Errorf("conformance cases: %w", err)
	}
	c.cases = n
	report := torchops.Plan(context.Background(), e, recorded, see)
	c.cases += report.Count(torchops.Passed)
	for _, r := range report.Results {
		if r.Status == torchops.Failed && !strings.Contains(r.Reason, noValues) {
			return c, fmt.Errorf("recorded case %s: %s", r.Case.ID, r.Reason)
		}
		if r.Status == torchops.Failed {
			c.without = append(c.without, r.Case)
		}
	}
	if n, err = planLarge(e, see); err != nil {
		return c, err
	}
	c.cases += n
	if e, err = compiler(name+"CUT", m, slow); err != nil {
		return c, err
	}
	n, err = planLarge(e, see)
	c.cases += n
	return c, err
}

func shaderOf(k *plan.Kernel) shader {
	s := shader{Name: k.Name, Entry: k.Entry, Source: k.Source, Needs: k.Needs}
	for _, b := range k.Binds {
		s.Writes = append(s.Writes, b.Write || b.Mutable)
	}
	return s
}

// noValues is what device NULL says when it is asked for one.
const noValues = "this device compiles and never runs"

// suite collects for all machines, equal sources once, and writes a file of each to the folder.
func suite(work string) ([]shader, error) {
	var recorded []*torchops.Case
	folder, err := recordedFolder()
	if err == nil && folder != "" {
		recorded, err = torchops.Load(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("the cases recorded from PyTorch: %w", err)
	}
	parts := make([]collected, len(machines))
	errs := make([]error, len(machines))
	var wait sync.WaitGroup
	for i, m := range machines {
		wait.Go(func() {
			if parts[i], errs[i] = collect(fmt.Sprint("WEBGPU", i+1), m.Machine, recorded); errs[i] != nil {
				errs[i] = fmt.Errorf("for an adapter %s: %w", m.name, errs[i])
			}
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s := set{work: work, seen: map[string]bool{}}
	for i, m := range machines {
		if err := s.add("an adapter "+m.name, parts[i].cases, parts[i].shaders); err != nil {
			return nil, err
		}
	}
	values := parts[0].without
	if len(values) == 0 {
		return s.all, nil
	}
	found, err := compute(values)
	switch {
	case errors.Is(err, errMissing) && os.Getenv("CI") != "true":
		fmt.Printf("without %d cases whose graphs depend on values: %v\n", len(values), err)
		return s.all, nil
	case err != nil:
		return nil, err
	}
	err = s.add("graphs that depend on values", len(values), found)
	return s.all, err
}

// set is shaders without repetition.
type set struct {
	work string
	seen map[string]bool
	all  []shader
}

func (t *set) add(what string, cases int, shaders []shader) error {
	before := len(t.all)
	for _, s := range shaders {
		if t.seen[s.Source] {
			continue
		}
		t.seen[s.Source] = true
		sum := sha256.Sum256([]byte(s.Source))
		s.file = filepath.Join(t.work, fmt.Sprintf("%s-%x.wgsl", s.Name, sum[:6]))
		if err := os.WriteFile(s.file, []byte(s.Source), 0o666); err != nil {
			return err
		}
		t.all = append(t.all, s)
	}
	fmt.Printf("%s: %d cases, %d shaders that are new\n", what, cases, len(t.all)-before)
	return nil
}

// recordedFolder is the folder WEFT_TORCH_OPS, else torch-ops among the shared data; "" where there is none, which is said.
func recordedFolder() (string, error) {
	if dir := os.Getenv("WEFT_TORCH_OPS"); dir != "" {
		return dir, nil
	}
	dir := os.Getenv("WEFT_DATA")
	if dir == "" {
		dir = filepath.Join("..", "shared", "data")
	}
	dir = filepath.Join(dir, "torch-ops")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			return "", fmt.Errorf("%w; name the folder of shared data with WEFT_DATA", err)
		}
		fmt.Printf("without the cases recorded from PyTorch: %v (WEFT_DATA names the folder of shared data)\n", err)
		return "", nil
	}
	return dir, nil
}
