// Package losses is what is computed, and the device that it is computed on, where tests take devices away: native
// ones, those of pages, and such as only play at it.
package losses

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/tensor"
)

// Name is the device that Register adds.
const Name = "FRAGILE"

// Register adds the device Name: another device, of which before is called before each call, with the device itself
// and the number of the call.
func Register(device string, before func(d runtime.Device, call int)) error {
	b, ok := engine.Find(device)
	if !ok {
		return fmt.Errorf("there is no device %s", device)
	}
	calls := 0
	engine.Register(engine.Backend{Name: Name, Open: func(o engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
		m, err := b.Open(o, trace)
		if err == nil {
			dev := m.Device
			m.Device = &counted{dev, func() { calls++; before(dev, calls) }}
		}
		return m, err
	}})
	return nil
}

type counted struct {
	runtime.Device
	before func()
}

func (d *counted) Alloc(n int64) (runtime.Mem, error) {
	d.before()
	return d.Device.Alloc(n)
}

func (d *counted) Write(dst runtime.Mem, at int64, src []byte) error {
	d.before()
	return d.Device.Write(dst, at, src)
}

func (d *counted) Read(ctx context.Context, dst []byte, src runtime.Mem, at int64) error {
	d.before()
	return d.Device.Read(ctx, dst, src, at)
}

func (d *counted) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	d.before()
	return d.Device.Load(ctx, p)
}

func (d *counted) Play(l runtime.Loaded, args []runtime.Mem, vars []int32) error {
	d.before()
	return d.Device.Play(l, args, vars)
}

func (d *counted) Sync(ctx context.Context) error {
	d.before()
	return d.Device.Sync(ctx)
}

// net is what is trained.
type net struct{ A, B *nn.Linear }

func (n *net) forward(x *tensor.Tensor) *tensor.Tensor {
	return n.B.Forward(n.A.Forward(x).ReLU().Dropout(0.3))
}

// Train trains a small network on the default device, with Adam and dropout, and gives all that comes of it: losses, what
// it reads on the way, parameters, the optimiser's state, a table that is assigned in parts, and arrays that
// nothing touches once they are computed.
func Train(ctx context.Context, steps int, captured bool) (seen [][]byte, err error) {
	return TrainWith(ctx, steps, captured, func(int) error { return nil })
}

// TrainWith is Train that calls before ahead of each step.
func TrainWith(ctx context.Context, steps int, captured bool, before func(step int) error) (seen [][]byte, err error) {
	tensor.Seed(1)
	m := &net{nn.NewLinear(6, 5), nn.NewLinear(5, 3)}
	opt, err := nn.NewAdam(ctx, m, nn.AdamOptions{Rate: 0.05})
	if err != nil {
		return nil, err
	}
	table := tensor.Zeros(4, 2).Own()
	if err := tensor.Realize(ctx, table); err != nil {
		return nil, err
	}
	record := func(in ...*tensor.Tensor) []*tensor.Tensor {
		y := m.forward(in[0])
		loss := y.Mul(y).Mean()
		table.SetAt(y.At(0, tensor.R(0, 2)), 1)
		opt.Update(loss)
		return []*tensor.Tensor{loss}
	}
	step := func(x *tensor.Tensor) (*tensor.Tensor, error) {
		loss := record(x)[0]
		return loss, opt.Realize(ctx, loss, table)
	}
	if captured {
		c, err := tensor.Capture(ctx, record, tensor.Empty(dtype.F32, 4, 6))
		if err != nil {
			return nil, err
		}
		step = func(x *tensor.Tensor) (*tensor.Tensor, error) {
			out, err := c.Run(ctx, x)
			if err != nil {
				return nil, err
			}
			return out[0], nil
		}
	}
	var untouched []*tensor.Tensor
	for i := range steps {
		if err := before(i); err != nil {
			return nil, err
		}
		loss, err := step(tensor.Randn(4, 6).Add(i))
		if err != nil {
			return nil, err
		}
		if i%3 == 1 {
			raw, err := loss.Bytes(ctx)
			if err != nil {
				return nil, err
			}
			seen = append(seen, raw)
			y := m.A.Weight.Mul(2)
			if err := tensor.Realize(ctx, y); err != nil {
				return nil, err
			}
			untouched = append(untouched, y, loss)
		}
		if i == steps/2 {
			table.SetAt(7, 0, 1)
		}
	}
	all := append(untouched, table, m.A.Weight, m.A.Bias, m.B.Weight, m.B.Bias, opt.Count, opt.Slots["first"][0], opt.Slots["second"][3])
	for _, x := range all {
		raw, err := x.Bytes(ctx)
		if err != nil {
			return nil, err
		}
		seen = append(seen, raw)
	}
	return seen, nil
}
