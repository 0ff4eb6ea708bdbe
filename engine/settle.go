package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	goruntime "runtime"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// settle reads the flags that an array depends on. What was found is an error, and stays one as long as the array does.
func (e *Engine) settle(ctx context.Context, s *storage) error {
	if s.doubts == nil {
		return nil
	}
	if err := e.readFlags(ctx, s.doubts.list); err != nil {
		return err
	}
	for _, d := range s.doubts.list {
		if err := d.raised(); err != nil {
			if len(s.doubts.list) > 1 {
				s.doubts = &doubts{[]doubt{d}}
			}
			return err
		}
	}
	s.doubts = nil
	return nil
}

// bound reads the flags of arrays that depend on too many.
func (e *Engine) bound(ctx context.Context, stores []*storage) error {
	var long *doubts
	for _, s := range stores {
		if s.doubts == nil || len(s.doubts.list) <= maxDoubts || s.doubts == long {
			continue
		}
		long = s.doubts
		if err := e.readFlags(ctx, long.list); err != nil {
			return err
		}
	}
	if long == nil {
		return nil
	}
	short := map[*doubts]*doubts{}
	for _, s := range stores {
		if s.doubts == nil {
			continue
		}
		if _, ok := short[s.doubts]; !ok {
			short[s.doubts] = merge([]*doubts{s.doubts}, nil, nil)
		}
		s.doubts = short[s.doubts]
	}
	return nil
}

// readFlags reads those that have not been read, with one wait for the device.
func (e *Engine) readFlags(ctx context.Context, list []doubt) error {
	var open []*flags
	for _, d := range list {
		if d.store != nil {
			open = append(open, d.flags)
		}
	}
	if len(open) == 0 {
		return nil
	}
	rows := make([][]byte, len(open))
	for i, f := range open {
		rows[i] = make([]byte, 4*len(f.checks))
	}
	err := e.attempt(ctx, func() error {
		if e.several != nil {
			for i, f := range open {
				if err := e.several.read(ctx, f.store, rows[i]); err != nil {
					return err
				}
			}
			return nil
		}
		if len(open) == 1 || e.machine.Evaluate != nil {
			for i, f := range open {
				if err := e.machine.Device.Read(ctx, rows[i], f.store.mem, 0); err != nil {
					return err
				}
			}
			return nil
		}
		return e.readTogether(ctx, open, rows)
	})
	if err != nil {
		return fmt.Errorf("read what was found wrong with indices and other values: %w", err)
	}
	for i, f := range open {
		goruntime.KeepAlive(f.store)
		codes := make([]int32, len(f.checks))
		for k := range codes {
			codes[k] = int32(binary.LittleEndian.Uint32(rows[i][4*k:]))
		}
		f.codes, f.store = codes, nil
	}
	return nil
}

// readTogether copies arrays of flags into one, a plan of copies only, and reads that: a page may wait longer for each reading
// than for a step of training.
func (e *Engine) readTogether(ctx context.Context, open []*flags, rows [][]byte) error {
	const apart = 256 // bytes
	n := 1
	for n < len(open) {
		n *= 2 // so that there are few plans; the last array fills them up
	}
	p := &plan.Plan{Version: plan.Version, Target: e.machine.Target.Name, Memory: []plan.Memory{{Kind: plan.Arena}}}
	mems := make([]runtime.Mem, n+1)
	key := "flags"
	for i := range n {
		f := open[min(i, len(open)-1)]
		mems[i] = f.store.mem
		size := int64(4 * len(f.checks))
		key += fmt.Sprint(" ", size)
		p.Memory = append(p.Memory, plan.Memory{Kind: plan.Input, Arg: i, Bytes: size})
		slot := plan.Slot{Bytes: size, DType: dtype.I32, Dims: []int{len(f.checks)}}
		from, to := slot, slot
		from.Memory, to.Memory, to.Offset = i+1, n+1, int64(apart*i)
		p.Slots = append(p.Slots, from, to)
		p.Steps = append(p.Steps, plan.Step{Kind: plan.Copy, Slots: []int{2*i + 1, 2 * i}})
	}
	p.Memory = append(p.Memory, plan.Memory{Kind: plan.Output, Arg: n, Bytes: int64(apart * n)})
	c := e.plans[key]
	if c == nil {
		c = &compiled{plan: p}
		e.forget()
		e.plans[key] = c
	}
	e.clock++
	c.used = e.clock
	if err := e.load(ctx, c); err != nil {
		return err
	}
	out, err := e.machine.Device.Alloc(int64(apart * n))
	if err != nil {
		return err
	}
	defer out.Free()
	mems[n] = out
	if err := e.machine.Device.Play(c.loaded, mems, nil); err != nil {
		return err
	}
	raw := make([]byte, apart*n)
	if err := e.machine.Device.Read(ctx, raw, out, 0); err != nil {
		return err
	}
	for i := range open {
		copy(rows[i], raw[apart*i:])
	}
	return nil
}
