package engine

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// maxPlans is how many plans an engine keeps, beside those of captured functions. The ones that were not played for the
// longest time go first: some drivers take megabytes for a kernel.
const maxPlans = 1024

// compiled is a plan made ready: the arguments of a play are the inputs in order of their slots, then an
// output for each root that is not an assignment.
type compiled struct {
	plan     *plan.Plan
	loaded   runtime.Loaded
	on       runtime.Device          // where it is loaded
	schedule *schedule.Result        // see result
	later    func() *schedule.Result // makes it, where there is none
	storeAll bool                    // how it was made
	pinned   int                     // how many Captured hold it: it is not freed
	used     int                     // counts compilations and finds of the engine: when it was last
	reads    []numbers               // see reads; made when it is needed
	brought  []*storage              // its constants, once they are in memory

	graph *canonical // of several devices, in the place of a plan
}

// play computes targets on a device that plays plans. sk, if it is not nil, is what they look like unresolved.
func (e *Engine) play(ctx context.Context, targets []target, sk *sketch) error {
	c := canonicalize(targets)
	if done, err := e.playSized(ctx, c, targets, sk); done || err != nil {
		return err
	}
	e.eager.note(e, sk, func() *knownGraph { return newKnown(sk, c, targets) })
	_, err := e.playExact(ctx, c, targets, nil)
	return err
}

// playExact plays the plan of a graph, and gives fresh arrays as run does.
func (e *Engine) playExact(ctx context.Context, c *canonical, targets []target, with Bindings) ([]*uop.UOp, error) {
	defer func() {
		for _, s := range c.numbers {
			e.memory.forget(s.cell)
		}
	}()
	vars, err := valuesOf(c.vars, with)
	if err != nil {
		return nil, err
	}
	p, err := e.compile(ctx, c)
	if err != nil {
		return nil, err
	}
	if p.reads == nil && slices.ContainsFunc(c.inputs, func(s *storage) bool { return s.doubts != nil }) {
		p.reads = reads(c)
	}
	return e.run(ctx, p, c.inputs, vars, targets, nil)
}

// run plays a compiled plan: fresh outputs are allocated where no place was given, assigned buffers get their next version. It gives the fresh
// ones, by target; a target's node, if it has one, stands for its own. ready are fresh ones that there are already, or nil.
func (e *Engine) run(ctx context.Context, p *compiled, inputs []*storage, vars []int32, targets []target, ready []made) ([]*uop.UOp, error) {
	args := make([]*cell, 0, len(inputs)+len(targets))
	for _, s := range inputs {
		args = append(args, s.cell)
	}
	written := make([]*cell, 0, len(targets))
	fresh := make([]*uop.UOp, len(targets))
	stores := make([]*storage, len(targets))
	for i, t := range targets {
		if t.dest != nil {
			stores[i] = t.store
			written = append(written, t.store.cell)
			continue
		}
		s := t.store
		if t.into == nil && ready != nil && ready[i].node != nil {
			fresh[i], s = ready[i].node, ready[i].store
		} else if t.into == nil {
			var err error
			if fresh[i], s, err = e.newBuffer(t.value.DType(), t.value.Shape()); err != nil {
				return nil, err
			}
		}
		stores[i] = s
		args = append(args, s.cell)
		written = append(written, s.cell)
	}
	if err := e.attempt(ctx, func() error {
		if p.graph != nil {
			return e.several.run(ctx, p.graph, inputs, vars, stores)
		}
		return e.playOnce(ctx, p, args, vars)
	}); err != nil {
		return nil, err
	}
	if e.machine.MayBeLost {
		e.note(&step{args: args, plan: p, vars: vars}, written...)
	}
	goruntime.KeepAlive(inputs)
	for i, t := range targets {
		if fresh[i] != nil && t.node != nil && t.flags == nil {
			t.node.SetRealized(fresh[i])
		}
	}
	e.commit(targets)
	if sure(targets, inputs) {
		for _, s := range stores {
			s.doubts = nil
		}
	} else if err := e.inherit(ctx, targets, stores, func(i int, each func(*storage)) {
		for slot, s := range inputs {
			if s.doubts != nil && p.reads[i].has(slot) {
				each(s)
			}
		}
	}); err != nil {
		return nil, err
	}
	return fresh, e.checkpointIf(ctx, busy)
}

// sure says that nothing is to be found wrong with what a play computes, as with most.
func sure(targets []target, inputs []*storage) bool {
	for _, s := range inputs {
		if s.doubts != nil {
			return false
		}
	}
	for i := range targets {
		if t := &targets[i]; t.flags != nil || t.on != nil {
			return false
		}
	}
	return true
}

