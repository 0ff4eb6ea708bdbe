package fuzz

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	passes "github.com/weft-ml/weft/codegen/evaluate"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	phases "github.com/weft-ml/weft/schedule/evaluate"
	"github.com/weft-ml/weft/shard"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// started is a program that was built and realized on a device; its results were not read yet.
type started struct {
	name string // of the engine
	runs [][]T  // the roots of each run
}

// start builds and realizes a program as its author would.
func start(p *Program, device string) (*started, error) {
	name, err := register(device, p.Options)
	if err != nil {
		return nil, err
	}
	configure(p.Options, name)
	return startOn(p, name)
}

// played are the engines that have played enough to look for graphs that they know.
var played = map[string]bool{}

// startOn starts a program on the engine of that name, which is the default one.
func startOn(p *Program, name string) (s *started, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Broken{"realizing", fmt.Sprintf("%v\n%s", r, stack())}
		}
	}()
	s = &started{name: name}
	if len(p.Inputs) > 0 {
		return s, s.captured(p)
	}
	if p.Options.Known { // a graph is kept when it is made a second time, after some plays of others
		for i := 0; i < 128 && !played[name]; i++ {
			if err := tensor.Realize(background, tensor.Of([]float32{1, 2}, 2).Add(tensor.Of([]float32{float32(i)}, 1))); err != nil {
				return nil, err
			}
		}
		played[name] = true
		for _, run := range []int{1, 2} {
			_, _ = p.eagerly(run) // its elements may be wrong for what reads values; what else fails does so below
		}
	}
	values, err := p.eagerly(0)
	if err != nil {
		return nil, err
	}
	s.runs = [][]T{these(values, p.roots())}
	return s, nil
}

