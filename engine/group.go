package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/shard"
	"github.com/weft-ml/weft/uop"
)

// group is several devices of one kind that compute together. A graph on it is one graph for the user; package shard makes of it one for
// each device, with Copy nodes where one needs what another has. These are carried out in stages: in each all devices play at once what
// they can, then the copies whose operands have been computed are carried out, all at once.
type group struct {
	engine   *Engine
	members  []*Engine
	names    []string
	programs map[string]*program // by graph, and how its arrays lie
	clock    int                 // counts runs
}

// Over is the engine of several devices of one kind, by name, in this order. It is made once for a list of devices, and opens those that
// are not open. One device is an engine of its own and no group.
func Over(ctx context.Context, devices []string) (*Engine, error) {
	if len(devices) == 0 {
		return nil, errors.New("no devices are named")
	}
	g := &group{programs: map[string]*program{}}
	for i, name := range devices {
		m, err := UseContext(ctx, name)
		if err != nil {
			return nil, err
		}
		if m.several != nil {
			return nil, fmt.Errorf("%s are several devices; name each", m.name)
		}
		if slices.Contains(g.members, m) {
			return nil, fmt.Errorf("device %s is named twice", m.name)
		}
		if i > 0 && m.backend.Name != g.members[0].backend.Name {
			return nil, fmt.Errorf("%s and %s are of different kinds; name devices of one kind, as %[3]s:0 and %[3]s:1", g.members[0].name, m.name, m.backend.Name)
		}
		g.members = append(g.members, m)
		kind, n, err := ordinal(m.name)
		if err != nil {
			return nil, err
		}
		g.names = append(g.names, fmt.Sprintf("%s:%d", kind, n))
	}
	if len(g.members) == 1 {
		return g.members[0], nil
	}
	target := g.members[0].Info().Target // before the lock, which those who hold an engine's wait for
	if err := mu.wait(ctx); err != nil {
		return nil, err
	}
	defer mu.Unlock()
	name := strings.Join(g.names, "+")
	if e := engines[name]; e != nil && slices.Equal(e.several.(*group).members, g.members) {
		return e, nil
	}
	first := g.members[0]
	g.engine = &Engine{opts: first.opts, backend: first.backend, several: g, plans: map[string]*compiled{}, families: map[string]*family{},
		kernels: map[string]plan.Kernel{}, records: map[*recording]bool{}}
	g.engine.rename(name)
	g.engine.opts.Unfolded, g.engine.opts.Search = true, 0 // what is computed once is no plan's
	g.engine.machine = &Machine{Device: together{g}, Target: &codegen.Target{Name: target}}
	for _, m := range g.members {
		m.joined.Store(true)
	}
	engines[name] = g.engine
	return g.engine, nil
}

// Members are the names of the devices that an engine stands for, in their order: its own, if that is one.
func (e *Engine) Members() []string {
	if g, ok := e.several.(*group); ok {
		return slices.Clone(g.names)
	}
	return []string{e.name}
}

// Several says whether e stands for several devices.
func (e *Engine) Several() bool { return e.several != nil }

