//go:build !js

package wasm

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

func open(t testing.TB, o Options) *Device {
	t.Helper()
	o.CacheDir = t.TempDir()
	d, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d.(*Device)
}

// Function bodies: no locals, instructions, end.
var (
	outside = []byte{0, 0x41, 0x7F, 0x28, 0, 0, 0x1A, 0x0B} // loads from the last address
	// p0[lo] = lo: i32.store((i32.load(buf) + lo·4), lo), for the first iteration of a call only
	mark = []byte{0, 0x20, 0, 0x28, 2, 0, 0x20, 3, 0x41, 2, 0x74, 0x6A, 0x20, 3, 0x36, 2, 0, 0x0B}
	// p0[16] = 7
	behind = []byte{0, 0x20, 0, 0x28, 2, 0, 0x41, 7, 0x36, 2, 64, 0x0B}
	// p0[0] = var[0]
	uniform = []byte{0, 0x20, 0, 0x28, 2, 0, 0x20, 1, 0x28, 2, 0, 0x36, 2, 0, 0x0B}
)

// one is a plan of one kernel that writes 64 bytes.
func one(name string, code []byte, threads int32) *plan.Plan {
	return &plan.Plan{
		Version: plan.Version, Target: "wasm",
		Kernels: []plan.Kernel{{Name: name, Entry: "k_" + name, Code: code, Threads: threads, Binds: []plan.Bind{{Write: true, Bytes: 64}}}},
		Memory:  []plan.Memory{{Kind: plan.Output, Bytes: 64}},
		Slots:   []plan.Slot{{Bytes: 64, DType: dtype.I32, Dims: []int{16}}},
		Steps:   []plan.Step{{Kind: plan.Launch, Slots: []int{0}}},
	}
}

func play(t *testing.T, d *Device, p *plan.Plan, vars ...int32) ([]byte, error) {
	t.Helper()
	l, err := d.Load(context.Background(), p)
	require.NoError(t, err)
	defer l.Free()
	m, err := d.Alloc(64)
	require.NoError(t, err)
	defer m.Free()
	if err := d.Play(l, []runtime.Mem{m}, vars); err != nil {
		return nil, err
	}
	out := make([]byte, 64)
	return out, d.Read(context.Background(), out, m, 0)
}

func TestTrapNamesTheKernel(t *testing.T) {
	d := open(t, Options{Threads: 2})
	_, err := play(t, d, one("r_3_4", outside, 1))
	require.ErrorContains(t, err, "WASM: kernel r_3_4: wasm error: out of bounds memory access")
	require.NotContains(t, err.Error(), "\n")
	_, err = play(t, d, one("ok", mark, 1))
	require.NoError(t, err, "the device goes on")
}

func TestPoison(t *testing.T) {
	d := open(t, Options{Threads: 1, Poison: true})
	_, err := play(t, d, one("E_17", behind, 1))
	require.ErrorContains(t, err, "wrote behind argument 0 (64 bytes)")
	m, err := d.Alloc(100)
	require.NoError(t, err)
	out := make([]byte, 100)
	require.NoError(t, d.Read(context.Background(), out, m, 0))
	require.True(t, guard.Filled(out))
}

func TestVariables(t *testing.T) {
	d := open(t, Options{Threads: 1})
	p := one("var", uniform, 1)
	p.Vars = []plan.Var{{Name: "n", Lo: -5, Hi: 5}}
	out, err := play(t, d, p, -4)
	require.NoError(t, err)
	require.Equal(t, int32(-4), int32(binary.LittleEndian.Uint32(out)))
	_, err = play(t, d, p, 6)
	require.ErrorContains(t, err, "variable n is 6")
	_, err = play(t, d, p)
	require.ErrorContains(t, err, "takes 1 variables and gets 0")
}

func TestThreadsDoAllIterations(t *testing.T) {
	d := open(t, Options{Threads: 3})
	out, err := play(t, d, one("mark", mark, 16))
	require.NoError(t, err)
	last := uint32(0)
	for i := 0; i < 64; i += 4 { // each call marks its first iteration
		if v := binary.LittleEndian.Uint32(out[i:]); v != 0 {
			require.Equal(t, uint32(i/4), v)
			last = v
		}
	}
	require.Equal(t, uint32(15), last, "the last share is a single iteration")
}

