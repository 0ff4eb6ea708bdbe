// Package guard checks what a device is handed before it touches it: memory and plans of its own that were not freed,
// ranges within buffers, as many arguments as a plan takes. All devices say the same about the same mistake.
//
// It knows plans and who owns what. It refuses to know where bytes lie and how plans are played.
package guard

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// Mem is a device's kind of memory.
type Mem interface {
	comparable
	runtime.Mem
	Owner() any // the device, also after Free
	Freed() bool
}

// Loaded is a device's kind of loaded plan.
type Loaded interface {
	comparable
	runtime.Loaded
	Owner() any // the device; anything else after Free
}

// Door is what all calls of one device go through, with its kinds of memory and of loaded plans.
type Door[M Mem, L Loaded] struct {
	name   string
	device any
	closed bool
}

// New makes the door of a device, which errors call by its name.
func New[M Mem, L Loaded](name string, device any) Door[M, L] {
	return Door[M, L]{name: name, device: device}
}

// Open is an error once Close was called.
func (d *Door[M, L]) Open() error {
	if d.closed {
		return &runtime.Closed{Device: d.name}
	}
	return nil
}

// Close shuts the door and reports whether it was open.
func (d *Door[M, L]) Close() bool {
	was := !d.closed
	d.closed = true
	return was
}

// Sync is all of runtime.Device.Sync where Play returns when its work is done.
func (d *Door[M, L]) Sync(ctx context.Context) error {
	if err := d.Open(); err != nil {
		return err
	}
	return ctx.Err()
}

// Alloc checks how many bytes are asked for.
func (d *Door[M, L]) Alloc(bytes int64) error {
	if err := d.Open(); err != nil {
		return err
	}
	if bytes < 0 {
		return fmt.Errorf("%s: cannot allocate %d bytes", d.name, bytes)
	}
	return nil
}

// Own returns m as memory of the device that is not freed.
func (d *Door[M, L]) Own(m runtime.Mem) (M, error) {
	var none M
	if err := d.Open(); err != nil {
		return none, err
	}
	x, ok := m.(M)
	switch {
	case !ok || x == none || x.Owner() != d.device:
		return none, fmt.Errorf("%s: memory of another device (%T)", d.name, m)
	case x.Freed():
		return none, fmt.Errorf("%s: memory was freed before", d.name)
	}
	return x, nil
}

// Span returns m as Own does, if it has n bytes from byte at on. What says what they are wanted for.
func (d *Door[M, L]) Span(what string, m runtime.Mem, at int64, n int) (M, error) {
	x, err := d.Own(m)
	if err != nil {
		return x, fmt.Errorf("%s: %w", what, err)
	}
	if at < 0 || at > x.Bytes() || int64(n) > x.Bytes()-at {
		return x, fmt.Errorf("%s: %s %d bytes at %d of a buffer of %d", d.name, what, n, at, x.Bytes())
	}
	return x, nil
}

// Load checks that a plan is whole and in one of the languages that the device understands.
func (d *Door[M, L]) Load(p *plan.Plan, targets ...string) error {
	if err := d.Open(); err != nil {
		return err
	}
	if err := p.Check(targets...); err != nil {
		return fmt.Errorf("%s: load plan: %w", d.name, err)
	}
	return nil
}

// Play returns a plan that the device loaded and that is not freed.
func (d *Door[M, L]) Play(of runtime.Loaded) (L, error) {
	var none L
	if err := d.Open(); err != nil {
		return none, err
	}
	l, ok := of.(L)
	switch {
	case !ok || l == none:
		return none, fmt.Errorf("%s: play: the plan was loaded by another kind of device (%T)", d.name, of)
	case l.Owner() != d.device:
		return none, fmt.Errorf("%s: play: the plan was freed or loaded by another device", d.name)
	}
	return l, nil
}

// Bind checks the arguments and variables of a play and sets the plan's memories, all but the arena's, to them.
func (d *Door[M, L]) Bind(p *plan.Plan, args []runtime.Mem, vars []int32, memories []M) error {
	if n := p.Args(); len(args) != n {
		return fmt.Errorf("%s: play: the plan takes %d buffers and gets %d", d.name, n, len(args))
	}
	if err := p.CheckVars(vars); err != nil {
		return fmt.Errorf("%s: play: %w", d.name, err)
	}
	for i, m := range p.Memory {
		if m.Kind == plan.Arena {
			continue
		}
		x, err := d.Own(args[m.Arg])
		if err != nil {
			return fmt.Errorf("%s: play: argument %d (%s): %w", d.name, m.Arg, m.Kind, err)
		}
		if x.Bytes() < m.Bytes {
			return fmt.Errorf("%s: play: argument %d (%s) has %d bytes and the plan needs %d", d.name, m.Arg, m.Kind, x.Bytes(), m.Bytes)
		}
		memories[i] = x
	}
	return nil
}