// playOnce plays, once more after a collection if the device is full.
func (e *Engine) playOnce(ctx context.Context, p *compiled, args []*cell, vars []int32) error {
	e.memory.peak = max(e.memory.peak, e.memory.live+p.plan.Peak)
	err := e.queue(ctx, p, args, vars)
	if isFull(err) {
		e.memory.collect()
		err = e.queue(ctx, p, args, vars)
	}
	e.stats.Plays++
	e.stats.Launches += len(p.plan.Steps)
	return err
}

// queue hands a play to the device.
func (e *Engine) queue(ctx context.Context, p *compiled, args []*cell, vars []int32) error {
	if err := e.load(ctx, p); err != nil {
		return err
	}
	mems := make([]runtime.Mem, len(args))
	for i, c := range args {
		mems[i] = c.mem
	}
	return e.machine.Device.Play(p.loaded, mems, vars)
}

// load makes a plan ready on the device that there is now.
func (e *Engine) load(ctx context.Context, p *compiled) (err error) {
	if p.on != e.machine.Device {
		if p.loaded, err = e.machine.Device.Load(ctx, p.plan); err == nil {
			p.on = e.machine.Device
		}
	}
	return err
}

// unload gives a plan's place on the device back.
func (p *compiled) unload() {
	if p.on != nil {
		p.loaded.Free()
		p.loaded, p.on = nil, nil
	}
}

// forget gives up the plan that was not used for the longest time, when there are too many.
func (e *Engine) forget() {
	if len(e.plans) < maxPlans {
		return
	}
	oldest := ""
	for key, p := range e.plans {
		if p.pinned == 0 && (oldest == "" || p.used < e.plans[oldest].used) {
			oldest = key
		}
	}
	if oldest != "" {
		e.plans[oldest].unload()
		delete(e.plans, oldest)
	}
}

// compile finds the plan of a graph, or makes it, and loads it.
func (e *Engine) compile(ctx context.Context, c *canonical) (*compiled, error) {
	p, err := e.begun(ctx, c)
	if err != nil {
		return nil, err
	}
	return p, e.ready(ctx, c, p)
}

// ready loads a plan that was begun. One that cannot be loaded is not kept.
func (e *Engine) ready(ctx context.Context, c *canonical, p *compiled) error {
	if p.graph != nil {
		return nil
	}
	err := e.attempt(ctx, func() error { return e.load(ctx, p) })
	if err != nil && e.plans[c.key] == p {
		delete(e.plans, c.key)
	}
	return err
}

// begun finds the plan of a graph, or makes it. Compiling its kernels goes on meanwhile. The constants of the plan become the last inputs.
func (e *Engine) begun(ctx context.Context, c *canonical) (*compiled, error) {
	p, err := e.foundOrMade(ctx, c)
	if err != nil {
		return nil, err
	}
	if p.brought == nil {
		if p.brought, err = e.bringConstants(p.plan.Constants); err != nil {
			return nil, err
		}
	}
	c.inputs = append(c.inputs, p.brought...)
	return p, nil
}

// bringConstants has the constants of a plan be in memory. They are there as long as the plan, or somebody who plays it, is.
func (e *Engine) bringConstants(constants []plan.Constant) (stores []*storage, err error) {
	for _, x := range constants {
		_, s, err := e.newBuffer(x.DType, []int{len(x.Data) / x.DType.Size()})
		if err != nil {
			return nil, err
		}
		if err := e.write(s, x.Data); err != nil {
			return nil, fmt.Errorf("write the constants of a plan: %w", err)
		}
		stores = append(stores, s)
	}
	return stores, nil
}

// foundOrMade is begun without the constants.
func (e *Engine) foundOrMade(ctx context.Context, c *canonical) (*compiled, error) {
	e.clock++
	if e.several != nil { // each device has plans of its own
		return &compiled{plan: &plan.Plan{}, graph: c}, nil
	}
	if p := e.plans[c.key]; p != nil {
		p.used = e.clock
		return p, nil
	}
	f, err := e.generalise(c)
	if err != nil {
		return nil, err
	}
	if p := e.plans[c.key]; p != nil {
		p.used = e.clock
		return p, nil
	}
	e.debugAlike(f)
	c.number()
	p, err := e.planned(c, func() (*compiled, error) { return e.build(ctx, c, true) },
		func(p *compiled) error { return e.attempt(ctx, func() error { return e.load(ctx, p) }) })
	if err != nil {
		return nil, err
	}
	e.forget()
	p.used = e.clock
	e.plans[c.key] = p
	e.stats.Compiled++
	f.compiled++
	e.debugPlan(p)
	e.letGo(p, c)
	return p, nil
}

