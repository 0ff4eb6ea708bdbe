package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/wasm/wire"
)

// procedure is a call: most have an answer. A long one runs beside the requests that follow and takes turns with them.
type procedure struct {
	run    func(ctx context.Context, c *call) (any, error)
	long   bool
	lazy   bool // the page does not wait for its end: where it fails, the tensors that it should have made have its failure
	silent bool // without answer
}

// calls are the procedures by name.
var calls map[string]procedure

func init() {
	calls = map[string]procedure{
		"open":      {run: open},
		"data":      {run: elements},
		"shape":     {run: shapeOf},
		"devices":   {run: devices},
		"cutAxis":   {run: cutAxis},
		"realize":   {run: realize},
		"seed":      {run: seed},
		"generator": {run: newGenerator},
		"stats":     {run: stats},
		"capture":   {run: capture},
		"run":       {run: runCaptured, lazy: true},
		"fetch":     {run: fetch, long: true},
		"profile":   {run: profile},
		"profiled":  {run: profiled},
		"dispose":   {run: dispose, silent: true},
		"ran":       {run: errandsRan, silent: true},
	}
}

// elements gives the elements of a tensor; half floats as float32, which typed arrays have.
func elements(ctx context.Context, c *call) (any, error) {
	x := c.look()
	if d := x.DType(); d.IsNarrow() {
		x = x.To(dtype.F32)
	}
	data, err := lifted(ctx, x)
	if err == nil && data == nil {
		var raw []byte
		raw, err = x.Bytes(ctx)
		data = wire.Array{Type: typeName(x.DType()), Data: raw}
	}
	if err != nil {
		return nil, err
	}
	return wire.Record{{Name: "data", Value: data}, {Name: "shape", Value: numbers(x.Shape())}}, nil
}

// typeName is what the page calls an element type.
func typeName(d dtype.DType) string {
	if d == dtype.Bool {
		return "bool"
	}
	return d.Short()
}

// lifter is a device that can take bytes out of its memory into the worker's, without Go in between.
type lifter interface {
	// Lift takes out the first n bytes and gives the number under which the worker keeps them.
	Lift(ctx context.Context, from runtime.Mem, n int) (int32, error)
}

// mostCopied is how many bytes go to the page among others; more are worth an array of their own. js/wire.js has the same limit, large.
const mostCopied = 64 << 10

// lifted gives the elements of a large tensor as a parcel, or nil where they go another way.
func lifted(ctx context.Context, x *tensor.Tensor) (data any, err error) {
	n := x.Nbytes()
	if n <= mostCopied || len(x.Devices()) > 1 {
		return nil, nil
	}
	return data, x.Borrow(ctx, func(d runtime.Device, m runtime.Mem) error {
		l, ok := d.(lifter)
		if !ok {
			return nil
		}
		number, err := l.Lift(ctx, m, n)
		data = wire.Parcel{Type: typeName(x.DType()), N: n, Number: number}
		return err
	})
}

// floats is a typed array of the page.
func floats(list []float32) wire.Array {
	a := wire.Array{Type: "f32"}
	for _, v := range list {
		a.Data = binary.LittleEndian.AppendUint32(a.Data, math.Float32bits(v))
	}
	return a
}

func numbers(list []int) []any {
	out := make([]any, len(list))
	for i, n := range list {
		out[i] = n
	}
	return out
}

func shapeOf(_ context.Context, c *call) (any, error) {
	x := c.look()
	return wire.Record{{Name: "shape", Value: numbers(x.Shape())}, {Name: "dtype", Value: typeName(x.DType())}}, nil
}

// devices names those that a tensor lies on; of constants, which fit any, that of the engine.
func devices(_ context.Context, c *call) (any, error) {
	names := c.look().Devices()
	if names == nil {
		names = []string{c.server.engine.Name()}
	}
	out := make([]any, len(names))
	for i, n := range names {
		out[i] = n
	}
	return out, nil
}

func cutAxis(_ context.Context, c *call) (any, error) { return cut(c.look()) }

func realize(ctx context.Context, c *call) (any, error) {
	return nil, tensor.Realize(ctx, c.tensors()...)
}

func seed(_ context.Context, c *call) (any, error) {
	tensor.Seed(uint32(c.integer(0)))
	return nil, nil
}