// eagerly carries a program out that captures nothing.
func (p *Program) eagerly(run int) (values []T, err error) {
	for i := range p.Ops {
		o := &p.Ops[i]
		if p.Options.Others && run > 0 && o.Name != leafOp && o.Name != realizeOp {
			if t, err := attempt(o.renumbered(run), values); err == nil {
				values = append(values, t)
				continue
			}
		}
		if values, err = play(o, values, run); err != nil {
			return nil, fmt.Errorf("op %d, %s: %w", i, p.Ops[i].Name, err)
		}
	}
	for _, part := range p.Parts {
		if err := tensor.Realize(background, these(values, part)...); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func phaseChecker() *phases.Checker { return &phases.Checker{Seed: 1, Most: 40_000} }

// engine are the options of the engine itself.
func (o Options) engine() engine.Options {
	given := engine.Options{NoOpt: o.NoOpt, StoreAll: o.StoreAll, Numbers: o.Numbers}
	if o.Check {
		given.Check = (&passes.Checker{Seed: 1, Most: 4000}).Kernel
		given.Schedule = phaseChecker().Schedule
	}
	return given
}

func these(values []T, which []int) []T {
	out := make([]T, len(which))
	for i, v := range which {
		out[i] = values[v]
	}
	return out
}

// play carries an op out on a device.
func play(o *Op, values []T, run int) ([]T, error) {
	switch o.Name {
	case leafOp:
		return append(values, leafOf(o.Leaf, run)), nil
	case realizeOp:
		return append(values, nil), tensor.Realize(background, these(values, o.operands())...)
	}
	t, err := attempt(o, values)
	return append(values, t), err
}

func leafOf(l *Leaf, run int) T {
	return sharded(tensor.FromBytes(l.Type, l.Shape, raw(l.Type, l.values(run))), l)
}

// captured records the program once and runs it with other inputs.
func (s *started) captured(p *Program) error {
	outside := make([]T, len(p.Ops)) // leaves that are no inputs
	for i := range p.Ops {
		if p.Ops[i].Name == leafOp && !slices.Contains(p.Inputs, i) {
			outside[i] = leafOf(p.Ops[i].Leaf, 0)
		}
	}
	inputs := func(run int) []T {
		var in []T
		for _, v := range p.Inputs {
			in = append(in, leafOf(p.Ops[v].Leaf, run))
		}
		return in
	}
	var failed error
	c, err := tensor.Capture(background, func(in ...T) []T {
		values := make([]T, 0, len(p.Ops))
		for i := range p.Ops {
			if p.Ops[i].Name == leafOp {
				if k := slices.Index(p.Inputs, i); k >= 0 {
					values = append(values, in[k])
				} else {
					values = append(values, outside[i])
				}
				continue
			}
			var err error
			if values, err = play(&p.Ops[i], values, 0); err != nil {
				failed = fmt.Errorf("op %d, %s: %w", i, p.Ops[i].Name, err)
				panic(&tensor.ArgumentError{Op: "Capture", Reason: failed.Error()})
			}
		}
		return these(values, p.roots())
	}, inputs(0)...)
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	for run := range p.Runs {
		outs, err := c.Run(background, inputs(run)...)
		if err != nil {
			return err
		}
		for i, t := range outs { // what the function assigned is another thing after the next run
			if !c.Own(i) {
				outs[i] = t.Clone()
				if err := outs[i].Realize(background); err != nil {
					return err
				}
			}
		}
		s.runs = append(s.runs, outs)
	}
	return nil
}

// compare reads the results of a started program.
func (s *started) compare(want [][]result) (what What, text string) {
	defer func() {
		if r := recover(); r != nil {
			what, text = Panics, fmt.Sprintf("%v\n%s", r, stack())
		}
	}()
	for run, roots := range s.runs {
		for i, t := range roots {
			w := want[run][i]
			if t.DType() != w.dtype || !slices.Equal(t.Shape(), w.shape) {
				return Wrong, fmt.Sprintf("root %d of run %d is %v %v, not %v %v", i, run, t.DType(), t.Shape(), w.dtype, w.shape)
			}
			if what, why := w.read(t); what != Right {
				return what, fmt.Sprintf("root %d of run %d, %v %v: %s", i, run, w.dtype, w.shape, why)
			} else if why != "" {
				return Right, why
			}
		}
	}
	return Right, ""
}

// failure sorts errors: what a device refuses in words is no failure.
func failure(err error) (What, string) {
	var u *legal.Unsupported
	if cut := (*shard.CutError)(nil); errors.As(err, &u) || errors.As(err, &cut) {
		return Right, unsupported
	}
	if strings.Contains(err.Error(), "Capture: the function computes nothing") {
		return Right, ""
	}
	var b *Broken
	if errors.As(err, &b) {
		return Panics, err.Error()
	}
	return Fails, err.Error()
}

const unsupported = "unsupported"

// differs says what is wrong with the elements of a root, "" if nothing.
func (w *result) differs(got []uop.Value) string {
	first, bad := -1, 0
	for i, v := range got {
		if !w.bounds[i].holds(w.dtype, v) {
			bad++
			if first < 0 {
				first = i
			}
		}
	}
	if bad == 0 {
		return ""
	}
	at := make([]int, len(w.shape))
	unravel(at, first, w.shape)
	return fmt.Sprintf("%d of %d elements are wrong; first at %v: %s, not %s", bad, len(got), at, show(w.dtype, got[first]), w.bounds[first].show(w.dtype))
}

func show(d dtype.DType, v uop.Value) string { return point(v).show(d) }

// stack is where a panic came from.
func stack() string {
	var out []string
	for _, l := range strings.Split(string(debug.Stack()), "\n") {
		if strings.Contains(l, ".go:") && !strings.Contains(l, "/runtime/") && !strings.Contains(l, "tests/fuzz") {
			at := strings.TrimSpace(l)
			if i := strings.Index(at, "weft/"); i > 0 {
				at = at[i:]
			}
			at, _, _ = strings.Cut(at, " ")
			out = append(out, at)
		}
	}
	return strings.Join(out[:min(len(out), 10)], "\n")
}