// build schedules a graph and writes its kernels; nothing is compiled yet, unless directives are searched for. Where fusion would make a
// kernel of too many loops, there is none.
func (e *Engine) build(ctx context.Context, c *canonical, searching bool) (p *compiled, err error) {
	e.debugGraph(c)
	p, err = e.buildOnce(ctx, c, searching, e.opts.StoreAll)
	if errors.Is(err, lower.ErrLoops) && !e.opts.StoreAll {
		return e.buildOnce(ctx, c, searching, true)
	}
	return p, err
}

func (e *Engine) buildOnce(ctx context.Context, c *canonical, searching, storeAll bool) (p *compiled, err error) {
	r, err := e.scheduled(c, storeAll)
	if err != nil {
		return nil, err
	}
	p = &compiled{schedule: r, storeAll: storeAll, plan: &plan.Plan{Version: plan.Version, Target: e.machine.Target.Name, Vars: planVars(c.graph.Vars)}}
	if err := e.layout(p.plan, r, c); err != nil {
		return nil, err
	}
	if searching {
		if err := e.search(ctx, e.wanted(r)); err != nil {
			return nil, err
		}
	}
	index := map[string]int{}
	of := map[*codegen.Spec][]int{} // the kernels of the Specs that were met, which loops have in each step
	parts := map[part]int{}
	made := map[int][]*uop.Origin{}
	for _, st := range r.Steps {
		if st.Spec == nil {
			p.plan.Steps = append(p.plan.Steps, plan.Step{Kind: plan.Copy, Slots: st.Bufs})
			continue
		}
		slots := slotsOf(p.plan, st, parts)
		for _, k := range of[st.Spec] {
			p.plan.Steps = append(p.plan.Steps, plan.Step{Kind: plan.Launch, Kernel: k, Slots: slots})
		}
		if of[st.Spec] != nil {
			continue
		}
		for _, spec := range lower.Nests(st.Spec, e.machine.Target) {
			key := specKey(spec)
			k, ok := index[key]
			if !ok {
				kernel, err := e.kernel(key, spec)
				if err != nil {
					return nil, err
				}
				k = len(p.plan.Kernels)
				index[key] = k
				p.plan.Kernels = append(p.plan.Kernels, kernel)
				if searching && e.machine.Expect != nil {
					e.machine.Expect(ctx, &kernel)
				}
			}
			if len(st.Made) > 0 {
				made[k] = append(made[k], st.Made...)
			}
			p.plan.Steps = append(p.plan.Steps, plan.Step{Kind: plan.Launch, Kernel: k, Slots: slots})
			of[st.Spec] = append(of[st.Spec], k)
		}
	}
	for k, origins := range made {
		p.plan.Kernels[k].Made = schedule.MadeString(origins)
	}
	if e.machine.Finish != nil {
		e.machine.Finish(p.plan)
	}
	e.recorded(p)
	return p, nil
}

// layout gives every buffer of a schedule its slot: inputs and outputs are arguments, the rest lies in arenas. Arrays that
// the device cannot hold are an error.
func (e *Engine) layout(p *plan.Plan, r *schedule.Result, c *canonical) error {
	most := e.machine.Target.Limits.MaxBytes
	for _, b := range r.Bufs {
		if b.Bytes() > mostBytes {
			return fmt.Errorf("%s: an array (%d × %v, %s) of %d bytes is larger than any memory; compute it in parts",
				e.name, b.N, b.DType, bufKinds[b.Kind], b.Bytes())
		}
		if most > 0 && b.Bytes() > most {
			return &runtime.TooLarge{Device: e.name, What: fmt.Sprintf("%d × %v, %s", b.N, b.DType, bufKinds[b.Kind]), Asked: b.Bytes(), Max: most}
		}
	}
	places, arenas := r.Memory(most)
	for _, n := range arenas {
		p.Peak += n
	}
	p.Memory = []plan.Memory{{Kind: plan.Arena, Bytes: arenas[0]}}
	inputs := make([]int, len(c.graph.Inputs))
	for i, in := range c.graph.Inputs {
		kind := plan.Input
		for _, root := range c.graph.Roots {
			if root.Dest == i {
				kind = plan.State
			}
		}
		inputs[i] = len(p.Memory)
		p.Memory = append(p.Memory, plan.Memory{Kind: kind, Arg: i, Bytes: int64(in.N * in.DType.Size())})
	}
	outputs := map[int]int{}
	constants := make([]int, len(r.Constants))
	for _, b := range r.Bufs {
		if b.Kind == schedule.ConstantBuf {
			arg := len(inputs) + len(p.Constants)
			constants[b.Index] = len(p.Memory)
			p.Memory = append(p.Memory, plan.Memory{Kind: plan.Input, Arg: arg, Bytes: b.Bytes()})
			p.Constants = append(p.Constants, plan.Constant{Arg: arg, DType: b.DType, Data: encode(b.DType, r.Constants[b.Index])})
		}
	}
	for i, root := range c.graph.Roots {
		if root.Dest < 0 {
			outputs[i] = len(p.Memory)
			b := r.Bufs[r.Roots[i]]
			p.Memory = append(p.Memory, plan.Memory{Kind: plan.Output, Arg: len(inputs) + len(p.Constants) + len(outputs) - 1, Bytes: b.Bytes()})
		}
	}
	more := []int{0} // memories that are arenas
	for _, n := range arenas[1:] {
		more = append(more, len(p.Memory))
		p.Memory = append(p.Memory, plan.Memory{Kind: plan.Arena, Bytes: n})
	}
	for i, b := range r.Bufs {
		s := plan.Slot{Bytes: b.Bytes(), DType: b.DType, Dims: []int{b.N}}
		switch b.Kind {
		case schedule.InputBuf:
			s.Memory = inputs[b.Index]
		case schedule.OutputBuf:
			s.Memory = outputs[b.Index]
		case schedule.ConstantBuf:
			s.Memory = constants[b.Index]
		case schedule.TempBuf:
			s.Offset, s.Memory = places[i].Offset, more[places[i].Arena]
		}
		p.Slots = append(p.Slots, s)
	}
	return nil
}

