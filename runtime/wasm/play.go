//go:build !js

package wasm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

// Play runs the steps in order and returns when they are done, or at the first error. The arena comes from the
// device's memory and goes back at the end, so any number of loaded plans share the same bytes.
func (d *Device) Play(of runtime.Loaded, args []runtime.Mem, vars []int32) error {
	l, err := d.door.Play(of)
	if err != nil {
		return err
	}
	defer clear(l.mems)
	if err := d.door.Bind(l.plan, args, vars, l.mems); err != nil {
		return err
	}
	for _, i := range l.arena {
		m, err := d.memory.alloc(l.plan.Memory[i].Bytes)
		if err != nil {
			return err
		}
		defer m.Free()
		l.mems[i] = m
	}
	table := l.table.data()
	for i, s := range l.plan.Steps {
		for j, slot := range s.Slots {
			at := &l.plan.Slots[slot]
			binary.LittleEndian.PutUint32(table[4*(l.first[i]+j):], uint32(l.mems[at.Memory].block.at+at.Offset))
		}
	}
	for i, v := range vars {
		binary.LittleEndian.PutUint32(table[4*(l.vars+i):], uint32(v))
	}
	for i := range l.plan.Steps {
		if err := l.traced(i); err != nil {
			return err
		}
	}
	return l.intact(args)
}

func (l *loaded) traced(i int) error {
	trace, s := l.dev.options.Trace, &l.plan.Steps[i]
	start := time.Now()
	name, k := "copy", (*plan.Kernel)(nil)
	var err error
	if s.Kind == plan.Copy {
		copy(l.part(s.Slots[0]), l.part(s.Slots[1]))
	} else {
		k = &l.plan.Kernels[s.Kernel]
		name = k.Name
		err = l.launch(i, k, l.kernels[s.Kernel])
	}
	if trace != nil {
		trace(name, time.Since(start), k)
	}
	return err
}

// part is the bytes of a slot.
func (l *loaded) part(slot int) []byte {
	at := &l.plan.Slots[slot]
	return l.mems[at.Memory].data()[at.Offset : at.Offset+at.Bytes]
}

// What a thread is taken to do in a nanosecond, for deciding how many threads are worth starting.
const (
	flopsPerNs = 4
	bytesPerNs = 4
	alone      = 30e3 // ns; shorter kernels stay on one thread
)

// threads decides how many threads run a kernel. It can change the time only, never a result: each iteration writes
// what no other one does.
func (d *Device) threads(k *plan.Kernel) int {
	n := min(d.options.Threads, int(k.Threads))
	if n > 1 && (k.Flops > 0 || k.Bytes > 0) {
		ns := float64(k.Flops)/flopsPerNs + float64(k.Bytes)/bytesPerNs
		n = int(min(float64(n), 1+ns/alone))
	}
	return n
}

// launch runs a kernel, its iterations shared by threads: each takes half of a fair share of the rest, again and
// again.
func (l *loaded) launch(i int, k *plan.Kernel, code *kernel) error {
	d := l.dev
	d.stats.Launches++
	threads := d.threads(k)
	for t := range threads {
		if err := code.ready(t); err != nil {
			return err
		}
		if s := d.scratch[t]; d.options.Poison {
			guard.Fill(s.data())
		}
	}
	buf := uint32(l.table.block.at) + uint32(4*l.first[i])
	vars := uint32(l.table.block.at) + uint32(4*l.vars)
	if threads <= 1 {
		return failed(k, code.call(0, buf, vars, uint32(d.scratch[0].block.at), 0, k.Threads))
	}
	errs := make([]error, threads)
	var next atomic.Int32
	share := func(t int) {
		for {
			lo := next.Load()
			rest := k.Threads - lo
			if rest <= 0 || errs[t] != nil {
				return
			}
			hi := lo + max(rest/int32(2*threads), 1)
			if next.CompareAndSwap(lo, hi) {
				errs[t] = code.call(t, buf, vars, uint32(d.scratch[t].block.at), lo, hi)
			}
		}
	}
	var wg sync.WaitGroup
	for t := 1; t < threads; t++ {
		wg.Go(func() { share(t) })
	}
	share(0)
	wg.Wait()
	return failed(k, errors.Join(errs...))
}

// failed names the kernel that trapped.
func failed(k *plan.Kernel, err error) error {
	if err == nil {
		return nil
	}
	what, _, _ := strings.Cut(err.Error(), "\n") // the rest is the engine's stack
	return fmt.Errorf("%s: kernel %s: %s", Name, k.Name, what)
}

// intact checks, with Options.Poison, that no kernel wrote where no slot is.
func (l *loaded) intact(args []runtime.Mem) error {
	if !l.dev.options.Poison {
		return nil
	}
	for i, m := range args {
		if x, ok := m.(*mem); ok && x != nil && !x.intact() {
			return fmt.Errorf("%s: play: a kernel wrote behind argument %d (%d bytes)", Name, i, x.Bytes())
		}
	}
	for i, s := range l.dev.scratch {
		if !s.intact() {
			return fmt.Errorf("%s: play: a kernel wrote behind the %d bytes of scratch of thread %d", Name, s.Bytes(), i)
		}
	}
	for _, i := range l.arena {
		if err := guard.Gaps(l.plan, i, l.mems[i].data()); err != nil {
			return fmt.Errorf("%s: play: %w", Name, err)
		}
		if !l.mems[i].intact() {
			return fmt.Errorf("%s: play: a kernel wrote behind the arena of %d bytes", Name, l.mems[i].Bytes())
		}
	}
	return nil
}
