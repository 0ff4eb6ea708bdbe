package engine

import (
	"context"
	"slices"
	"time"
)

// A device that may be lost takes its memory along. So that nothing is lost with it, each array there has a value: its
// bytes, where they came from the host, or the play that computed it from other values. Values never change, arrays
// change theirs; what no living array was computed from goes to the collector by itself. After a loss the bytes
// are written and the plays are played again, in their order: kernels give the same bits, and random numbers
// come from keys that are bytes.
//
// The states of a training loop depend on all its past, so at checkpoints values are read back. Between them a journal
// holds no more than is played again in a second or so.

// journal measures what there is to repeat.
type journal struct {
	bytes int64         // how many may be kept, and
	time  time.Duration // how long playing again may take, before there is a checkpoint
	clock int           // counts writes and plays
	kept  int64         // bytes since the checkpoint
	since time.Time     // when the first play was since
	cost  time.Duration // of the last checkpoint
}

// value is what a cell holds from some moment on.
type value struct {
	cell *cell
	at   int
	host []byte // its bytes, if
	by   *play  // no play has to be repeated
}

// play is a plan that was played.
type play struct {
	at   int
	plan *compiled
	args []*cell
	ins  []*value
}

const (
	journalBytes = 64 << 20
	journalTime  = time.Second
	share        = 32 // checkpoints take at most one part in so many of the time

	// Factors on these bounds.
	idle = 1 // when the device has just been waited for
	busy = 4 // when it would have to be waited for
)

// wrote notes what was written to a cell.
func (e *Engine) wrote(c *cell, data []byte) {
	if !e.machine.MayBeLost {
		return
	}
	e.journal.clock++
	c.now = &value{cell: c, at: e.journal.clock, host: slices.Clone(data)}
	e.journal.kept += int64(len(data)) + 128
}

// played notes a play and the cells that it wrote.
func (e *Engine) played(p *compiled, args, written []*cell) {
	if !e.machine.MayBeLost {
		return
	}
	j := &e.journal
	if j.since.IsZero() {
		j.since = time.Now()
	}
	j.clock++
	by := &play{at: j.clock, plan: p, args: args}
	for _, c := range args {
		if c.now != nil {
			by.ins = append(by.ins, c.now)
		}
	}
	for _, c := range written {
		c.now = &value{cell: c, at: j.clock, by: by}
	}
	j.kept += int64(128 + 16*len(args) + 64*len(written))
}

// checkpointIf makes a checkpoint if the journal is longer than the bounds times a factor.
func (e *Engine) checkpointIf(ctx context.Context, factor int64) error {
	j := &e.journal
	if j.since.IsZero() || j.kept < factor*max(j.bytes, e.memory.live/2) && time.Since(j.since) < time.Duration(factor)*max(j.time, share*j.cost) {
		return nil
	}
	return e.checkpoint(ctx)
}

// checkpoint reads back what only the device has.
func (e *Engine) checkpoint(ctx context.Context) error {
	if err := e.attempt(ctx, func() error { return e.machine.Device.Sync(ctx) }); err != nil {
		return err
	}
	start := time.Now()
	e.memory.collect() // what is unused need not be read
	for c := range e.memory.cells {
		v := c.now
		if v == nil || v.by == nil {
			continue
		}
		host := make([]byte, c.bytes)
		err := e.attempt(ctx, func() error {
			if c.now != v || len(host) == 0 { // found unused meanwhile, or without elements
				return nil
			}
			return e.machine.Device.Read(ctx, host, c.mem, 0)
		})
		if err != nil {
			return err
		}
		if c.now == v {
			v.host, v.by = host, nil
		}
	}
	e.journal.kept, e.journal.since, e.journal.cost = 0, time.Time{}, time.Since(start)
	return nil
}
