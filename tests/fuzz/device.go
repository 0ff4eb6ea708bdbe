package fuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// Compiling C costs as much to start as to do, so a device can be put off: it notes what it is asked, and when the first
// array is read all kernels that were loaded since are compiled in one go, and everything is done in its order. Each program
// keeps its own plans, and its kernels are what they are alone.

// register makes the engine of a device with options known under a name of its own, and gives that.
func register(device string, o Options) (string, error) {
	if n, each := counted(device); n > 1 {
		name, err := register(each, o)
		return fmt.Sprint(n, " ", name), err
	}
	name := fmt.Sprintf("FUZZ %s%s", device, o.suffix())
	if _, ok := engine.Find(name); ok {
		return name, nil
	}
	b, ok := engine.Find(device)
	if !ok {
		return "", &engine.UnknownDevice{Name: device, Known: engine.Names()}
	}
	open := b.Open
	b.Name, b.Rank = name, 0
	b.Open = func(given engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
		given.NoOpt, given.Poison, given.Fence, given.Threads, given.CacheDir = o.NoOpt, true, true, 2, cacheDir
		m, err := open(given, trace)
		if err != nil || m.Evaluate != nil {
			return m, err
		}
		if o.Directives != 0 {
			m.Choose = func(s *codegen.Spec, t *codegen.Target) []codegen.Directive {
				return randomDirectives(o.Directives, s, t)
			}
		}
		if device == "CPU" {
			m.Device = &late{Device: m.Device}
		}
		return m, nil
	}
	engine.Register(b)
	return name, nil
}

// cacheDir is where compiled kernels go, "" for the user's cache.
var cacheDir string

// suffix tells engines apart.
func (o Options) suffix() string {
	s := ""
	if o.NoOpt {
		s += " NOOPT"
	}
	if o.StoreAll {
		s += " STOREALL"
	}
	if o.Numbers {
		s += " NUMBERS"
	}
	if o.Known {
		s += " KNOWN"
	}
	if o.Others {
		s += " OTHERS"
	}
	if o.Check {
		s += " CHECK"
	}
	if o.Directives != 0 {
		s += fmt.Sprint(" DIRECTIVES ", o.Directives)
	}
	return s
}

// late is a device that waits until something is read.
type late struct {
	runtime.Device
	fresh []*plan.Plan // loaded since
	queue []func() error
}

type lateMem struct {
	runtime.Mem
	on *late
}

func (m *lateMem) Free() {
	inner := m.Mem
	m.on.queue = append(m.on.queue, func() error { inner.Free(); return nil })
}

type latePlan struct {
	on    *late
	plan  *plan.Plan
	inner runtime.Loaded
}

func (p *latePlan) Plan() *plan.Plan { return p.plan }
func (p *latePlan) Free() {
	p.on.queue = append(p.on.queue, func() error {
		if p.inner != nil {
			p.inner.Free()
		}
		return nil
	})
}

// Alloc is at once.
func (d *late) Alloc(bytes int64) (runtime.Mem, error) {
	m, err := d.Device.Alloc(bytes)
	if err != nil {
		return nil, err
	}
	return &lateMem{m, d}, nil
}

// Write waits.
func (d *late) Write(dst runtime.Mem, at int64, src []byte) error {
	src = slices.Clone(src)
	d.queue = append(d.queue, func() error { return d.Device.Write(dst.(*lateMem).Mem, at, src) })
	return nil
}

// Load waits.
func (d *late) Load(_ context.Context, p *plan.Plan) (runtime.Loaded, error) {
	d.fresh = append(d.fresh, p)
	l := &latePlan{on: d, plan: p}
	d.queue = append(d.queue, func() (err error) {
		l.inner, err = d.Device.Load(background, p)
		return err
	})
	return l, nil
}

// Play waits.
func (d *late) Play(l runtime.Loaded, args []runtime.Mem, vars []int32) error {
	args = slices.Clone(args)
	d.queue = append(d.queue, func() error {
		inner := make([]runtime.Mem, len(args))
		for i, m := range args {
			inner[i] = m.(*lateMem).Mem
		}
		loaded := l.(*latePlan).inner
		if loaded == nil {
			return errors.New("the plan was not loaded")
		}
		return d.Device.Play(loaded, inner, vars)
	})
	return nil
}

// Read does everything.
func (d *late) Read(ctx context.Context, dst []byte, src runtime.Mem, at int64) error {
	if err := d.flush(); err != nil {
		return err
	}
	return d.Device.Read(ctx, dst, src.(*lateMem).Mem, at)
}

// Sync does everything.
func (d *late) Sync(ctx context.Context) error {
	if err := d.flush(); err != nil {
		return err
	}
	return d.Device.Sync(ctx)
}

// flush does what waits. What fails there fails the whole batch, whose programs are then run alone.
func (d *late) flush() (first error) {
	queue := d.queue
	d.queue = nil
	if err := d.compile(); err != nil {
		first = err
	}
	for _, f := range queue {
		if err := f(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// compile hands all kernels over in one plan without steps; loading the plans themselves finds them compiled.
func (d *late) compile() error {
	all := &plan.Plan{Version: plan.Version}
	seen := map[string]bool{}
	for _, p := range d.fresh {
		all.Target, all.Memory = p.Target, p.Memory[:1]
		for _, k := range p.Kernels {
			if key := k.Entry + k.Source; !seen[key] {
				seen[key] = true
				all.Kernels = append(all.Kernels, k)
			}
		}
	}
	d.fresh = nil
	if len(all.Kernels) == 0 {
		return nil
	}
	l, err := d.Device.Load(background, all)
	if err == nil {
		l.Free()
	}
	return err
}