// newGenerator makes a generator, or has one begin anew.
func newGenerator(_ context.Context, c *call) (any, error) {
	seed := uint64(c.integer())
	if g := c.server.generators[c.outs[0]]; g != nil {
		g.Seed(seed)
		return nil, nil
	}
	c.server.generators[c.outs[0]] = tensor.NewGenerator(seed)
	return nil, nil
}

// stats counts what the engine did.
func stats(_ context.Context, c *call) (any, error) {
	if c.server.engine == nil {
		return nil, errNotOpen
	}
	s := c.server.engine.Stats()
	return wire.Record{
		{Name: "plans", Value: s.Compiled}, {Name: "kernels", Value: s.Kernels}, {Name: "plays", Value: s.Plays}, {Name: "launches", Value: s.Launches}, {Name: "errands", Value: s.Errands},
		{Name: "liveBytes", Value: float64(s.LiveBytes)}, {Name: "peakBytes", Value: float64(s.PeakBytes)},
		{Name: "tensors", Value: len(c.server.tensors)},
	}, nil
}

// dispose forgets tensors, captured functions and networks.
func dispose(_ context.Context, c *call) (any, error) {
	list, _ := c.next().([]any)
	for _, v := range list {
		ref, ok := v.(wire.Ref)
		if !ok {
			c.fail("%s is nothing that the engine holds", describe(v))
		}
		if c.server.sole[ref] {
			c.server.tensors[ref].(*tensor.Tensor).Discard()
			delete(c.server.sole, ref)
		}
		delete(c.server.tensors, ref)
		delete(c.server.plays, ref)
		delete(c.server.generators, ref)
		if n := c.server.nets[ref]; n != nil {
			n.end()
			delete(c.server.nets, ref)
		}
	}
	return nil, nil
}

// capture takes the number of the function, its first inputs, the stand-ins that the page used for them, the
// operations that it recorded, and what the function returned.
func capture(ctx context.Context, c *call) (any, error) {
	s := c.server
	inputs := c.tensors()
	f := c.function()
	crossing()
	captured, err := tensor.Capture(ctx, f, inputs...)
	if err != nil {
		return nil, err
	}
	s.plays[c.outs[0]] = &recorded{captured: captured}
	shapes := []any{}
	for _, shape := range captured.ResultShapes() {
		if shape == nil {
			shapes = append(shapes, nil)
		} else {
			shapes = append(shapes, numbers(shape))
		}
	}
	return wire.Record{{Name: "launches", Value: captured.Launches()}, {Name: "shapes", Value: shapes}}, nil
}

func (c *call) list() []any {
	v := c.next()
	list, ok := v.([]any)
	if !ok {
		c.fail("argument %d is %s, not a list", c.taken, describe(v))
	}
	return list
}

func (c *call) refs() []wire.Ref {
	var out []wire.Ref
	for _, v := range c.list() {
		ref, ok := v.(wire.Ref)
		if !ok {
			c.fail("argument %d holds %s, not a tensor", c.taken, describe(v))
		}
		out = append(out, ref)
	}
	return out
}

// ref takes a reference to something that is no tensor.
func (c *call) ref() wire.Ref {
	v := c.next()
	ref, ok := v.(wire.Ref)
	if !ok {
		c.fail("argument %d is %s", c.taken, describe(v))
	}
	return ref
}

// runCaptured plays a captured function with other inputs.
func runCaptured(ctx context.Context, c *call) (any, error) {
	function := c.ref()
	r := c.server.plays[function]
	if r == nil {
		return nil, fmt.Errorf("weft: the captured function was disposed of")
	}
	refs := c.refs()
	inputs := c.server.listed(refs)
	captured := r.captured
	with := c.values()
	if len(with) > 0 {
		captured = captured.With(with)
	}
	outs, err := captured.Run(ctx, inputs...)
	if err != nil {
		return nil, err
	}
	if r.runs++; len(with) == 0 {
		c.server.ran = append(c.server.ran, ran{function, refs, c.outs})
	}
	for i, ref := range c.outs {
		if i < len(outs) {
			c.server.tensors[ref] = outs[i]
			if r.captured.Own(i) {
				c.server.sole[ref] = true
			}
		}
	}
	return nil, nil
}
