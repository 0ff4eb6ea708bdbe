package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/engine/choose"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	machine "github.com/weft-ml/weft/runtime/interp"
)

// slow is a device that does nothing but take its time for each play, and remembers that it was closed.
type slow struct {
	runtime.Device
	name   string
	delay  time.Duration
	closed *int
}

func (s slow) Info() plan.Info {
	i := s.Device.Info()
	i.Detail = "a make-believe " + s.name
	return i
}

func (s slow) Play(runtime.Loaded, []runtime.Mem, []int32) error {
	time.Sleep(s.delay)
	return nil
}

func (s slow) Close() error {
	*s.closed++
	return s.Device.Close()
}

// kept is a store in memory.
type kept struct{ text string }

func (k *kept) Load() (string, error) { return k.text, nil }

func (k *kept) Save(text string) error {
	k.text = text
	return nil
}

// world replaces the registered devices of the process by two for a test: CPU, the best by rank, and WEBGPU.
func world(t *testing.T, cpu, gpu time.Duration, store choose.Store) (log *strings.Builder, closed *int) {
	b, e, o, f, d, k := backends, engines, options, fallback, decided, keep
	t.Cleanup(func() { backends, engines, options, fallback, decided, keep = b, e, o, f, d, k })
	backends, engines, decided = map[string]Backend{}, map[string]*Engine{}, nil
	log, closed = &strings.Builder{}, new(int)
	keep = func(Options) (choose.Store, error) { return store, nil }
	Configure(Options{Debug: 1, Log: log, Threads: 1}, "")
	fake := func(name string, delay time.Duration) func(Options, func(*plan.Kernel, float64)) (*Machine, error) {
		return func(Options, func(*plan.Kernel, float64)) (*Machine, error) {
			dev, err := machine.Open(machine.Options{Threads: 1})
			return &Machine{Device: slow{dev, name, delay, closed}, Target: interp.Target(false), Render: interp.Render}, err
		}
	}
	Register(Backend{Name: "CPU", Rank: 1, Open: fake("CPU", cpu)})
	Register(Backend{Name: "WEBGPU", Compare: true, Open: fake("WEBGPU", gpu)})
	return log, closed
}

func TestFasterDeviceIsTheDefault(t *testing.T) {
	for _, x := range []struct {
		cpu, gpu time.Duration
		want     string
	}{{0, 50 * time.Millisecond, "CPU"}, {50 * time.Millisecond, 0, "WEBGPU"}} {
		store := &kept{}
		log, closed := world(t, x.cpu, x.gpu, store)
		e, err := Use("")
		require.NoError(t, err)
		require.Equal(t, x.want, e.Name())
		require.Equal(t, 1, *closed, "the other is closed")
		require.Equal(t, Stats{}, func() Stats { s := e.Stats(); s.LiveBytes, s.Journal = 0, 0; return s }(), "the probe is not counted")
		require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
		require.Contains(t, log.String(), "weft: "+x.want+" is chosen for plans of about 40 launches, 0.4 GFLOP, 80 MB: CPU ")
		require.Contains(t, log.String(), "(a make-believe WEBGPU)")
		require.Equal(t, x.want, Decided().Device)
		require.Contains(t, store.text, "\t"+x.want+"\tCPU=")

		// Never another one in this process, whatever the work.
		Configure(Options{Work: choose.Work{Launches: 1, Flops: 1, Bytes: 1}}, "")
		again, err := Use("")
		require.NoError(t, err)
		require.Same(t, e, again)
	}
}

func TestDevicesThatAreNamedAreNotMeasured(t *testing.T) {
	log, _ := world(t, 0, time.Hour, nil)
	e, err := Use("CPU")
	require.NoError(t, err)
	require.Equal(t, "CPU", e.Name())
	Configure(options, "CPU")
	e, err = Use("")
	require.NoError(t, err)
	require.Equal(t, "CPU", e.Name())
	require.Nil(t, Decided())
	require.Empty(t, log.String())
}

func TestDeviceThatDoesNotOpen(t *testing.T) {
	log, _ := world(t, 0, 0, &kept{})
	Register(Backend{Name: "WEBGPU", Compare: true, Open: func(Options, func(*plan.Kernel, float64)) (*Machine, error) {
		return nil, errors.New("no adapter")
	}})
	keep = func(Options) (choose.Store, error) { return nil, errors.New("no folder") }
	e, err := Use("")
	require.NoError(t, err)
	require.Equal(t, "CPU", e.Name())
	require.Contains(t, log.String(), "the choice of a device cannot be kept: no folder")
	require.Contains(t, log.String(), "WEBGPU cannot be used: no adapter")
}

func TestProbe(t *testing.T) {
	world(t, 0, 0, nil)
	e, err := Use("CPU")
	require.NoError(t, err)
	s, err := e.Probe(context.Background())
	require.NoError(t, err)
	require.Greater(t, s.Launch, 0.0)
	require.Less(t, s.Launch, 1e-2)
	require.Greater(t, s.Flops, 1e6)
	require.Greater(t, s.Bytes, 1e6)
}

// A device that is chosen later: the program begins on the best by rank, and goes on with the fastest once that was measured. The next
// one begins there.
func TestChosenLater(t *testing.T) {
	store := &kept{}
	log, closed := world(t, 3*time.Millisecond, 0, store)
	o := options
	o.Later = true
	Configure(o, "")
	e, err := Use("")
	require.NoError(t, err)
	require.Equal(t, "CPU", e.Name())
	require.Nil(t, Decided())
	require.Empty(t, store.text)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = e.Choose(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "CPU", e.Name())
	require.Empty(t, store.text, "what was interrupted is no measurement")

	before := *closed
	choice, err := e.Choose(context.Background())
	require.NoError(t, err)
	require.Equal(t, "WEBGPU", choice.Device)
	require.Equal(t, choice, Decided())
	require.Equal(t, "WEBGPU", e.Name())
	require.Contains(t, store.text, "choice\tCPU a make-believe CPU")
	same, err := Use("")
	require.NoError(t, err)
	require.Same(t, e, same)
	require.Equal(t, before+3, *closed, "two that were measured, and the one that was left")
	require.NotContains(t, log.String(), "cannot")

	engines, decided = map[string]*Engine{}, nil
	Configure(o, "")
	e, err = Use("")
	require.NoError(t, err)
	require.Equal(t, "WEBGPU", e.Name(), "from the first")
	require.NotNil(t, Decided())
}