func TestRefused(t *testing.T) {
	d := open(t, Options{Threads: 1})
	load := func(p *plan.Plan) error {
		_, err := d.Load(context.Background(), p)
		return err
	}
	p := one("none", nil, 1)
	require.ErrorContains(t, load(p), "kernel none: it has no code")
	p = one("bad", []byte{0, 0x6A, 0x0B}, 1)
	require.ErrorContains(t, load(p), "WASM: compile bad:")
	p = one("c", mark, 1)
	p.Target = "c"
	require.ErrorContains(t, load(p), `written for "c"`)
	p = one("ok", mark, 1)
	l, err := d.Load(context.Background(), p)
	require.NoError(t, err)
	other := open(t, Options{Threads: 1})
	m, err := other.Alloc(64)
	require.NoError(t, err)
	require.ErrorContains(t, d.Play(l, []runtime.Mem{m}, nil), "memory of another device")
	require.ErrorContains(t, d.Play(l, nil, nil), "takes 1 buffers and gets 0")
	require.ErrorContains(t, other.Play(l, nil, nil), "loaded by another device")
	_, err = Open(Options{Threads: -1})
	require.ErrorContains(t, err, "neither may be negative")
}

func TestMemory(t *testing.T) {
	d := open(t, Options{Threads: 1, MemoryLimit: 8 << 20})
	var list []runtime.Mem
	for range 4 {
		m, err := d.Alloc(2<<20 - 64)
		require.NoError(t, err)
		list = append(list, m)
	}
	_, err := d.Alloc(1 << 20)
	var full *runtime.OutOfMemory
	require.True(t, errors.As(err, &full), "%v", err)
	require.Equal(t, int64(8<<20), full.Max)
	size := d.Stats().Memory
	var wait sync.WaitGroup // as finalizers do
	for _, m := range list {
		wait.Go(m.Free)
	}
	wait.Wait()
	require.Zero(t, d.Stats().Live)
	m, err := d.Alloc(8<<20 - 64)
	require.NoError(t, err, "freed neighbours become one")
	require.LessOrEqual(t, d.Stats().Memory, size+2<<20)
	m.Free()
	require.Panics(t, m.Free)
	require.ErrorContains(t, d.Write(m, 0, []byte{1}), "freed before")
	m, err = d.Alloc(0)
	require.NoError(t, err)
	require.ErrorContains(t, d.Write(m, 0, []byte{1}), "write 1 bytes at 0 of a buffer of 0")
	_, err = d.Alloc(1 << 40)
	require.True(t, errors.As(err, &full))
}

func TestMoreMemoryThanThereIs(t *testing.T) {
	d := open(t, Options{Threads: 1})
	_, err := d.Alloc(1 << 32)
	var full *runtime.OutOfMemory
	require.True(t, errors.As(err, &full), "%v", err)
	require.Equal(t, int64(len(d.pages.all)), full.Max)
}

func TestClosed(t *testing.T) {
	d, err := Open(Options{CacheDir: t.TempDir(), Threads: 1})
	require.NoError(t, err)
	m, err := d.Alloc(10)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	m.Free()
	_, err = d.Alloc(10)
	require.ErrorAs(t, err, new(*runtime.Closed))
}

// A plan whose scratch finds no room is refused, and the plans before it keep theirs.
func TestScratchThatFindsNoRoom(t *testing.T) {
	d := open(t, Options{Threads: 2, MemoryLimit: 1 << 20, Poison: true})
	l, err := d.Load(context.Background(), one("before", mark, 2))
	require.NoError(t, err)
	big := one("big", mark, 1)
	big.Kernels[0].Scratch = 4 << 20
	_, err = d.Load(context.Background(), big)
	var full *runtime.OutOfMemory
	require.ErrorAs(t, err, &full)
	m, err := d.Alloc(64)
	require.NoError(t, err)
	require.NoError(t, d.Play(l, []runtime.Mem{m}, nil))
}
