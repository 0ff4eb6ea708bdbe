package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-ml/weft/runtime"
)

// Recovery tells of a device that was lost and opened again, with all that was on it.
type Recovery struct {
	Device        string
	Why           error
	Writes, Plays int // what was repeated
	Took          time.Duration
}

func (r Recovery) String() string {
	return fmt.Sprintf("%v; it was opened again: %d writes and %d plays repeated in %.0f ms", r.Why, r.Writes, r.Plays, r.Took.Seconds()*1e3)
}

// maxLosses is how many devices one call may lose and replace: its own work may be what kills them.
const maxLosses = 3

// attempt has f use the device. If it is lost, another one is opened, what was on it is brought back, and f is called
// again. If none can be opened that is an error, and the next attempt tries once more.
func (e *Engine) attempt(ctx context.Context, f func() error) error {
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
	for c := range e.memory.cells {
		e.memory.release(c)
	}
	for _, p := range e.plans {
		p.unload()
	}
	e.machine.Device.Close() // whatever it has to say about that
	e.lost = why
}

// recover opens the device again and brings back what was on it.
func (e *Engine) recover(ctx context.Context) error {
	start, why := time.Now(), e.lost
	m, err := e.backend.Open(e.opts, e.trace)
	if err != nil {
		return fmt.Errorf("%v and cannot be opened again now: %v; the next call tries once more, and arrays are kept for it", why, err)
	}
	if m.Device.Info() != e.machine.Device.Info() { // another adapter may need other kernels
		clear(e.plans)
		clear(e.kernels)
		e.order = nil
	}
	e.machine = m
	e.memory.init(m)
	e.lost = nil
	e.memory.collect()
	writes, plays, err := e.repeat(ctx)
	if err != nil {
		if !errors.As(err, new(*runtime.Lost)) { // else attempt does
			e.abandon(why)
		}
		return fmt.Errorf("bring back what was on a lost device: %w", err)
	}
	e.stats.Losses++
	r := Recovery{Device: e.name, Why: why, Writes: writes, Plays: plays, Took: time.Since(start)}
	if e.says(debugPlans) {
		fmt.Fprintln(e.opts.Log, r)
	}
	if e.opts.Recovered != nil {
		e.opts.Recovered(r)
	}
	return nil
}

// event is one write or play to repeat. A value that was read back comes after the play that left it.
type event struct {
	order int
	cells []*cell
	host  []byte // of a write
	by    *play
}

// repeat writes and plays again what the arrays that live need, in the order of old, so that arrays that change hold at
// each moment what they held then. Cells of arrays that are gone have memory for as long as they are needed.
func (e *Engine) repeat(ctx context.Context) (writes, plays int, err error) {
	events := e.events()
	last := map[*cell]int{}
	for i, v := range events {
		for _, c := range v.cells {
			last[c] = i
		}
	}
	live := e.memory.cells
	defer func() {
		for c := range last {
			if _, ok := live[c]; !ok {
				e.memory.release(c)
			}
		}
	}()
	for i, v := range events {
		for _, c := range v.cells {
			if err := e.place(c); err != nil {
				return writes, plays, err
			}
		}
		if v.by != nil {
			plays++
			err = e.queue(ctx, v.by.plan, v.cells)
		} else {
			writes++
			err = e.machine.Device.Write(v.cells[0].mem, 0, v.host)
		}
		if err != nil {
			return writes, plays, err
		}
		for _, c := range v.cells {
			if _, ok := live[c]; !ok && last[c] == i {
				e.memory.release(c)
			}
		}
	}
	for c := range live { // of undefined contents
		if err := e.place(c); err != nil {
			return writes, plays, err
		}
	}
	return writes, plays, nil
}

// place gives a cell memory if it has none.
func (e *Engine) place(c *cell) error {
	if c.mem != nil {
		return nil
	}
	return e.memory.take(c)
}

// events are the writes and plays that living arrays come from, in order.
func (e *Engine) events() []*event {
	var events []*event
	var stack []*value
	for c := range e.memory.cells {
		if c.now != nil {
			stack = append(stack, c.now)
		}
	}
	values, plays := map[*value]bool{}, map[*play]bool{}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch {
		case values[v]:
		case v.by == nil:
			if len(v.host) > 0 {
				events = append(events, &event{2*v.at + 1, []*cell{v.cell}, v.host, nil})
			}
		case !plays[v.by]:
			plays[v.by] = true
			events = append(events, &event{2 * v.by.at, v.by.args, nil, v.by})
			stack = append(stack, v.by.ins...)
		}
		values[v] = true
	}
	slices.SortFunc(events, func(a, b *event) int { return a.order - b.order })
	return events
}
