package tests

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

const (
	serverClients = 50
	serverRounds  = 6  // of each client, where no time is asked for
	serverBlock   = 64 // random numbers of an answer
)

// server is what the clients of TestServer share.
type server struct {
	scale, noise, noises, ticket, pair *tensor.Captured

	count *tensor.Tensor // what ticket hands out
	a, b  *tensor.Tensor // trained side by side: always equal, and never less than before

	mu      sync.Mutex
	blocks  map[string]bool  // of random numbers that clients got
	tickets map[float32]bool // that clients got
	took    []time.Duration
	stop    func() bool
}

// TestServer has 50 clients run captured functions at once, some of which draw random numbers and one of which assigns, while
// a network is trained, tensors are changed, expressions are built and other functions are captured beside them. With
// WEFT_SERVE=60s it goes on for a minute, and prints what a request took.
func TestServer(t *testing.T) {
	ctx := context.Background()
	e, err := engine.Use("")
	require.NoError(t, err)
	if e.Name() == "REF" {
		t.Skip("REF cannot capture")
	}
	s := newServer(t, ctx)
	var clients, others sync.WaitGroup
	for i := range serverClients {
		clients.Go(func() { s.client(t, ctx, i) })
	}
	var done atomic.Bool
	steps := make([]int, 3)
	for i, f := range []func() error{s.trainer(t, ctx), s.adder(t, ctx), s.builder(t, ctx)} {
		others.Go(func() {
			for ; !done.Load() || steps[i] == 0; steps[i]++ {
				if !assert.NoError(t, f()) {
					return
				}
			}
		})
	}
	var alone []time.Duration
	others.Go(func() { alone = machine(&done) })
	clients.Wait()
	done.Store(true)
	others.Wait()

	count, err := s.count.Item(ctx)
	require.NoError(t, err)
	assert.Len(t, s.tickets, int(count), "each run of the counter has a number of its own")
	require.NotEmpty(t, s.took)
	median, p99 := quantiles(s.took)
	t.Logf("%d requests of %d clients on %s beside %d steps of training, %d of assigning and %d of building: median %.1f ms, p99 %.1f ms (%.1f ×), longest %.1f ms",
		len(s.took), serverClients, e.Name(), steps[0], steps[1], steps[2], ms(median), ms(p99), ms(p99)/ms(median), ms(slices.Max(s.took)))
	median, p99 = quantiles(alone)
	t.Logf("the machine itself: a thread that only computes took %.2f ms in the median, p99 %.2f ms (%.1f ×), longest %.1f ms for the same work",
		ms(median), ms(p99), ms(p99)/ms(median), ms(slices.Max(alone)))
}

// machine measures how long the same little work takes a thread of its own, again and again: what other programs take away.
func machine(done *atomic.Bool) (took []time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for x := uint64(1); !done.Load() || len(took) == 0; time.Sleep(10 * time.Millisecond) {
		start := time.Now()
		for range 300_000 {
			x = x*6364136223846793005 + x>>33
		}
		if took = append(took, time.Since(start)); x == 0 {
			return took
		}
	}
	return took
}

func quantiles(took []time.Duration) (median, p99 time.Duration) {
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

func newServer(t *testing.T, ctx context.Context) *server {
	s := &server{blocks: map[string]bool{}, tickets: map[float32]bool{}}
	if v := os.Getenv("WEFT_SERVE"); v != "" {
		d, err := time.ParseDuration(v)
		require.NoError(t, err, "WEFT_SERVE")
		end := time.Now().Add(d)
		s.stop = func() bool { return time.Now().After(end) }
	}
	x := tensor.Of(make([]float32, 16))
	s.count, s.a, s.b = tensor.Zeros().Own(), tensor.Zeros(16).Own(), tensor.Zeros(16).Own()
	require.NoError(t, tensor.Realize(ctx, s.count, s.a, s.b))
	capture := func(f func(x *tensor.Tensor) []*tensor.Tensor) *tensor.Captured {
		c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return f(in[0]) }, x)
		require.NoError(t, err)
		return c
	}
	s.scale = capture(func(x *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{x.Mul(3).Add(1)} })
	s.noise = capture(func(x *tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{x.Add(1), tensor.Rand(serverBlock)}
	})
	s.noises = capture(func(x *tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{x.Add(2), tensor.Rand(serverBlock), tensor.Rand(2, serverBlock)}
	})
	s.ticket = capture(func(x *tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{x, s.count.Assign(s.count.Add(1)).Mul(1)}
	})
	s.pair = capture(func(x *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{x.Add(s.a.Sub(s.b)), s.a.Add(0)} })
	return s
}

