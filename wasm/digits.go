//go:build !lean

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/wasm/wire"
)

// digits is a network in training and its data.
type digits struct {
	size  widths
	batch int
	seed  uint64
	rate  float64

	train *data.Split // nil: drawn anew for each step
	test  data.Split
	h, w  int

	learner *learner
	step    int
	shown   int // the next held-back picture to show
	order   *rand.Rand
	gone    bool
}

const (
	heldBack = 1000 // synthetic digits that training never sees
	block    = 100  // pictures that are read at a time
)

func init() {
	calls["digits"] = procedure{run: newDigits}
	calls["train"] = procedure{run: train, long: true}
	calls["evaluate"] = procedure{run: evaluate, long: true}
	calls["predict"] = procedure{run: predict}
	calls["samples"] = procedure{run: samples}
	calls["reset"] = procedure{run: reset}
}

// end has long calls end: the page has forgotten the network.
func (d *digits) end() { d.gone = true }

// newDigits takes {channels, data, batch, seed, rate}.
func newDigits(ctx context.Context, c *call) (any, error) {
	o := c.options().only("channels", "data", "batch", "seed", "rate")
	d := &digits{
		size: o.widths(), batch: o.at("batch").integer(64), seed: uint64(o.at("seed").integer(1)), rate: o.at("rate").number(1e-3),
	}
	if d.batch < 1 || d.batch > 4096 {
		c.fail("batch %d: from 1 to 4096", d.batch)
	}
	if !(d.rate > 0) {
		c.fail("rate %v: it must be above 0", d.rate)
	}
	switch v := o.r.Get("data").(type) {
	case nil:
		d.synthetic()
	case string:
		if v != "synthetic" {
			c.fail("there is no data %q; there are \"synthetic\" and {images, labels, n, h, w, testImages, testLabels, testN}", v)
		}
		d.synthetic()
	case wire.Record:
		d.given(options{c, v})
	default:
		c.fail("data is %s", describe(v))
	}
	if err := d.restart(ctx); err != nil {
		return nil, err
	}
	c.server.nets[c.outs[0]] = d
	return wire.Record{{Name: "heldBack", Value: d.test.N}, {Name: "height", Value: d.h}, {Name: "width", Value: d.w}}, nil
}

// widths takes channels: [8, 16], or "full" for the network of the command line.
func (o options) widths() widths {
	switch v := o.r.Get("channels").(type) {
	case nil:
		return widths{channels: [2]int{8, 16}}
	case string:
		if v == "full" {
			return widths{channels: [2]int{32, 64}, deep: true}
		}
	case []any:
		if list := o.at("channels").integers(); len(list) == 2 && list[0] > 0 && list[1] > 0 {
			return widths{channels: [2]int{list[0], list[1]}}
		}
	}
	o.c.fail("channels are two numbers above 0, such as [8, 16], or \"full\"")
	return widths{}
}

func (d *digits) synthetic() {
	d.h, d.w = data.SyntheticSize, data.SyntheticSize
	d.test = data.Synthetic(d.seed, 0, heldBack).Test
}

// given takes pictures and labels from the page.
func (d *digits) given(o options) {
	o.only("images", "labels", "n", "h", "w", "testImages", "testLabels", "testN")
	d.h, d.w = o.at("h").integer(0), o.at("w").integer(0)
	train := o.split(d.h, d.w, "images", "labels", "n")
	d.train, d.test = &train, o.split(d.h, d.w, "testImages", "testLabels", "testN")
	if d.h < 1 || d.w < 1 || d.h > 256 || d.w > 256 {
		o.c.fail("pictures of %d×%d: from 1×1 to 256×256", d.h, d.w)
	}
	if train.N < d.batch {
		o.c.fail("%d pictures are fewer than a batch of %d", train.N, d.batch)
	}
}

func (o options) split(h, w int, images, labels, n string) data.Split {
	pixels, _ := o.r.Get(images).(wire.Array)
	names, _ := o.r.Get(labels).(wire.Array)
	s := data.Split{Images: pixels.Data, Labels: names.Data, N: o.at(n).integer(0), H: h, W: w}
	if len(s.Images) != s.N*h*w || len(s.Labels) != s.N || s.N == 0 {
		o.c.fail("%s has %d bytes and %s %d; %d pictures of %d×%d need %d and %d", images, len(s.Images), labels, len(s.Labels), s.N, h, w, s.N*h*w, s.N)
	}
	for i, l := range s.Labels {
		if l >= data.Classes {
			o.c.fail("label %d is %d, outside 0…9", i, l)
		}
	}
	return s
}

// restart begins with fresh weights; each time with others.
func (d *digits) restart(ctx context.Context) (err error) {
	d.learner, err = newLearner(ctx, d.size, d.h, d.w, uint32(d.seed), d.rate)
	d.step = 0
	d.order = rand.New(rand.NewPCG(d.seed, 1))
	return err
}

