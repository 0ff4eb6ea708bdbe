//go:build !wasm

package native

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	need "github.com/weft-ml/weft/tests/require"
)

const prelude = "#include <stdint.h>\n"

// open opens a device for a test; a machine without a compiler skips it.
func open(t testing.TB, o Options) *Device {
	t.Helper()
	o.Prelude = prelude
	if o.CacheDir == "" {
		o.CacheDir = t.TempDir()
	}
	dev, err := Open(o)
	if missing := (*NoCompiler)(nil); errors.As(err, &missing) {
		need.Device(t, "CPU", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dev.Close()) })
	return dev.(*Device)
}

// kernel returns a kernel whose body sees buf, var, scratch, lo and hi.
func kernel(entry, body string, threads int32, binds ...plan.Bind) plan.Kernel {
	return plan.Kernel{Name: entry, Entry: entry, Threads: threads, Binds: binds,
		Source: "void " + entry + "(char *const *buf, const int32_t *var, char *scratch, int32_t lo, int32_t hi) {\n" + body + "\n}\n"}
}

func add(entry string, rows, cols int) plan.Kernel {
	n := int64(rows * cols * 4)
	return kernel(entry, fmt.Sprintf(`	float *o = (float *)buf[0]; const float *a = (const float *)buf[1], *b = (const float *)buf[2];
	for (int32_t i = lo * %d; i < hi * %d; i++) o[i] = a[i] + b[i];`, cols, cols), int32(rows),
		plan.Bind{Write: true, Bytes: n}, plan.Bind{Bytes: n}, plan.Bind{Bytes: n})
}

// kept are the files of a kernel in a cache folder.
func kept(t *testing.T, dir string, k plan.Kernel) (index, library string) {
	t.Helper()
	d := open(t, Options{CacheDir: dir})
	key := d.build.key(&k)
	name := d.build.cache.find(key)
	require.NotEmpty(t, name, "%s is not kept", k.Name)
	return filepath.Join(dir, key+indexExt), filepath.Join(dir, name)
}

// addPlan is out ← a + b for rows×cols numbers.
func addPlan(entry string, rows, cols int) *plan.Plan {
	n := int64(rows * cols * 4)
	p := &plan.Plan{Version: plan.Version, Target: "CPU", Kernels: []plan.Kernel{add(entry, rows, cols)},
		Memory: []plan.Memory{{Kind: plan.Output, Arg: 0, Bytes: n}, {Kind: plan.Input, Arg: 1, Bytes: n}, {Kind: plan.Input, Arg: 2, Bytes: n}},
		Steps:  []plan.Step{{Kind: plan.Launch, Slots: []int{0, 1, 2}}}}
	for i := range p.Memory {
		p.Slots = append(p.Slots, plan.Slot{Memory: i, Bytes: n, DType: dtype.F32, Dims: []int{rows, cols}})
	}
	return p
}

func load(t testing.TB, d *Device, p *plan.Plan) runtime.Loaded {
	t.Helper()
	l, err := d.Load(context.Background(), p)
	require.NoError(t, err)
	return l
}

func alloc(t testing.TB, d *Device, bytes int) runtime.Mem {
	t.Helper()
	m, err := d.Alloc(int64(bytes))
	require.NoError(t, err)
	t.Cleanup(func() {
		if m.(*mem).block.data != nil {
			m.Free()
		}
	})
	return m
}

func bytesOf(f []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), len(f)*4)
}

func put(t testing.TB, d *Device, f ...float32) runtime.Mem {
	t.Helper()
	m := alloc(t, d, len(f)*4)
	require.NoError(t, d.Write(m, 0, bytesOf(f)))
	return m
}

func get(t testing.TB, d *Device, m runtime.Mem) []float32 {
	t.Helper()
	f := make([]float32, m.Bytes()/4)
	require.NoError(t, d.Read(context.Background(), bytesOf(f), m, 0))
	return f
}

func TestAdd(t *testing.T) {
	d := open(t, Options{Poison: true})
	l := load(t, d, addPlan("add_test", 1, 3))
	out := alloc(t, d, 12)
	require.NoError(t, d.Play(l, []runtime.Mem{out, put(t, d, 1, 2, 3), put(t, d, 10, 20, 30)}, nil))
	require.NoError(t, d.Sync(context.Background()))
	assert.Equal(t, []float32{11, 22, 33}, get(t, d, out))
	assert.Equal(t, 1, d.Stats().Compiled)

	load(t, d, addPlan("add_test", 1, 3))
	assert.Equal(t, 1, d.Stats().Compiled, "a loaded kernel is not compiled again")

	other := open(t, Options{CacheDir: d.build.cache.folder.Path, Threads: 1})
	load(t, other, addPlan("add_test", 1, 3))
	assert.Zero(t, other.Stats().Compiled, "nor for another device of the process")
	assert.Contains(t, other.Info().Detail, "1 thread,")
	assert.Equal(t, "c", other.Info().Target)
}

