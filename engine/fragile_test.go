package engine_test

import (
	"context"
	"errors"

	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	machine "github.com/weft-ml/weft/runtime/interp"
)

// slot is where fragile devices are plugged in: INTERP, but calls can make it be lost.
type slot struct {
	calls  int              // of all devices that were in the slot
	lose   func(c int) bool // whether call c loses the device
	silent bool             // as graphics processors are: queued work goes nowhere, and reading tells
	refuse error            // why no device can be opened
	opened int
}

func (s *slot) open(o engine.Options) (*engine.Machine, error) {
	s.opened++
	if s.refuse != nil {
		return nil, s.refuse
	}
	dev, err := machine.Open(machine.Options{Threads: 1, MemoryLimit: o.MemoryLimit, Poison: true})
	if err != nil {
		return nil, err
	}
	return &engine.Machine{Device: &fragile{Device: dev, slot: s}, Target: interp.Target(o.NoOpt), Render: interp.Render, MayBeLost: true}, nil
}

// backend makes engines over the slot.
func (s *slot) backend() engine.Backend {
	return engine.Backend{Name: "FRAGILE", Open: func(o engine.Options, _ func(*plan.Kernel, float64)) (*engine.Machine, error) { return s.open(o) }}
}

type fragile struct {
	runtime.Device
	slot *slot
	gone bool
}

// lost counts a call. Calls that only queue do not notice a silent loss.
func (d *fragile) lost(waits bool) error {
	d.slot.calls++
	if d.slot.lose != nil && d.slot.lose(d.slot.calls) {
		d.gone = true
	}
	if d.gone && (waits || !d.slot.silent) {
		return &runtime.Lost{Device: "FRAGILE", Why: errors.New("dropped")}
	}
	return nil
}

func (d *fragile) Alloc(n int64) (runtime.Mem, error) {
	if err := d.lost(false); err != nil {
		return nil, err
	}
	return d.Device.Alloc(n)
}

func (d *fragile) Write(dst runtime.Mem, at int64, src []byte) error {
	if err := d.lost(false); err != nil || d.gone {
		return err
	}
	return d.Device.Write(dst, at, src)
}

func (d *fragile) Read(ctx context.Context, dst []byte, src runtime.Mem, at int64) error {
	if err := d.lost(true); err != nil {
		return err
	}
	return d.Device.Read(ctx, dst, src, at)
}

func (d *fragile) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	if err := d.lost(true); err != nil {
		return nil, err
	}
	return d.Device.Load(ctx, p)
}

func (d *fragile) Play(l runtime.Loaded, args []runtime.Mem, vars []int32) error {
	if err := d.lost(false); err != nil || d.gone {
		return err
	}
	return d.Device.Play(l, args, vars)
}

func (d *fragile) Sync(ctx context.Context) error {
	if err := d.lost(true); err != nil {
		return err
	}
	return d.Device.Sync(ctx)
}