// part is a range of the array in a slot.
type part struct {
	slot        int
	from, bytes int64
}

// slotsOf are the slots of a step's arrays: where it gets parts of buffers, slots of their own, one for each part.
func slotsOf(p *plan.Plan, st schedule.Step, parts map[part]int) []int {
	slots := slices.Clone(st.Bufs)
	for i, b := range st.Bufs {
		q, whole := st.Spec.Params[i], p.Slots[b]
		n := uop.Shape(q.Dims).Numel()
		cut := part{b, int64(st.From[i] * q.DType.Size()), int64(n * q.DType.Size())}
		if cut.bytes == whole.Bytes {
			continue
		}
		slot, ok := parts[cut]
		if !ok {
			slot = len(p.Slots)
			p.Slots = append(p.Slots, plan.Slot{Memory: whole.Memory, Offset: whole.Offset + cut.from, Bytes: cut.bytes, DType: q.DType, Dims: []int{n}})
			parts[cut] = slot
		}
		slots[i] = slot
	}
	return slots
}

// mostBytes is more than the memory of any machine. Sums of offsets below it stay within 64 bits.
const mostBytes = 1 << 46

// bufKinds say of a too large array what it is for.
var bufKinds = map[schedule.BufKind]string{schedule.InputBuf: "an input", schedule.OutputBuf: "a result", schedule.TempBuf: "stored in between", schedule.ConstantBuf: "constants"}

// kernel gives the kernel of a Spec, from this engine's cache or anew.
func (e *Engine) kernel(key string, spec *codegen.Spec) (plan.Kernel, error) {
	if k, ok := e.kernels[key]; ok {
		return k, nil
	}
	e.debugSpec(spec)
	prog, err := lower.Lower(spec, e.directives(key, spec), e.machine.Target)
	if err != nil {
		return plan.Kernel{}, fmt.Errorf("generate kernel: %w", err)
	}
	k, err := e.machine.Render(prog)
	if err != nil {
		return plan.Kernel{}, fmt.Errorf("write kernel %s: %w", prog.Name, err)
	}
	if len(e.kernels) >= 16*maxPlans {
		clear(e.kernels)
		clear(e.entries)
	}
	e.kernels[key], e.entries[k.Entry] = k, true
	e.stats.Kernels++
	e.debugKernel(prog, &k)
	return k, nil
}

// specKey is equal for equal Specs.
func specKey(s *codegen.Spec) string {
	var w keyWriter
	for _, p := range s.Params {
		w.text(string(uop.MakeInts(p.Dims...)))
		w.int(int(p.DType))
		if p.Write {
			w.int(1)
		}
		if p.Own {
			w.int(2)
		}
	}
	w.int(len(s.Vars)) // their names are numbers
	if f := s.Foreign; f != nil {
		w.text(fmt.Sprintf("%#v", *f))
	}
	var roots []*uop.UOp
	for _, o := range s.Outs {
		roots = append(roots, o.Axes...)
		roots = append(roots, o.Index...)
		roots = append(roots, o.Value)
		if o.Gate != nil {
			roots = append(roots, o.Gate)
		}
	}
	for _, u := range uop.Topo(roots...) {
		w.node(u)
	}
	for _, o := range s.Outs {
		w.int(o.Param)
		w.int(len(o.Axes))
		if o.Merge != nil {
			w.int(int(*o.Merge))
		}
		if o.Gate != nil {
			w.int(w.id(o.Gate))
		}
		if o.Apart {
			w.text("apart")
		}
	}
	for _, r := range roots {
		w.int(w.id(r))
	}
	return string(w.buf)
}