func TestThreadsHaveALimit(t *testing.T) {
	_, err := Open(Options{Threads: MostThreads + 1})
	require.ErrorContains(t, err, "CPU: 4097 threads: at most 4096 are possible")
}

func TestThreads(t *testing.T) {
	const rows, cols = 1009, 37
	a, b := make([]float32, rows*cols), make([]float32, rows*cols)
	for i := range a {
		a[i], b[i] = float32(math.Sin(float64(i))), float32(math.Sqrt(float64(i)))
	}
	// Each row is a sum kept in the thread's own scratch.
	k := kernel("rows_test", fmt.Sprintf(`	float *o = (float *)buf[0]; const float *a = (const float *)buf[1], *b = (const float *)buf[2];
	float *s = (float *)scratch;
	if ((uintptr_t)scratch %% 64) return;
	for (int32_t i = lo; i < hi; i++) {
		for (int j = 0; j < 20000; j++) s[j] = 0;
		for (int j = 0; j < %[1]d; j++) { s[j] += a[i*%[1]d+j]; s[19999] += s[j] * b[i*%[1]d+j]; }
		o[i] = s[19999];
	}`, cols), rows, plan.Bind{Write: true, Bytes: rows * 4}, plan.Bind{Bytes: rows * cols * 4}, plan.Bind{Bytes: rows * cols * 4})
	k.Scratch = 80_000
	p := addPlan("unused", rows, cols)
	p.Kernels[0], p.Memory[0].Bytes, p.Slots[0].Bytes = k, rows*4, rows*4
	var first []float32
	for _, threads := range []int{1, 2, 5, 33} {
		d := open(t, Options{Threads: threads, Poison: true})
		l := load(t, d, p)
		args := []runtime.Mem{alloc(t, d, rows*4), put(t, d, a...), put(t, d, b...)}
		for range 10 {
			require.NoError(t, d.Write(args[0], 0, make([]byte, rows*4)))
			require.NoError(t, d.Play(l, args, nil))
			got := get(t, d, args[0])
			if first == nil {
				first = got
				assert.InDelta(t, a[cols]*b[cols]+a[cols+1]*b[cols+1], got[1]-rest(a, b, cols+2, 2*cols), 1e-3)
			}
			require.Equal(t, first, got, "%d threads", threads)
		}
	}
}

func rest(a, b []float32, from, to int) (sum float32) {
	for i := from; i < to; i++ {
		sum += a[i] * b[i]
	}
	return sum
}

// chainPlan: arena x ← a+b; arena y (another offset) ← x+b; copy y → out. One variable.
func chainPlan() *plan.Plan {
	scale := kernel("scale_test", `	float *o = (float *)buf[0]; const float *a = (const float *)buf[1];
	for (int32_t i = 0; i < 16; i++) o[i] = a[i] * var[0];`, 1, plan.Bind{Write: true, Bytes: 64}, plan.Bind{Bytes: 64})
	return &plan.Plan{Version: plan.Version, Target: "CPU", Vars: []plan.Var{{Name: "n", Lo: 1, Hi: 8}},
		Kernels: []plan.Kernel{add("add16_test", 16, 1), scale},
		Memory: []plan.Memory{{Kind: plan.Arena, Bytes: 1024}, {Kind: plan.Input, Arg: 0, Bytes: 64},
			{Kind: plan.State, Arg: 1, Bytes: 64}, {Kind: plan.Output, Arg: 2, Bytes: 64}},
		Slots: []plan.Slot{{Memory: 0, Offset: 256, Bytes: 64}, {Memory: 0, Offset: 512, Bytes: 64},
			{Memory: 1, Bytes: 64}, {Memory: 2, Bytes: 64}, {Memory: 3, Bytes: 64}},
		Steps: []plan.Step{{Kind: plan.Launch, Slots: []int{0, 2, 3}}, {Kind: plan.Launch, Kernel: 1, Slots: []int{1, 0}},
			{Kind: plan.Copy, Slots: []int{4, 1}}, {Kind: plan.Copy, Slots: []int{3, 1}}}}
}

