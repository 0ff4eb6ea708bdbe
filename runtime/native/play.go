//go:build !wasm

package native

import (
	"fmt"
	"math"
	goruntime "runtime"
	"time"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

// Play runs the steps in order and returns when they are done. The arena comes from the
// device's memory and goes back at the end: between plays a plan owns nothing, so any
// number of loaded plans share the same bytes.
func (d *Device) Play(of runtime.Loaded, args []runtime.Mem, vars []int32) error {
	l, err := d.door.Play(of)
	if err != nil {
		return err
	}
	defer clear(l.mems)
	if err := d.door.Bind(l.plan, args, vars, l.mems); err != nil {
		return err
	}
	copy(l.vars, vars)
	for _, i := range l.arena {
		m, err := d.memory.alloc(l.plan.Memory[i].Bytes)
		if err != nil {
			return err
		}
		defer m.Free()
		l.mems[i] = m
	}
	for i, s := range l.plan.Steps {
		for j, slot := range s.Slots {
			at := &l.plan.Slots[slot]
			l.table[l.first[i]+j] = l.mems[at.Memory].addr() + uintptr(at.Offset)
		}
	}
	for i := range l.plan.Steps {
		step := d.step
		if d.options.Trace != nil {
			step = d.traced
		}
		if err := step(l, i); err != nil {
			return err
		}
	}
	goruntime.KeepAlive(l) // the kernels saw only the numbers of its table's address
	return l.intact(args)
}

func (d *Device) traced(l *loaded, i int) error {
	start := time.Now()
	err := d.step(l, i)
	took := time.Since(start)
	if s := l.plan.Steps[i]; s.Kind == plan.Copy {
		d.options.Trace("copy", took, nil)
	} else {
		k := &l.plan.Kernels[s.Kernel]
		d.options.Trace(k.Name, took, k)
	}
	return err
}

// step runs step i. Everything about it was checked by Load and bind, so that it can fail between fences only.
func (d *Device) step(l *loaded, i int) error {
	s := &l.plan.Steps[i]
	if s.Kind == plan.Copy {
		d.copy(l, s)
		return nil
	}
	d.stats.Launches++
	if d.options.Fence {
		return d.fenced(l, i)
	}
	d.launch(l, &l.plan.Kernels[s.Kernel], l.functions[s.Kernel], l.table[l.first[i]:])
	return nil
}

// launch runs a kernel on the arrays whose addresses are in table.
func (d *Device) launch(l *loaded, k *plan.Kernel, function uintptr, table []uintptr) {
	threads, least := d.shares(k)
	j := &job{kernel: function, buf: address(table), vars: address(l.vars), n: k.Threads, threads: threads, least: least}
	for _, r := range d.fence.scratch {
		_, at := r.place(int(k.Scratch), true)
		j.scratch = append(j.scratch, at)
	}
	d.pool.run(j)
	goruntime.KeepAlive(table)
}

// What a thread is taken to do in a nanosecond, for deciding how many threads are worth
// waking: on the low side, since kernels with cheap memory and plain arithmetic are rare.
const (
	flopsPerNs = 16
	bytesPerNs = 8
	alone      = 30e3 // ns; shorter kernels stay on one thread: a fork and join costs some µs
	callNs     = 5e3  // no share should be shorter
)

// shares decides how many threads run k and the fewest iterations that a call should get. It
// can change the time only, never a result: each iteration writes what no other one does.
func (d *Device) shares(k *plan.Kernel) (threads, least int32) {
	threads = min(int32(d.pool.threads()), k.Threads)
	if threads <= 1 {
		return 1, 1
	}
	least = k.Threads / (threads * 8)
	if k.Flops > 0 || k.Bytes > 0 { // else nothing is known, and threads are the safer guess
		ns := float64(k.Flops)/flopsPerNs + float64(k.Bytes)/bytesPerNs
		if ns < alone {
			return 1, 1
		}
		threads = int32(min(float64(threads), 1+ns/alone))
		least = max(least, int32(min(float64(k.Threads)*callNs/ns, math.MaxInt32/2)))
	}
	return threads, max(least, 1)
}

// copy does a Copy step, with all threads when it is long.
func (d *Device) copy(l *loaded, s *plan.Step) {
	part := func(slot int) []byte {
		at := &l.plan.Slots[slot]
		return l.mems[at.Memory].data[at.Offset : at.Offset+at.Bytes]
	}
	to, from := part(s.Slots[0]), part(s.Slots[1])
	const share = 256 << 10
	n := (len(to) + share - 1) / share
	if n < 4 || address(to) < address(from)+uintptr(len(from)) && address(from) < address(to)+uintptr(len(to)) {
		copy(to, from) // short, or overlapping: there the order matters
		return
	}
	d.pool.run(&job{n: int32(n), threads: int32(min(n, d.pool.threads())), least: 1, do: func(lo, hi int32) {
		a, b := int(lo)*share, min(int(hi)*share, len(to))
		copy(to[a:b], from[a:b])
	}})
}

// intact checks, with Options.Poison, that no kernel wrote where no slot is.
func (l *loaded) intact(args []runtime.Mem) error {
	if !l.dev.options.Poison {
		return nil
	}
	for i, m := range args {
		if x, ok := m.(*mem); ok && x != nil && !x.intact() {
			return fmt.Errorf("CPU: play: a kernel wrote behind argument %d (%d bytes)", i, x.Bytes())
		}
	}
	for i, s := range l.dev.pool.scratch {
		if !s.intact() {
			return fmt.Errorf("CPU: play: a kernel wrote behind the %d bytes of scratch of thread %d", s.Bytes(), i)
		}
	}
	for _, i := range l.arena {
		if err := guard.Gaps(l.plan, i, l.mems[i].data); err != nil {
			return fmt.Errorf("CPU: play: %w", err)
		}
		if !l.mems[i].intact() {
			return fmt.Errorf("CPU: play: a kernel wrote behind the arena of %d bytes", l.mems[i].Bytes())
		}
	}
	return nil
}
