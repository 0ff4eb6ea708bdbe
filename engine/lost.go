package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-ml/weft/runtime"
)

// Recovery tells of a device that was lost and opened again, with all that was on it.
type Recovery struct {
	Device        string
	Why           error
	Writes, Plays int // what was repeated
	Seconds       float64
}

func (r *Recovery) String() string {
	return fmt.Sprintf("%v; it was opened again: %d writes and %d plays repeated in %.0f ms", r.Why, r.Writes, r.Plays, r.Seconds*1e3)
}

// maxLosses is how many devices one call may lose and replace: its own work may be what kills them.
const maxLosses = 3

// attempt has f use the device. If it is lost, another one is opened, what was on it is brought back, and f is called
// again. If none can be opened that is an error, and the next attempt tries once more.
func (e *Engine) attempt(ctx context.Context, f func() error) error {
	if err := e.shut(); err != nil {
		return err
	}
	if !e.machine.MayBeLost {
		return f()
	}
	for losses := 0; ; losses++ {
		var err error
		if e.lost != nil {
			err = e.recover(ctx)
		}
		if err == nil {
			err = f()
		}
		var lost *runtime.Lost
		if !errors.As(err, &lost) {
			return err
		}
		e.abandon(lost)
		if losses == maxLosses {
			return fmt.Errorf("%w, %d times in a row: perhaps by what it was to compute; the next call opens it again", err, losses+1)
		}
	}
}

// abandon lets go of the device.
func (e *Engine) abandon(why *runtime.Lost) {
	for _, c := range e.memory.cells {
		e.memory.release(c)
	}
	for _, p := range e.plans {
		p.unload()
	}
	e.forgetRefits()
	e.machine.Device.Close() // whatever it has to say about that
	e.lost = why
}

// recover opens the device again and brings back what was on it.
func (e *Engine) recover(ctx context.Context) error {
	r := &Recovery{Device: e.name, Why: e.lost}
	start, why := seconds(), e.lost
	m, err := e.openMachine(e.backend, during(ctx, e.opts))
	if err != nil {
		return fmt.Errorf("%v and cannot be opened again now: %v; the next call tries once more, and arrays are kept for it", why, err)
	}
	is, was := m.Device.Info(), e.machine.Device.Info()
	if is.Detail != was.Detail || is.Features != was.Features { // another adapter may need other kernels
		clear(e.plans)
		clear(e.kernels)
		clear(e.tuning.known)
	}
	e.machine, e.memory.device, e.lost = m, m.Device, nil
	e.memory.collect()
	if err := e.repeat(ctx, r); err != nil {
		if !errors.As(err, new(*runtime.Lost)) { // else attempt does
			e.abandon(why)
		}
		return fmt.Errorf("bring back what was on a lost device: %w", err)
	}
	e.stats.Losses++
	r.Seconds = seconds() - start
	if e.opts.Log != nil {
		fmt.Fprintf(e.opts.Log, "weft: %s\n", r.String())
	}
	if e.opts.Recovered != nil {
		e.opts.Recovered(r)
	}
	return nil
}

// repeat takes the steps again that living arrays come from, so that arrays that change hold at each step what they held
// then. Cells of arrays that are gone have memory for as long as it is needed.
func (e *Engine) repeat(ctx context.Context, r *Recovery) error {
	steps := e.steps()
	for i, s := range steps {
		for _, c := range s.args {
			c.last = i
		}
	}
	free := func(s *step, since int) {
		for _, c := range s.args {
			if c.number == 0 && c.last <= since {
				e.memory.release(c)
			}
		}
	}
	defer func() {
		for _, s := range steps { // of which some may not have been reached
			free(s, len(steps))
		}
	}()
	for i, s := range steps {
		if err := e.place(s.args); err != nil {
			return err
		}
		var err error
		switch {
		case s.plan != nil:
			r.Plays++
			err = e.queue(ctx, s.plan, s.args, s.vars)
		case s.fill != nil:
			r.Writes++
			err = s.fill.now(ctx, e.machine.Device, s.args[0].mem)
		case len(s.host) > 0:
			r.Writes++
			err = e.machine.Device.Write(s.args[0].mem, 0, s.host)
		}
		if err != nil {
			return err
		}
		free(s, i)
	}
	return e.place(e.memory.cells) // those of undefined contents too
}

// place gives cells memory that have none.
func (e *Engine) place(cells []*cell) error {
	for _, c := range cells {
		if c.mem == nil {
			if err := e.memory.take(c); err != nil {
				return err
			}
		}
	}
	return nil
}
