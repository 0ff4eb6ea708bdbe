package fuzz

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/null"
	"github.com/weft-ml/weft/schedule"
)

// fired counts laws by the layer in which they fired: the phases of schedules, then the passes of kernels. Layers are closed by
// the checks that follow each.
type fired struct {
	layers  []string // in the order in which a graph goes through them
	counts  map[string]map[*rewrite.Rule]int
	pending map[*rewrite.Rule]int // of the layer under way
}

// afterPasses is the layer of what no check follows: writing kernels, or whatever came before something failed.
const afterPasses = "after the passes"

func newFired() *fired {
	return &fired{counts: map[string]map[*rewrite.Rule]int{}, pending: map[*rewrite.Rule]int{}}
}

// watch gives options of an engine under which every law that fires is counted. Checks that there are go on.
func (f *fired) watch(given Options) engine.Options {
	o := given.engine()
	passes := o.Check
	o.Schedule = func(g *schedule.Graph, c schedule.Config) (*schedule.Result, error) {
		if len(f.layers) > 0 {
			f.close(afterPasses)
		}
		rewrite.Trace(g.Table, func(v rewrite.Event) { f.pending[v.Rule]++ })
		return schedule.Checked(g, c, func(g *schedule.Graph) func(schedule.Stage) error {
			check := func(schedule.Stage) error { return nil }
			if given.Check {
				check = phaseChecker().Graph(g)
			}
			return func(s schedule.Stage) error {
				f.close("schedule: " + s.Phase.String())
				return check(s)
			}
		})
	}
	o.Check = func(s *codegen.Spec) func(codegen.Lowering) error {
		f.close("codegen: the choice of directives")
		var check func(codegen.Lowering) error
		if passes != nil {
			check = passes(s)
		}
		return func(l codegen.Lowering) error {
			f.close("codegen: " + l.Form().Pass)
			if check != nil {
				return check(l)
			}
			return nil
		}
	}
	return o
}

// close ends a layer: what fired since the last belongs to it.
func (f *fired) close(layer string) {
	if f.counts[layer] == nil {
		f.counts[layer] = map[*rewrite.Rule]int{}
		f.layers = append(f.layers, layer)
	}
	for r, n := range f.pending {
		f.counts[layer][r] += n
	}
	clear(f.pending)
}

// String lists the layers in which laws fired, in order, and in each the laws, those first that fired most.
func (f *fired) String() string {
	f.close(afterPasses) // or where it stopped
	var b strings.Builder
	b.WriteString("laws that fired:\n")
	for _, layer := range f.layers {
		if len(f.counts[layer]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %s\n", layer)
		list := make([]*rewrite.Rule, 0, len(f.counts[layer]))
		for r := range f.counts[layer] {
			list = append(list, r)
		}
		slices.SortFunc(list, func(x, y *rewrite.Rule) int {
			return cmp.Or(f.counts[layer][y]-f.counts[layer][x], strings.Compare(x.Name, y.Name), strings.Compare(x.At(), y.At()))
		})
		for _, r := range list {
			fmt.Fprintf(&b, "  %5d × %s (%s)\n", f.counts[layer][r], r.Name, r.At())
		}
	}
	return b.String()
}

// compiled gives the laws that fire while a program is compiled for a device as it would be run: part by part, captured or not.
// Nothing is run.
func compiled(p *Program, device string) (text string) {
	f := newFired()
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("%vand then: %v\n", f, r)
		}
	}()
	name, err := registerCompiler(device, p.Options)
	if err != nil {
		return "no laws: " + err.Error() + "\n"
	}
	engine.Configure(f.watch(p.Options), name)
	defer graphs()
	e, err := engine.Use(name)
	if err != nil {
		return "no laws: " + err.Error() + "\n"
	}
	defer e.Close() // with the kernels that it knows: the next program is compiled afresh
	if _, err := startOn(p, name); err != nil {
		return fmt.Sprintf("%vand then: %v\n", f, err)
	}
	return f.String()
}

// registerCompiler makes an engine that compiles for a device and runs nothing.
func registerCompiler(device string, o Options) (string, error) {
	full, err := register(device, o)
	if err != nil {
		return "", err
	}
	b, _ := engine.Find(full)
	open := b.Open
	b.Name = "COMPILE " + full
	b.Open = func(given engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
		m, err := open(given, trace)
		if err != nil {
			return nil, err
		}
		if m.Target == nil {
			return nil, fmt.Errorf("%s evaluates graphs, no law fires", device)
		}
		m.Device = &unplayed{null.Open(null.Options{}), m.Device}
		return m, nil
	}
	engine.Register(b)
	return b.Name, nil
}

// unplayed is a device that is closed with another.
type unplayed struct {
	*null.Device
	real runtime.Device
}

// Close closes both.
func (d *unplayed) Close() error {
	err := d.real.Close()
	return cmp.Or(d.Device.Close(), err)
}