func TestArenaCopyVarsState(t *testing.T) {
	var seen []string
	d := open(t, Options{Poison: true, Trace: func(name string, took time.Duration, k *plan.Kernel) {
		seen = append(seen, name)
		assert.Equal(t, name == "copy", k == nil)
		assert.Positive(t, took)
	}})
	l := load(t, d, chainPlan())
	in, state, out := put(t, d, make([]float32, 16)...), put(t, d, make([]float32, 16)...), alloc(t, d, 64)
	one := make([]float32, 16)
	for i := range one {
		one[i] = 1
	}
	require.NoError(t, d.Write(in, 0, bytesOf(one)))
	require.NoError(t, d.Play(l, []runtime.Mem{in, state, out}, []int32{3})) // (1+0)·3
	require.NoError(t, d.Play(l, []runtime.Mem{in, state, out}, []int32{5})) // (1+3)·5
	assert.Equal(t, float32(20), get(t, d, out)[15])
	assert.Equal(t, get(t, d, out), get(t, d, state))
	assert.Equal(t, []string{"add16_test", "scale_test", "copy", "copy"}, seen[:4])
	live := d.Stats().Live
	require.NoError(t, d.Play(l, []runtime.Mem{in, state, out}, []int32{1}))
	assert.Equal(t, live, d.Stats().Live, "the arena goes back after a play")

	for what, err := range map[string]error{
		"3 buffers and gets 2":   d.Play(l, []runtime.Mem{in, state}, []int32{1}),
		"variable n is 9":        d.Play(l, []runtime.Mem{in, state, out}, []int32{9}),
		"1 variables and gets 0": d.Play(l, []runtime.Mem{in, state, out}, nil),
		"has 32 bytes":           d.Play(l, []runtime.Mem{in, state, alloc(t, d, 32)}, []int32{1}),
		"another device":         d.Play(l, []runtime.Mem{in, state, alloc(t, open(t, Options{}), 64)}, []int32{1}),
		"another kind":           d.Play(nil, nil, nil),
		"nil":                    d.Play(l, []runtime.Mem{in, nil, out}, []int32{1}),
	} {
		assert.ErrorContains(t, err, what)
	}
	out.Free()
	assert.ErrorContains(t, d.Play(l, []runtime.Mem{in, state, out}, []int32{1}), "freed")
	assert.Panics(t, out.Free)
	l.Free()
	assert.ErrorContains(t, d.Play(l, []runtime.Mem{in, state, in}, []int32{1}), "freed")
}

func TestLongCopy(t *testing.T) {
	const n = 5<<20 + 12
	p := &plan.Plan{Version: plan.Version, Target: "CPU",
		Memory: []plan.Memory{{Kind: plan.Input, Arg: 0, Bytes: n}, {Kind: plan.Output, Arg: 1, Bytes: n}},
		Slots:  []plan.Slot{{Memory: 0, Bytes: n}, {Memory: 1, Bytes: n}},
		Steps:  []plan.Step{{Kind: plan.Copy, Slots: []int{1, 0}}}}
	d := open(t, Options{Threads: 3, Poison: true})
	src := make([]float32, n/4)
	for i := range src {
		src[i] = float32(i)
	}
	in, out := put(t, d, src...), alloc(t, d, n)
	require.NoError(t, d.Play(load(t, d, p), []runtime.Mem{in, out}, nil))
	assert.Equal(t, src, get(t, d, out))
}

func TestLoadRefuses(t *testing.T) {
	d := open(t, Options{})
	for what, spoil := range map[string]func(p *plan.Plan){
		"version 99":              func(p *plan.Plan) { p.Version = 99 },
		`written for "WEBGPU"`:    func(p *plan.Plan) { p.Target = "WEBGPU" },
		"memory 7 of 4":           func(p *plan.Plan) { p.Slots[0].Memory = 7 },
		"does not lie within":     func(p *plan.Plan) { p.Slots[1].Offset = 1024 - 63 },
		"at -64":                  func(p *plan.Plan) { p.Slots[1].Offset = -64 },
		"at 9223372036854775807":  func(p *plan.Plan) { p.Slots[1].Offset = math.MaxInt64 },
		"needs 64 bytes":          func(p *plan.Plan) { p.Slots[0].Bytes = 63 },
		"takes 3 buffers":         func(p *plan.Plan) { p.Steps[0].Slots = []int{0} },
		"kernel 5 of 2":           func(p *plan.Plan) { p.Steps[0].Kernel = 5 },
		"slot 9 of 5":             func(p *plan.Plan) { p.Steps[0].Slots = []int{0, 2, 9} },
		"lies in an input":        func(p *plan.Plan) { p.Steps[0].Slots = []int{2, 2, 3} },
		"which lies in an input":  func(p *plan.Plan) { p.Steps[2].Slots = []int{2, 1} },
		"copy of 64 bytes":        func(p *plan.Plan) { p.Slots[4].Bytes = 32 },
		"unknown kind 77":         func(p *plan.Plan) { p.Steps[0].Kind = 77 },
		"is no C name":            func(p *plan.Plan) { p.Kernels[0].Entry = "a b" },
		"has no source":           func(p *plan.Plan) { p.Kernels[0].Source = "" },
		"0 iterations":            func(p *plan.Plan) { p.Kernels[0].Threads = 0 },
		"with different text":     func(p *plan.Plan) { p.Kernels[1].Entry = p.Kernels[0].Entry },
		"does not define nowhere": func(p *plan.Plan) { p.Kernels[1].Entry = "nowhere" },
		"empty range":             func(p *plan.Plan) { p.Vars[0].Lo = 9 },
		"makes no sense":          func(p *plan.Plan) { p.Memory[1].Arg = -1 },
	} {
		p := chainPlan()
		spoil(p)
		_, err := d.Load(context.Background(), p)
		assert.ErrorContains(t, err, what)
	}
	_, err := d.Load(context.Background(), nil)
	assert.ErrorContains(t, err, "no plan")
}

