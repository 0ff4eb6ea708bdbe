package engine

import (
	"context"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/uop"
)

// Fill starts to put the elements of an array into its memory, on a way that need not go through Go, and gives a function
// that waits until they are there. Each time it must put the same there, or fail.
type Fill func(d runtime.Device, m runtime.Mem) (wait func(ctx context.Context) error, err error)

func (f Fill) now(ctx context.Context, d runtime.Device, m runtime.Mem) error {
	wait, err := f(d, m)
	if err != nil {
		return err
	}
	return wait(ctx)
}

// Fill makes an array whose elements f puts there: row-major, little-endian, bool one byte. While it waits others may use the
// device. The journal keeps f and not the elements: if the device is lost, f is called again, now or later.
func (e *Engine) Fill(ctx context.Context, d dtype.DType, shape []int, f Fill) (*uop.UOp, error) {
	if err := e.mu.LockFor(ctx); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	u, s, err := e.newArray(d, shape)
	if err != nil {
		return nil, err
	}
	if err := e.attempt(ctx, func() error { return e.fill(ctx, s, f) }); err != nil {
		return nil, err
	}
	e.note(&step{args: []*cell{s.cell}, fill: f}, s.cell)
	return u, nil
}

// fill lets others use the engine while it waits. They may find that the device is lost: then the array has other memory
// when it comes back, if there is a device again. Or they close the engine.
func (e *Engine) fill(ctx context.Context, s *storage, f Fill) error {
	e.filling++
	defer func() { e.filling-- }()
	for {
		m := s.mem
		wait, err := f(e.machine.Device, m)
		if err != nil {
			return err
		}
		e.mu.Unlock()
		err = wait(ctx)
		e.mu.Lock()
		switch {
		case s.mem == m:
			return err
		case e.closed:
			return e.shut()
		case e.lost != nil:
			return e.lost
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}