// client sends requests one after the other and checks the answers.
func (s *server) client(t *testing.T, ctx context.Context, me int) {
	last := float32(-1)
	for round := 0; ; round++ {
		if s.stop == nil && round == serverRounds || s.stop != nil && s.stop() {
			return
		}
		in, plus := make([]float32, 16), func(in []float32, times, plus float32) []float32 {
			out := slices.Clone(in)
			for i := range out {
				out[i] = out[i]*times + plus
			}
			return out
		}
		for i := range in {
			in[i] = float32(me*1000 + round%997 + i)
		}
		start := time.Now()
		kind := (me + round) % 5
		f := []*tensor.Captured{s.scale, s.noise, s.noises, s.ticket, s.pair}[kind]
		out, err := f.Run(ctx, tensor.Of(in))
		if !assert.NoError(t, err) {
			return
		}
		got := make([][]float32, len(out))
		for i, o := range out {
			if got[i], err = tensor.Data[float32](ctx, o); !assert.NoError(t, err) {
				return
			}
		}
		took := time.Since(start)
		want := [][]float32{plus(in, 3, 1), plus(in, 1, 1), plus(in, 1, 2), in, in}[kind]
		ok := assert.Equal(t, want, got[0], "client %d, round %d, function %d", me, round, kind)
		s.mu.Lock()
		s.took = append(s.took, took)
		switch kind {
		case 1, 2:
			for _, block := range got[1:] {
				for ; len(block) > 0; block = block[serverBlock:] {
					key := fmt.Sprint(block[:serverBlock])
					ok = assert.False(t, s.blocks[key], "random numbers come twice") && ok
					s.blocks[key] = true
				}
			}
		case 3:
			ok = assert.False(t, s.tickets[got[1][0]], "number %v is given twice", got[1][0]) && ok
			s.tickets[got[1][0]] = true
		case 4:
			ok = assert.GreaterOrEqual(t, got[1][0], last) && ok
			last = got[1][0]
		}
		s.mu.Unlock()
		if !ok {
			return
		}
	}
}

// trainer gives the steps of a training with dropout, in a captured function.
func (s *server) trainer(t *testing.T, ctx context.Context) func() error {
	net := &struct{ First, Second *nn.Linear }{nn.NewLinear(16, 32), nn.NewLinear(32, 4)}
	opt, err := nn.NewAdam(ctx, net, nn.AdamOptions{})
	require.NoError(t, err)
	x, y := tensor.Of(make([]float32, 8*16), 8, 16), tensor.Of(make([]int32, 8))
	step, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		loss := net.Second.Forward(net.First.Forward(in[0]).ReLU().Dropout(0.25)).CrossEntropy(in[1])
		opt.Update(loss)
		return []*tensor.Tensor{loss}
	}, x, y)
	require.NoError(t, err)
	last, taken := 10., 0.
	return func() error {
		out, err := step.Run(ctx, x, y)
		if err != nil {
			return err
		}
		loss, err := out[0].Item(ctx)
		if taken++; err != nil || !(loss < last+0.5) {
			return fmt.Errorf("loss %v after %v: %w", loss, last, err)
		}
		last = loss
		if n, err := opt.Count.Item(ctx); err != nil || n != taken { // a state that a captured function assigns
			return fmt.Errorf("%v steps of %v: %w", n, taken, err)
		}
		return nil
	}
}

// adder changes two tensors together, step by step and without a captured function.
func (s *server) adder(t *testing.T, ctx context.Context) func() error {
	return func() error {
		s.a.Assign(s.a.Add(1))
		s.b.Assign(s.b.Add(1))
		return tensor.Realize(ctx, s.a, s.b)
	}
}

// builder builds and reads expressions, draws random numbers and captures functions again and again.
func (s *server) builder(t *testing.T, ctx context.Context) func() error {
	shared, round := tensor.Full(2, dtype.F32, 8), 0
	return func() error {
		round++
		x := tensor.Of([]float32{float32(round)})
		if v, err := x.Add(1).Mul(shared).Sum().Item(ctx); err != nil || v != float64(16*(round+1)) {
			return fmt.Errorf("%v in round %d: %w", v, round, err)
		}
		c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{in[0].Add(5), tensor.Rand(3)}
		}, x)
		if err != nil {
			return err
		}
		out, err := c.Run(ctx, x)
		if err != nil {
			return err
		}
		if v, err := out[0].Item(ctx); err != nil || v != float64(round+5) {
			return fmt.Errorf("%v captured in round %d: %w", v, round, err)
		}
		return nil
	}
}