func TestPoisonFindsWildWrites(t *testing.T) {
	for what, body := range map[string]string{
		"behind argument 2": "buf[0][64] = 1;",
		"gap of the arena":  "buf[1][-1] = 1;",
		"behind the last":   "buf[1][64] = 1;",
		"scratch":           "scratch[4096] = 1;",
	} {
		d := open(t, Options{Poison: true})
		p := chainPlan()
		p.Kernels[1] = kernel("wild_test", body, 1, p.Kernels[1].Binds...)
		p.Steps = []plan.Step{{Kind: plan.Launch, Kernel: 1, Slots: []int{4, 1}}}
		args := []runtime.Mem{alloc(t, d, 64), alloc(t, d, 64), alloc(t, d, 64)}
		assert.ErrorContains(t, d.Play(load(t, d, p), args, []int32{1}), what)
	}
}

func TestLimits(t *testing.T) {
	d := open(t, Options{})
	one, all, gbps, err := Limits(d)
	require.NoError(t, err)
	t.Logf("%s: one thread %.1f GFLOP/s, all %.1f GFLOP/s, copy %.1f GB/s", d.Info().Detail, one, all, gbps)
	assert.True(t, one > 0.1 && all > 0.1 && gbps > 0.1)
	_, _, _, err = Limits(nil)
	assert.Error(t, err)
}

func TestClosed(t *testing.T) {
	d := open(t, Options{})
	l := load(t, d, addPlan("add_test", 1, 3))
	m := alloc(t, d, 8)
	require.NoError(t, d.Close())
	_, err := d.Alloc(8)
	assert.ErrorAs(t, err, new(*runtime.Closed))
	_, err = d.Load(context.Background(), addPlan("add_test", 1, 3))
	assert.ErrorAs(t, err, new(*runtime.Closed))
	assert.ErrorAs(t, d.Play(l, nil, nil), new(*runtime.Closed))
	assert.ErrorAs(t, d.Write(m, 0, nil), new(*runtime.Closed))
	assert.ErrorAs(t, d.Sync(context.Background()), new(*runtime.Closed))
}

// Every iteration of every launch is done once and in its turn, whether workers look out, sleep, come too late or are more than there
// are processors, and whether the caller does all launches at once or has itself scheduled between them.
func TestThreadsShareIterations(t *testing.T) {
	const rows, launches, plays = 97, 20, 60
	k := kernel("crew_test", `	int32_t *o = (int32_t *)buf[0];
	for (int32_t i = lo; i < hi; i++) {
		for (volatile int32_t n = o[i] % 7 * 300; n > 0; n--) ;
		o[i] = o[i] * 3 + 1;
	}`, rows, plan.Bind{Write: true, Bytes: 4 * rows})
	k.Flops = 1 << 30 // worth all threads
	p := &plan.Plan{Version: plan.Version, Target: "CPU", Kernels: []plan.Kernel{k},
		Memory: []plan.Memory{{Kind: plan.State, Arg: 0, Bytes: 4 * rows}},
		Slots:  []plan.Slot{{Memory: 0, Bytes: 4 * rows, DType: dtype.I32, Dims: []int{rows}}}}
	for range launches {
		p.Steps = append(p.Steps, plan.Step{Kind: plan.Launch, Slots: []int{0}})
	}
	for _, c := range []struct {
		threads int
		slice   time.Duration
	}{{1, slice}, {2, slice}, {3, slice}, {16, slice}, {1, 0}, {2, 0}, {3, 50 * time.Microsecond}} {
		threads := c.threads
		d := open(t, Options{Threads: threads})
		d.pool.crew.slice = int64(c.slice)
		l := load(t, d, p)
		x := alloc(t, d, 4*rows)
		require.NoError(t, d.Write(x, 0, make([]byte, 4*rows)))
		want := int32(0)
		for play := range plays {
			time.Sleep(time.Duration(play%4) * lookOut / 2)
			before := d.pool.scheduled
			require.NoError(t, d.Play(l, []runtime.Mem{x}, nil))
			require.True(t, c.slice > 0 || d.pool.scheduled.After(before))
			for range launches {
				want = want*3 + 1
			}
			got := make([]byte, 4*rows)
			require.NoError(t, d.Read(context.Background(), got, x, 0))
			for i := range rows {
				require.Equal(t, want, int32(binary.LittleEndian.Uint32(got[4*i:])), "row %d of play %d on %d threads", i, play, threads)
			}
		}
	}
}

