package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// folded is what a captured function computes at its first run and keeps: values of arrays that no run changes. They remember
// the versions of these arrays, and are computed anew when one was assigned since, by whomever; so a run never sees another value than
// without them. To the journal they are arrays like any others. They take memory besides the arrays that they come from.
type folded struct {
	values   []*foldedValue
	plan     *compiled
	inputs   []*storage // of the plan
	versions []int      // of the inputs when the values were computed; nil: they were not
	runs     int
	changes  int // how many runs found them out of date
}

// foldedValue is one of them.
type foldedValue struct {
	value *uop.UOp // pure, of arrays that no run changes
	stand *uop.UOp // a Buffer, perhaps reshaped, that stands for it in the graph of a run
	slot  int      // of the run's plan; −1: it is not used there
	node  *uop.UOp // the Buffer that holds it, once there is one
	why   string
}

// Where constants change again and again, as weights do that are trained beside, what a run would have computed on its way is written to
// memory first and read back: from fewChanges on that are more than one in rarely runs, nothing is folded any more.
const fewChanges, rarely = 4, 4

// varies are the arrays that runs find changed.
func (c *Captured) varies() varying {
	out := varying{}
	for _, in := range c.shapes {
		_, s := buffer(in)
		out[s] = true
	}
	for _, t := range c.targets {
		if t.dest != nil {
			out[t.store] = true
		}
	}
	for _, r := range c.renew {
		_, s := buffer(r.Buffer)
		out[s] = true
	}
	return out
}

// fold takes out of targets what is computed once, and gives what is left to a run.
func (e *Engine) fold(targets []target, varies varying) (*folded, []target, error) {
	found := constantsOf(values(targets), varies)
	f := &folded{}
	with := map[*uop.UOp]*uop.UOp{}
	for _, u := range found.found {
		v, err := e.foldedValue(u, found.why[u])
		if err != nil {
			return nil, nil, err
		}
		f.values = append(f.values, v)
		with[u] = v.stand
	}
	targets, err := e.pack(f, replacedIn(targets, with), varies)
	return f, targets, err
}

func (e *Engine) foldedValue(u *uop.UOp, why string) (*foldedValue, error) {
	stand, err := e.StandIn(u.DType(), u.Shape())
	return &foldedValue{value: u, stand: stand, slot: -1, why: why}, err
}

// replacedIn gives targets whose values have other nodes in the place of some.
func replacedIn(targets []target, with map[*uop.UOp]*uop.UOp) []target {
	if len(with) == 0 {
		return targets
	}
	out, roots := slices.Clone(targets), values(targets)
	done := map[*uop.UOp]*uop.UOp{}
	for _, u := range uop.Topo(roots...) {
		switch v := with[u]; {
		case v != nil:
			done[u] = v
		case len(u.Src()) == 0:
			done[u] = u
		default:
			done[u] = u.WithSrc(u.Home(), func(s *uop.UOp) *uop.UOp { return done[s] })
		}
	}
	for i := range out {
		out[i].value = done[roots[i]]
	}
	return out
}

// used leaves out the values that a run's graph does not use, and notes the slots of the others.
func (f *folded) used(run *canonical) {
	kept := f.values[:0]
	for _, v := range f.values {
		_, s := buffer(v.stand)
		for i, x := range run.inputs {
			if x == s {
				v.slot = i
				kept = append(kept, v)
			}
		}
	}
	f.values = kept
}

// compile makes the plan that computes the values.
func (f *folded) compile(ctx context.Context, e *Engine) error {
	canon := canonicalize(f.targets())
	p, err := e.compile(ctx, canon)
	if err != nil {
		return err
	}
	p.pinned++
	if p.reads == nil {
		p.reads = reads(canon)
	}
	f.plan, f.inputs = p, canon.inputs
	e.debugFolded(f)
	return nil
}

// targets are to compute the values, into the arrays that there are.
func (f *folded) targets() []target {
	out := make([]target, len(f.values))
	arena := uop.NewArena()
	for i, v := range f.values {
		out[i] = target{node: arena.Param(i, v.value.Shape().Numel(), v.value.DType()).Reshape(v.value.Shape()...), value: v.value}
		if v.node != nil {
			out[i].into, out[i].store = buffer(v.node)
		}
	}
	return out
}

// current says whether no array was assigned since the values were computed.
func (f *folded) current() bool {
	if f.versions == nil {
		return false
	}
	for i, s := range f.inputs {
		if s.current() != f.versions[i] {
			return false
		}
	}
	return true
}

// compute brings the values up to date.
func (f *folded) compute(ctx context.Context, e *Engine) error {
	for _, v := range f.values {
		if v.node == nil {
			node, _, err := e.newBuffer(v.value.DType(), v.value.Shape())
			if err != nil {
				return err
			}
			v.node = node
		}
	}
	versions := make([]int, len(f.inputs))
	for i, s := range f.inputs {
		versions[i] = s.current()
	}
	f.versions = nil
	if _, err := e.run(ctx, f.plan, f.inputs, nil, f.targets(), nil); err != nil {
		return err
	}
	f.versions = versions
	return nil
}

// place puts the values among the arrays of a run.
func (f *folded) place(bound []*storage) {
	for _, v := range f.values {
		_, bound[v.slot] = buffer(v.node)
	}
}

// upToDate has the constants of a captured function computed where they are not, or has runs do without them: where there is no
// memory for them, or they change too often.
func (c *Captured) upToDate(ctx context.Context) error {
	f := c.folded
	if f == nil {
		return nil
	}
	f.runs++
	if f.current() {
		return nil
	}
	if f.versions != nil {
		f.changes++
	}
	if f.changes >= fewChanges && f.runs < rarely*f.changes {
		return c.unfold(ctx, fmt.Sprintf("they changed before %d of %d runs", f.changes, f.runs))
	}
	err := f.compute(ctx, c.engine)
	if isFull(err) {
		return c.unfold(ctx, err.Error())
	}
	return err
}

// unfold has each run compute everything.
func (c *Captured) unfold(ctx context.Context, why string) error {
	if c.engine.says(debugPlans) {
		c.engine.Say("%s captured: %d constants are computed in each run again: %s", c.engine.name, len(c.folded.values), why)
	}
	c.folded = nil
	return c.compile(ctx, false)
}

// debugFolded tells what is computed once, and why.
func (e *Engine) debugFolded(f *folded) {
	if !e.says(debugPlans) {
		return
	}
	bytes := 0
	for _, v := range f.values {
		bytes += v.value.Shape().Numel() * v.value.DType().Size()
	}
	e.Say("%s captured: %d values of constants, %.2f MB, are computed at the first run, by %d kernels", e.name, len(f.values), float64(bytes)/1e6, len(f.plan.plan.Steps))
	if e.says(debugSchedules) {
		for _, line := range f.reasons() {
			e.Say("    %s", line)
		}
	}
}

func (f *folded) reasons() (lines []string) {
	for _, v := range f.values {
		lines = append(lines, fmt.Sprintf("once   %v %v: %s", v.value.DType().Short(), v.value.Shape(), v.why))
	}
	return lines
}
