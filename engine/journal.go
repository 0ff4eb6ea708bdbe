package engine

import (
	"context"
	"slices"
	"time"
)

// A device that may be lost takes its memory along. So that nothing is lost with it, each array there has a value, which
// knows the step that it comes from: its bytes, or a play of other values. Values never change, arrays change theirs;
// what no living array was computed from goes to the collector by itself. After a loss the steps are taken again
// in their order: kernels give the same bits, and random numbers come from keys that are bytes.
//
// The states of a training loop depend on all its past, so at checkpoints values are read back. Between them a journal
// holds no more than is played again in a second or so.

// journal measures what there is to repeat.
type journal struct {
	bytes int64   // how many may be kept, and
	time  float64 // how many seconds playing again may take, before there is a checkpoint
	clock int     // counts steps, by two
	kept  int64   // bytes since the checkpoint
	since float64 // when the first play was since, in seconds; 0: there was none
	cost  float64 // of the last checkpoint, in seconds
}

// seconds tell times apart.
func seconds() float64 { return float64(time.Now().UnixNano()) * 1e-9 }

// value is what a cell holds from some moment on.
type value struct{ by *step }

// step is a write of bytes, a fill, or a play.
type step struct {
	at   int
	args []*cell // written, and read by a play
	host []byte
	fill Fill
	plan *compiled // of a play
	vars []int32
	ins  []*value
	mark int // see steps
}

const (
	journalBytes = 64 << 20
	journalTime  = 1.
	share        = 32 // checkpoints take at most one part in so many of the time

	// Factors on these bounds.
	idle = 1 // when the device has just been waited for
	busy = 4 // when it would have to be waited for
)

// note adds a step to the journal, and says what cells hold since.
func (e *Engine) note(s *step, written ...*cell) {
	if !e.machine.MayBeLost {
		return
	}
	j := &e.journal
	j.clock += 2
	s.at = j.clock
	s.host = slices.Clone(s.host)
	if s.plan != nil {
		if j.since == 0 {
			j.since = seconds()
		}
		for _, c := range s.args {
			if c.now != nil {
				s.ins = append(s.ins, c.now)
			}
		}
	}
	for _, c := range written {
		c.now = &value{s}
	}
	j.kept += int64(len(s.host) + 128 + 16*len(s.args) + 16*len(written))
}

// checkpointIf makes a checkpoint if the journal is longer than the bounds times a factor.
func (e *Engine) checkpointIf(ctx context.Context, factor float64) error {
	j := &e.journal
	if j.since == 0 || float64(j.kept) < factor*float64(max(j.bytes, e.memory.live/2)) && seconds()-j.since < factor*max(j.time, share*j.cost) {
		return nil
	}
	return e.checkpoint(ctx)
}

// checkpoint reads back what only the device has.
func (e *Engine) checkpoint(ctx context.Context) error {
	start, waited := seconds(), false
	e.memory.collect() // what is unused need not be read
	for _, c := range slices.Clone(e.memory.cells) {
		v := c.now
		if v == nil || v.by.plan == nil {
			continue
		}
		host, before := make([]byte, c.bytes), seconds()
		err := e.attempt(ctx, func() error {
			if c.now != v || c.bytes == 0 { // found unused meanwhile, or without elements
				return nil
			}
			return e.machine.Device.Read(ctx, host, c.mem, 0)
		})
		if err != nil {
			return err
		}
		if !waited { // for what was queued
			start, waited = start+seconds()-before, true
		}
		if c.now == v {
			v.by = &step{at: v.by.at + 1, args: []*cell{c}, host: host} // after the play that left it
		}
	}
	e.journal.kept, e.journal.since, e.journal.cost = 0, 0, seconds()-start
	return nil
}

// steps are what living arrays come from, in order.
func (e *Engine) steps() []*step {
	e.journal.clock += 2
	mark := e.journal.clock
	var all, stack []*step
	for _, c := range e.memory.cells {
		if c.now != nil {
			stack = append(stack, c.now.by)
		}
	}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.mark == mark {
			continue
		}
		s.mark = mark
		all = append(all, s)
		for _, v := range s.ins {
			stack = append(stack, v.by)
		}
	}
	slices.SortStableFunc(all, func(a, b *step) int { return a.at - b.at })
	return all
}
