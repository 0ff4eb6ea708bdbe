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
	if err := d.steps(l); err != nil {
		return err
	}
	goruntime.KeepAlive(l) // the threads saw only the numbers of its arrays' addresses
	return l.intact(args)
}

// steps runs the steps. Everything about them was checked by Load and Bind, so that it can fail between fences only.
func (d *Device) steps(l *loaded) error {
	for i, s := range l.plan.Steps {
		if s.Kind == plan.Copy {
			l.copy(i)
		} else {
			d.stats.Launches++
		}
	}
	if d.options.Trace == nil && !d.options.Fence {
		if len(l.jobs) > 0 {
			d.pool.run(l.jobs)
		}
		return nil
	}
	for i, s := range l.plan.Steps {
		start := time.Now()
		if s.Kind != plan.Copy && d.options.Fence {
			if err := d.fenced(l, i); err != nil {
				return err
			}
		} else {
			d.pool.run(l.jobs[i : i+1])
		}
		took := time.Since(start)
		switch {
		case d.options.Trace == nil:
		case s.Kind == plan.Copy:
			d.options.Trace("copy", took, nil)
		default:
			k := &l.plan.Kernels[s.Kernel]
			d.options.Trace(k.Name, took, k)
		}
	}
	return nil
}

// job is a launch of a kernel on the arrays whose addresses are in table. How long it takes depends on the variables, if there are any; else
// it is timed first if it may be short.
func (d *Device) job(k *plan.Kernel, function uintptr, table []uintptr, vars []int32) job {
	threads, least := d.shares(k)
	j := job{kernel: function, buf: address(table), vars: address(vars), scratch: address(d.pool.places), n: k.Threads, threads: threads, least: least,
		takes: int32(min(takes(k), math.MaxInt32))}
	if ns := takes(k); len(vars) == 0 && ns > 0 && ns < maybeAlone {
		j.trials, j.alone = trials, soon
	}
	return j
}

// What a thread is taken to do in a nanosecond, for deciding how many threads are worth
// waking: on the low side, since kernels with cheap memory and plain arithmetic are rare.
const (
	flopsPerNs = 16
	bytesPerNs = 8
	alone      = 30e3  // ns; shorter kernels stay on one thread: a fork and join costs some µs
	maybeAlone = 400e3 // ns; kernels that tile what they read are up to fourteen times as fast as that, and shorter ones are timed
	trials     = 2     // times: the first run finds nothing in caches.
	soon       = 8e3   // ns; those that take less stay on one thread, too: what others wrote and read lies in another processor's caches
	callNs     = 5e3   // no share should be shorter
	flopsStore = 50    // that a thread could do while it brings an element into scratch
	fewBefore  = 8     // of how much of a share's time goes into what each call does before it, one part at most
)

// takes is how many ns one thread needs for k, about; 0 if nothing is known.
func takes(k *plan.Kernel) float64 {
	return math.Ceil(float64(k.Flops)/flopsPerNs + float64(k.Bytes)/bytesPerNs)
}

// shares decides how many threads run k and the fewest iterations that a call should get. It
// can change the time only, never a result: each iteration writes what no other one does.
func (d *Device) shares(k *plan.Kernel) (threads, least int32) {
	threads = min(int32(d.pool.threads()), k.Threads)
	if threads <= 1 {
		return 1, 1
	}
	least = k.Threads / (threads * 8)
	if ns := takes(k); ns > 0 { // else nothing is known, and threads are the safer guess
		if ns < alone {
			return 1, 1
		}
		threads = int32(min(float64(threads), 1+ns/alone))
		least = max(least, int32(min(float64(k.Threads)*callNs/ns, math.MaxInt32/2)))
		if k.Before > 0 && k.Flops > 0 { // few calls, up to one for each thread
			whole := float64(k.Threads) * fewBefore * flopsStore * float64(k.Before) / float64(k.Flops)
			least = max(least, int32(min(whole, float64((k.Threads+threads-1)/threads))))
		}
	}
	return threads, max(least, 1)
}

// copy prepares step i, a Copy, for all threads when it is long.
func (l *loaded) copy(i int) {
	const share = 256 << 10
	s := &l.plan.Steps[i]
	n := min(l.plan.Slots[s.Slots[0]].Bytes, l.plan.Slots[s.Slots[1]].Bytes)
	to, from := l.table[l.first[i]], l.table[l.first[i]+1]
	j := &l.jobs[i]
	if n < 4*share || to < from+uintptr(n) && from < to+uintptr(n) { // short, or overlapping: there the order matters
		l.copies[i], j.n, j.threads = [2]int64{n, n}, 1, 1
		return
	}
	l.copies[i], j.n, j.least = [2]int64{n, share}, int32((n+share-1)/share), 1
	j.threads = min(j.n, int32(l.dev.pool.threads()))
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