// Lies says how the value of a node is cut over the devices of e: the axis, or shard.Whole.
func (e *Engine) Lies(u *uop.UOp) (cut int, err error) {
	g, ok := e.several.(*group)
	if !ok {
		return shard.Whole, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	targets, err := e.targets([]*uop.UOp{u}, nil)
	if err != nil {
		return 0, err
	}
	if len(targets) == 0 { // it is computed
		v, err := shard.New(g.names, g.lying).Spread(u.Realized())
		return v.Cut, err
	}
	c := canonicalize(targets) // with the checks, which may be what cannot be computed
	p, err := g.newProgram(c, c.inputs)
	if err != nil {
		return 0, err
	}
	return p.values[0].Cut, nil
}

// flags are arrays of flags, one for each check: codes may be cut along any axis, and those of several checks differently.
func (g *group) flags(columns []column) []target {
	out := make([]target, len(columns))
	for i, c := range columns {
		axes := make([]int, len(c.code.Shape()))
		for k := range axes {
			axes[k] = k
		}
		out[i] = target{value: c.code.Reduce(uop.MaxOf, axes...).Reshape(1), flags: []int{i}, checks: []uop.CheckArg{c.arg}}
	}
	return out
}

// lying gives the arrays of a graph as they lie now.
func (g *group) lying(u *uop.UOp) (shard.Value, error) {
	_, s := buffer(u)
	if s == nil || s.lies == nil {
		return g.undefined(u), nil
	}
	return shard.Value{Cut: s.lies.cut, Parts: s.lies.parts, Shape: s.lies.shape, Free: s.lies.free}, nil
}

// undefined is an array to which nothing was assigned, or a variable: every device makes it for itself.
func (g *group) undefined(u *uop.UOp) shard.Value {
	shape := u.Shape()
	if u.Op() != uop.Var {
		u = uop.NewInt(u.DType(), 0).Reshape(1).Expand(shape...)
	}
	return shard.Value{Cut: shard.Whole, Parts: slices.Repeat([]*uop.UOp{u}, len(g.names)), Shape: shape, Free: true}
}

// read puts the parts of an array together.
func (g *group) read(ctx context.Context, s *storage, dst []byte) error {
	at := s.lies
	if at == nil || len(dst) == 0 { // undefined contents, or none
		return nil
	}
	if at.cut == shard.Whole {
		return g.members[0].Read(ctx, at.parts[0], dst)
	}
	return g.each(func(i int) error {
		p := at.parts[i]
		raw := make([]byte, p.Shape().Numel()*p.DType().Size())
		if err := g.members[i].Read(ctx, p, raw); err != nil {
			return err
		}
		stretches(at.shape, at.cut, len(g.members), i, p.DType().Size(), func(whole, part, n int) { copy(dst[whole:whole+n], raw[part:part+n]) })
		return nil
	})
}

// write gives the devices new elements of an array.
func (g *group) write(s *storage, d dtype.DType, shape []int, data []byte, cut int) error {
	at := &lies{shape: slices.Clone(shape), cut: cut, parts: make([]*uop.UOp, len(g.members))}
	n := len(g.members)
	if cut != shard.Whole && shape[cut]%n != 0 {
		return fmt.Errorf("axis %d of shape %v cannot be cut into %d equal parts", cut, shape, n)
	}
	err := g.each(func(i int) (err error) {
		mine, local := data, slices.Clone(shape)
		if cut != shard.Whole {
			local[cut] /= n
			mine = make([]byte, len(data)/n)
			stretches(shape, cut, n, i, d.Size(), func(whole, part, n int) { copy(mine[part:part+n], data[whole:whole+n]) })
		}
		at.parts[i], err = g.members[i].FromBytes(d, local, mine)
		return err
	})
	if err == nil {
		s.lies = at
	}
	return err
}

// stretches calls f for the bytes that lie one after the other both in an array and in part i of n of it.
func stretches(shape uop.Shape, cut, n, i, size int, f func(whole, part, bytes int)) {
	inner := size
	for _, k := range shape[cut:] {
		inner *= k
	}
	if inner == 0 {
		return
	}
	bytes := inner / n
	for row := range shape[:cut].Numel() {
		f(row*inner+i*bytes, row*bytes, bytes)
	}
}

// each calls f for all devices at once, and gives the first error by their order.
func (g *group) each(f func(i int) error) error {
	errs := make([]error, len(g.members))
	var all sync.WaitGroup
	for i := range g.members {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", g.names[i], err)
		}
	}
	return nil
}

// together is what is said of several devices as of one. They have no memory and play no plans but by themselves.
type together struct{ *group }

func (t together) Info() plan.Info {
	info := t.members[0].Info()
	info.Name, info.Detail = t.engine.name, fmt.Sprintf("%d × %s", len(t.members), info.Detail)
	return info
}

func (t together) alone() error {
	return fmt.Errorf("%s has no memory of its own; use one of its devices", t.engine.name)
}

func (t together) Alloc(int64) (runtime.Mem, error)                         { return nil, t.alone() }
func (t together) Write(runtime.Mem, int64, []byte) error                   { return t.alone() }
func (t together) Read(context.Context, []byte, runtime.Mem, int64) error   { return t.alone() }
func (t together) Load(context.Context, *plan.Plan) (runtime.Loaded, error) { return nil, t.alone() }
func (t together) Play(runtime.Loaded, []runtime.Mem, []int32) error        { return t.alone() }
func (t together) Sync(ctx context.Context) error {
	return t.each(func(i int) error { return t.members[i].Sync(ctx) })
}
func (t together) Close() error { return nil }