// Threads do the same iterations in each run, as far as they are there: who is alone does its own part from the beginning on and what others left from the end.
func TestThreadsKeepTheirParts(t *testing.T) {
	const rows, words = 64, 32
	k := kernel("parts_test", `	int32_t *o = (int32_t *)buf[0];
	int32_t at = 1 + 2 * o[0]++;
	o[at] = lo;
	o[at + 1] = hi;`, rows, plan.Bind{Write: true, Bytes: 4 * words})
	k.Flops = 1 << 30 // worth all threads
	p := &plan.Plan{Version: plan.Version, Target: "CPU", Kernels: []plan.Kernel{k}, Steps: []plan.Step{{Kind: plan.Launch, Slots: []int{0}}},
		Memory: []plan.Memory{{Kind: plan.State, Arg: 0, Bytes: 4 * words}},
		Slots:  []plan.Slot{{Memory: 0, Bytes: 4 * words, DType: dtype.I32, Dims: []int{words}}}}
	d := open(t, Options{Threads: 2})
	l := load(t, d, p).(*loaded)
	x := alloc(t, d, 4*words)
	require.NoError(t, d.Play(l, []runtime.Mem{x}, nil)) // now the job knows the array
	crew := newPool(2).crew                              // whose other thread never comes
	crew.keen, crew.patient, crew.asleep = 0, 0, 1
	call := func(jobs []job, thread, begun uintptr) uintptr {
		r, _, _ := purego.SyscallN(d.pool.function, uintptr(unsafe.Pointer(crew)), address(jobs), uintptr(len(jobs))+thread, 0, begun)
		return r & (1<<endBits - 1)
	}
	for thread, want := range [][]int32{{0, 16, 16, 24, 24, 28, 28, 32, 48, 64, 40, 48, 36, 40, 32, 36}, {32, 48, 48, 56, 56, 60, 60, 64, 16, 32, 8, 16, 4, 8, 0, 4}} {
		require.NoError(t, d.Write(x, 0, make([]byte, 4*words)))
		require.EqualValues(t, wake, call(l.jobs, 0, 0))
		if thread == 0 {
			require.EqualValues(t, done, call(l.jobs, 0, 1))
		} else {
			require.EqualValues(t, idle, call(nil, 1, 0))
			crew.state |= closedState
		}
		got := make([]byte, 4*words)
		require.NoError(t, d.Read(context.Background(), got, x, 0))
		var list []int32
		for i := range 2 * int(got[0]) {
			list = append(list, int32(got[4+4*i]))
		}
		assert.Equal(t, want, list, "thread %d", thread)
	}
}

// What each call does before its iterations is not done much more often than there are threads.
func TestFewCallsWhereEachStages(t *testing.T) {
	k := kernel("few_calls", "", 43)
	k.Flops, k.Bytes = 2<<24, 3<<18
	for _, c := range []struct {
		threads       int
		before        int64
		least, atMost int32
	}{{2, 0, 1, 11}, {2, 1 << 16, 22, 22}, {16, 1 << 16, 3, 3}, {2, 1 << 12, 2, 11}, {1, 1 << 16, 1, 1}} {
		d := open(t, Options{Threads: c.threads})
		k.Before = c.before
		_, least := d.shares(&k)
		assert.GreaterOrEqual(t, least, c.least, "%+v", c)
		assert.LessOrEqual(t, least, c.atMost, "%+v", c)
	}
}
