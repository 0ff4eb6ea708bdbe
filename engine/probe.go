package engine

import (
	"context"
	"time"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine/choose"
	"github.com/weft-ml/weft/uop"
)

// The probe of a device, small enough for slow ones: a chain of products that do nothing but be launched, one product
// of some size, and a long array that is read.
const (
	probeLinks   = 8
	probeLink    = 16
	probeProduct = 256
	probeArray   = 1 << 20
	probeTime    = 10 * time.Millisecond // what is quicker is repeated
)

// Probe measures the device: what a launch takes, arithmetic and memory. It is for an engine that nobody uses yet, and
// leaves no trace in its counters.
func (e *Engine) Probe(ctx context.Context) (s choose.Speed, err error) {
	stats, peak, ran, debug := e.stats, e.memory.peak, e.memory.ran, e.opts.Debug
	e.opts.Debug = 0
	defer func() { e.stats, e.memory.peak, e.memory.ran, e.opts.Debug = stats, peak, ran, debug }()
	product := func(a, b *uop.UOp, n int) *uop.UOp {
		return a.Reshape(n, n, 1).Expand(n, n, n).Mul(b.Reshape(1, n, n).Expand(n, n, n)).Reduce(uop.Sum, 1)
	}
	launches, chain, err := e.probe(ctx, []int{probeLink, probeLink}, func(x *uop.UOp) *uop.UOp {
		y := x
		for range probeLinks {
			y = product(y, x, probeLink)
		}
		return y
	})
	if err != nil {
		return s, err
	}
	s.Launch = chain / float64(launches)
	_, t, err := e.probe(ctx, []int{probeProduct, probeProduct}, func(x *uop.UOp) *uop.UOp { return product(x, x, probeProduct) })
	if err != nil {
		return s, err
	}
	s.Flops = 2 * probeProduct * probeProduct * probeProduct / max(t-s.Launch, t/10)
	launches, t, err = e.probe(ctx, []int{probeArray}, func(x *uop.UOp) *uop.UOp { return x.Mul(x).Reduce(uop.Sum, 0) })
	if err != nil {
		return s, err
	}
	s.Bytes = 4 * probeArray / max(t-float64(launches)*s.Launch, t/10)
	return s, nil
}

// probe gives how many launches the plan of f has and how many seconds it takes.
func (e *Engine) probe(ctx context.Context, shape []int, f func(x *uop.UOp) *uop.UOp) (launches int, seconds float64, err error) {
	n := 1
	for _, d := range shape {
		n *= d
	}
	x, err := e.FromBytes(dtype.F32, shape, make([]byte, 4*n))
	if err != nil {
		return 0, 0, err
	}
	c, err := e.capture(ctx, []*uop.UOp{x}, []*uop.UOp{f(x)})
	if err != nil {
		return 0, 0, err
	}
	run := func(times int) (time.Duration, error) {
		start := time.Now()
		for range times {
			if _, err := c.Run(ctx, x); err != nil {
				return 0, err
			}
		}
		err := e.Sync(ctx)
		return time.Since(start), err
	}
	if _, err := run(1); err != nil { // what is done at the first run only
		return 0, 0, err
	}
	for times := 1; ; times *= 4 {
		d, err := run(times)
		if err != nil {
			return 0, 0, err
		}
		if d >= probeTime || times >= 256 {
			for range 2 { // whatever else the machine does makes it slower, never faster
				again, err := run(times)
				if err != nil {
					return 0, 0, err
				}
				if d = min(d, again); d > 5*probeTime {
					break
				}
			}
			return c.Kernels(), max(d, time.Nanosecond).Seconds() / float64(times), nil
		}
	}
}
