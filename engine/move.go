package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/runtime"
)

// An engine may begin on one device and go on with another: arrays keep their values, and captured functions are compiled anew at their
// next run. So a program need not wait for devices to be measured: it begins on what is there. Where the other device turns out not to be
// able to do something, the engine goes back to the first for good, as if it had never left.

// ErrBusy says that an engine cannot go to another device at this moment.
var ErrBusy = errors.New("a function is being captured, or elements are on their way to an array; try again later")

// Move has the engine go on with the device of this name, which no other engine of Use may have. If it fails everything is as it was.
// Nodes that are to be copied from or to it (Copy) name the device and must not be there.
func (e *Engine) Move(ctx context.Context, name string) error {
	b, ok := Find(name)
	if !ok {
		return Unknown(name)
	}
	if err := e.mu.LockFor(ctx); err != nil {
		return err
	}
	defer e.mu.Unlock()
	from := e.backend
	if err := e.move(ctx, b); err != nil {
		return fmt.Errorf("move from %s to %s: %w", from.Name, b.Name, err)
	}
	e.before = &from
	return nil
}

// Lacking says whether something failed because its device cannot compute with a type of elements, and with which.
func Lacking(err error) (dtype.DType, bool) {
	var unsupported *legal.Unsupported
	if !errors.As(err, &unsupported) {
		return dtype.Void, false
	}
	return unsupported.DType, true
}

// cannot says that something failed because the device lacks a type or memory for it.
func cannot(err error) bool {
	var unsupported *legal.Unsupported
	var large *runtime.TooLarge
	var full *runtime.OutOfMemory
	return errors.As(err, &unsupported) || errors.As(err, &large) || errors.As(err, &full)
}

// back has the engine return to the device that it began on, if it is that which why says the present one cannot do. It says whether.
func (e *Engine) back(ctx context.Context, why error) bool {
	if e.before == nil || !cannot(why) {
		return false
	}
	from := e.name
	if err := e.move(ctx, *e.before); err != nil {
		return false // why is told
	}
	e.before = nil
	e.Say("%s cannot do what is asked for, and %s goes on: %v", from, e.name, why)
	if e.opts.Returned != nil {
		e.opts.Returned(e.name, why)
	}
	return true
}

func (e *Engine) move(ctx context.Context, b Backend) error {
	switch {
	case e.closed:
		return &runtime.Closed{Device: e.name}
	case e.several != nil || e.joined.Load() || e.opts.Number > 0:
		return fmt.Errorf("%s is one or several of devices that stand for what they are; move arrays with On", e.name)
	case e.machine.Evaluate != nil || e.searches():
		return fmt.Errorf("%s evaluates graphs or searches for directives", e.name)
	case len(e.records) > 0 || e.filling > 0:
		return ErrBusy
	}
	if err := e.attempt(ctx, func() error { return e.machine.Device.Sync(ctx) }); err != nil {
		return err
	}
	e.memory.collect() // what is unused need not be moved
	m, err := e.openMachine(b, during(ctx, e.opts))
	if err != nil {
		return err
	}
	if m.Evaluate != nil {
		_ = m.Device.Close() // nothing is on it
		return fmt.Errorf("%s evaluates graphs", b.Name)
	}
	copies, err := e.copied(ctx, m)
	if err != nil {
		_ = m.Device.Close() // with what was copied
		return err
	}
	e.enter(b, m, copies)
	return nil
}

// moved is what a cell holds, on another device; and on the host, where that may be lost.
type moved struct {
	mem  runtime.Mem
	host []byte
}

// copied copies what all cells hold to another device.
func (e *Engine) copied(ctx context.Context, to *Machine) (map[*cell]moved, error) {
	copies := map[*cell]moved{}
	for _, c := range e.memory.cells {
		if c.mem == nil {
			continue
		}
		m, err := to.Device.Alloc(max(c.bytes, minBytes))
		if err != nil {
			return nil, err
		}
		host := make([]byte, c.bytes)
		if c.bytes > 0 {
			if err := e.machine.Device.Read(ctx, host, c.mem, 0); err != nil {
				return nil, err
			}
			if err := to.Device.Write(m, 0, host); err != nil {
				return nil, err
			}
		}
		if !to.MayBeLost {
			host = nil
		}
		copies[c] = moved{m, host}
	}
	return copies, to.Device.Sync(ctx)
}

// enter has the engine use a machine, where memory for all cells is. It forgets what was compiled for the one before.
func (e *Engine) enter(b Backend, m *Machine, copies map[*cell]moved) {
	for _, p := range e.plans {
		p.unload()
	}
	e.forgetRefits()
	clear(e.plans)
	clear(e.kernels)
	clear(e.tuning.known)
	old := e.machine.Device
	mu.Lock()
	if engines[e.name] == e {
		delete(engines, e.name)
		engines[b.Name] = e
		if fallback == e.name {
			fallback = b.Name
		}
	}
	mu.Unlock()
	e.rename(b.Name)
	e.backend, e.machine, e.memory.device = b, m, m.Device
	e.moves++
	e.journal.kept, e.journal.since = 0, 0
	for _, c := range e.memory.cells {
		e.memory.release(c)
		c.now = nil
		if to, ok := copies[c]; ok {
			c.mem = to.mem
			e.memory.live += c.mem.Bytes()
			e.hold(c, to.host)
		}
	}
	e.memory.peak = max(e.memory.peak, e.memory.live)
	_ = old.Close() // nothing is on it any more
}

// hold has the journal know that a cell has these elements, where the device may be lost.
func (e *Engine) hold(c *cell, host []byte) {
	if !e.machine.MayBeLost {
		return
	}
	j := &e.journal
	j.clock += 2
	c.now = &value{&step{at: j.clock, args: []*cell{c}, host: host}}
	j.kept += int64(len(host))
}

// again calls f, and once more if the engine has gone back to the device that it began on, which can do more.
func (e *Engine) again(ctx context.Context, f func() error) error {
	err := f()
	if err != nil && e.back(ctx, err) {
		err = f()
	}
	return err
}
