package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// source is bytes at an address, as the worker is asked for them.
type source struct {
	call   int // that hears of progress, and may be ended
	url    string
	offset int    // −1: the bytes are all that is there
	n      int    // how many
	mask   uint32 // bits that no word may have
	again  bool   // they were there once: what a cache has will do
}

// sinker is a device whose memory the worker can write to, without Go in between.
type sinker interface {
	// Sink gives the number under which the worker keeps a way into the memory.
	Sink(to runtime.Mem) (int32, error)
}

// stream has the worker fetch bytes into a sink, and gives their fingerprint, or why not and whether the device is lost.
// There is no worker outside pages.
var stream = func(context.Context, source, int32) (sum uint32, lost bool, err error) {
	return 0, false, errors.New("weft: fetch works in pages only")
}

// fetch makes a tensor of the bytes at an address.
func fetch(ctx context.Context, c *call) (any, error) {
	from := source{call: c.answer, url: c.text(), offset: -1}
	shape := c.integers()
	o := c.options().only("dtype", "offset")
	if name, ok := o.r.Get("dtype").(string); ok && strings.HasPrefix(name, ">") {
		c.fail("%s: elements are read as little-endian, not as %q; turn their bytes beforehand", from.url, name)
	}
	d := o.at("dtype").dtype(dtype.F32)
	if o.r.Get("offset") != nil {
		if from.offset = o.at("offset").integer(0); from.offset < 0 {
			c.fail("%s: the offset is %d", from.url, from.offset)
		}
	}
	if d == dtype.Bool {
		from.mask = 0xfefefefe
	}
	known := false
	var sum uint32 // that it must have when it is fetched again
	x, err := tensor.Fill(ctx, d, shape, func(dev runtime.Device, m runtime.Mem) (func(context.Context) error, error) {
		to, ok := dev.(sinker)
		if !ok {
			return nil, fmt.Errorf("weft: %s has no memory that a worker could write to", dev.Info().Name)
		}
		sink, err := to.Sink(m)
		return func(ctx context.Context) error {
			asked := from
			asked.n, asked.again = uop.Shape(shape).Numel()*d.Size(), known
			got, lost, err := stream(ctx, asked, sink)
			switch {
			case lost:
				return &runtime.Lost{Device: dev.Info().Name, Why: err}
			case err != nil:
				return err
			case known && got != sum:
				return fmt.Errorf("fetch %s: it has other bytes than before; dispose of the tensor, or bring them back", from.url)
			}
			known, sum = true, got
			return nil
		}, err
	})
	if err != nil {
		return nil, err
	}
	c.server.turn.Lock()
	defer c.server.turn.Unlock()
	c.server.tensors[c.outs[0]] = x
	return nil, nil
}
