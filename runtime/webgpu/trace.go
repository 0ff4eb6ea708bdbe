package webgpu

import (
	"context"
	"time"

	"github.com/weft-ml/weft/plan"
)

// Timer is a transport that can tell how long commands took by the adapter's own clock.
type Timer interface {
	// Times reports whether the adapter that it has can.
	Times() bool
	// Timed does what Submit does, waits, and gives how long each command took.
	Timed(commands []Command) ([]time.Duration, error)
}

// traced plays and tells how long each step took; ends says where the commands of each end.
func (d *Device) traced(l *loaded, commands []Command, ends []int) error {
	if t, ok := d.gpu.(Timer); ok && t.Times() && len(l.firsts) == 1 { // parts are submitted apart
		took, err := t.Timed(commands)
		if err != nil {
			return d.failed("play", err)
		}
		at := 0
		for i, end := range ends {
			sum := time.Duration(0)
			for ; at < end; at++ {
				sum += took[at]
			}
			d.tell(l.plan, i, sum)
		}
		return nil
	}
	at := 0
	for i, end := range ends {
		took, err := d.waited(commands[at:end])
		if err != nil {
			return d.failed("play", err)
		}
		at = end
		d.tell(l.plan, i, took)
	}
	return nil
}

// waited submits and waits, and gives how long that took.
func (d *Device) waited(commands []Command) (time.Duration, error) {
	if err := d.gpu.Wait(context.Background()); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := d.submit(commands); err != nil {
		return 0, err
	}
	err := d.gpu.Wait(context.Background())
	return time.Since(start), err
}

func (d *Device) tell(p *plan.Plan, step int, took time.Duration) {
	if s := p.Steps[step]; s.Kind == plan.Copy {
		d.options.Trace("copy", took, nil)
	} else {
		k := &p.Kernels[s.Kernel]
		d.options.Trace(k.Name, took, k)
	}
}