// next is the pictures of one step: drawn anew, or some of those that the page gave.
func (d *digits) next() data.Split {
	if d.train == nil {
		return data.Synthetic(d.seed<<32+uint64(d.step), d.batch, 0).Train
	}
	size := d.h * d.w
	s := data.Split{Images: make([]byte, 0, d.batch*size), N: d.batch, H: d.h, W: d.w}
	for range d.batch {
		i := d.order.IntN(d.train.N)
		s.Images = append(s.Images, d.train.Image(i)...)
		s.Labels = append(s.Labels, d.train.Labels[i])
	}
	return s
}

var errGone = errors.New("weft: the network was disposed of")

// network takes a network.
func (c *call) network() (*digits, error) {
	if d, ok := c.server.nets[c.ref()].(*digits); ok {
		return d, nil
	}
	return nil, errGone
}

// news is how long a training may go on before it tells of its loss and lets others have a turn.
const news = 30 * time.Millisecond

// train takes so many steps. Reading a loss waits for the device, so with fast steps not every one is read.
func train(ctx context.Context, c *call) (any, error) {
	s := c.server
	s.turn.Lock()
	d, err := c.network()
	steps := 0
	if err == nil {
		steps = c.integer(1)
	}
	s.turn.Unlock()
	if err != nil {
		return nil, err
	}
	begin, told, since := time.Now(), time.Now(), 0
	for i := range steps {
		loss, err := s.oneStep(ctx, d, func() bool { return i == steps-1 || time.Since(told) > news })
		if err != nil {
			return nil, err
		}
		if since++; loss != nil {
			now := time.Now()
			s.progress(c.answer, wire.Record{
				{Name: "step", Value: d.step}, {Name: "loss", Value: *loss}, {Name: "stepsPerSecond", Value: float64(since) / max(now.Sub(told).Seconds(), 1e-6)},
			})
			told, since = now, 0
			time.Sleep(time.Microsecond) // the worker's event loop: requests may have come
		}
	}
	return wire.Record{
		{Name: "step", Value: d.step}, {Name: "stepsPerSecond", Value: float64(steps) / max(time.Since(begin).Seconds(), 1e-6)},
	}, nil
}

// oneStep holds the turn for one step, and reads the loss if it is wanted.
func (s *server) oneStep(ctx context.Context, d *digits, wanted func() bool) (*float64, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if d.gone {
		return nil, errGone
	}
	t, err := d.learner.learn(ctx, d.next())
	if err != nil {
		return nil, err
	}
	d.step++
	if !wanted() {
		return nil, nil
	}
	loss, err := t.Item(ctx)
	return &loss, err
}

// evaluate reads held-back pictures and gives the share that was read rightly, in per cent.
func evaluate(ctx context.Context, c *call) (any, error) {
	s := c.server
	s.turn.Lock()
	d, err := c.network()
	n := 0
	if err == nil {
		n = min(max(c.integer(d.test.N), 1), d.test.N)
	}
	s.turn.Unlock()
	if err != nil {
		return nil, err
	}
	right := 0
	for lo := 0; lo < n; lo += block {
		k, err := s.readBlock(ctx, d, part(d.test, lo, min(lo+block, n)))
		if err != nil {
			return nil, err
		}
		right += k
	}
	return 100 * float64(right) / float64(n), nil
}

// readBlock holds the turn for one block and counts the pictures read rightly.
func (s *server) readBlock(ctx context.Context, d *digits, pictures data.Split) (right int, err error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if d.gone {
		return 0, errGone
	}
	rows, err := d.learner.read(ctx, pictures)
	for i, p := range rows {
		if best(p) == int(pictures.Labels[i]) {
			right++
		}
	}
	return right, err
}

// predict reads one picture.
func predict(ctx context.Context, c *call) (any, error) {
	d, err := c.network()
	if err != nil {
		return nil, err
	}
	pixels, ok := c.next().(wire.Array)
	if !ok || len(pixels.Data) != d.h*d.w || (pixels.Type != "u8") {
		c.fail("the picture must be a Uint8Array of %d pixels, %d rows of %d", d.h*d.w, d.h, d.w)
	}
	rows, err := d.learner.read(ctx, data.Split{Images: pixels.Data, N: 1, H: d.h, W: d.w})
	if err != nil {
		return nil, err
	}
	return floats(rows[0]), nil
}

// samples gives held-back pictures with what the network says of them; each call shows the next ones.
func samples(ctx context.Context, c *call) (any, error) {
	d, err := c.network()
	if err != nil {
		return nil, err
	}
	k := min(max(c.integer(10), 1), d.test.N, block)
	if d.shown+k > d.test.N {
		d.shown = 0
	}
	s := part(d.test, d.shown, d.shown+k)
	d.shown += k
	rows, err := d.learner.read(ctx, s)
	if err != nil {
		return nil, err
	}
	out := make([]any, k)
	for i, p := range rows {
		guess := best(p)
		out[i] = wire.Record{
			{Name: "pixels", Value: wire.Array{Type: "u8", Data: s.Image(i)}}, {Name: "label", Value: int(s.Labels[i])},
			{Name: "guess", Value: guess}, {Name: "sure", Value: float64(p[guess])},
		}
	}
	return out, nil
}

// reset begins anew.
func reset(ctx context.Context, c *call) (any, error) {
	d, err := c.network()
	if err != nil {
		return nil, err
	}
	d.seed++
	return nil, d.restart(ctx)
}
