package webgpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

var ctx = context.Background()

// fake is a transport that computes nothing and notices what was given back too early.
type fake struct {
	mu        sync.Mutex
	t         *testing.T
	memory    int64 // bytes that there are; 0: enough
	lost      error
	refuse    error // of pipelines
	live      int64
	submitted []Command

	submissions []int // how many commands each has
	pipelines   int   // that live
	compiled    int   // of all times
}

type fakeBuffer struct {
	of       *fake
	bytes    int64
	released bool
}

func (b *fakeBuffer) Release() {
	require.False(b.of.t, b.released, "released twice")
	b.released = true
	b.of.live -= b.bytes
}

type fakeObject struct{ entries []Entry }

func (*fakeObject) Release() {}

func (f *fake) Adapter() Adapter {
	return Adapter{Name: "fake", Limits: plan.Limits{MaxBindings: 8, MaxBytes: 1 << 30, Align: 256}}
}

func (f *fake) Buffer(bytes int64, _ Use) (Buffer, error) {
	if f.lost != nil {
		return nil, f.lost
	}
	if f.memory > 0 && f.live+bytes > f.memory {
		return nil, errors.New("not enough memory left")
	}
	f.live += bytes
	return &fakeBuffer{of: f, bytes: bytes}, nil
}

type fakePipeline struct {
	of       *fake
	released bool
}

func (p *fakePipeline) Release() {
	require.False(p.of.t, p.released, "released twice")
	p.released = true
	p.of.pipelines--
}

func (f *fake) Pipeline(_, _ string, _ []Bind) (Pipeline, error) {
	if f.refuse != nil {
		return nil, f.refuse
	}
	f.mu.Lock() // kernels are compiled in parallel
	defer f.mu.Unlock()
	f.pipelines++
	f.compiled++
	return &fakePipeline{of: f}, nil
}

func (f *fake) Group(_ Pipeline, entries []Entry) (Group, error) { return &fakeObject{entries}, f.lost }
func (f *fake) Write(b Buffer, _ int64, _ []byte) error          { f.use(b); return f.lost }

func (f *fake) use(b Buffer) {
	require.False(f.t, b.(*fakeBuffer).released, "a buffer is used after it was given back")
}

func (f *fake) Submit(commands []Command) error {
	for _, c := range commands {
		if c.Pipeline == nil {
			f.use(c.To)
			f.use(c.From)
			continue
		}
		for _, e := range c.Group.(*fakeObject).entries {
			f.use(e.Buffer)
		}
	}
	f.submitted = append(f.submitted, commands...)
	f.submissions = append(f.submissions, len(commands))
	return f.lost
}

func (f *fake) Read(_ context.Context, _ []byte, b Buffer, _ int64) error { f.use(b); return f.lost }
func (f *fake) Wait(context.Context) error                                { return f.lost }
func (f *fake) Lost() error                                               { return f.lost }
func (f *fake) Close()                                                    {}

func device(t *testing.T, f *fake) *Device {
	f.t = t
	d, err := Open(f, Options{})
	require.NoError(t, err)
	return d
}

func state(bytes int64, steps ...plan.Step) *plan.Plan {
	return &plan.Plan{
		Version: plan.Version, Target: Target, Steps: steps,
		Kernels: []plan.Kernel{{Name: "E_16", Entry: "E", Source: "fn one() {}\nfn two() {}\nfn three() {}\n", Threads: 1, Grid: [3]uint32{1, 1, 1},
			Binds: []plan.Bind{{Write: true, Bytes: 4}}}},
		Memory: []plan.Memory{{Kind: plan.State, Bytes: 2 * bytes}},
		Slots:  []plan.Slot{{Bytes: bytes}, {Offset: bytes, Bytes: bytes}},
	}
}

// Through what a copy within a buffer goes must live until it is submitted, though much memory lies around.
func TestCopyWithinABuffer(t *testing.T) {
	const n = 100 << 20 // more than is kept in any case
	d := device(t, &fake{})
	l, err := d.Load(ctx, state(n, plan.Step{Kind: plan.Copy, Slots: []int{0, 1}}))
	require.NoError(t, err)
	s, err := d.Alloc(2 * n)
	require.NoError(t, err)
	for range 3 {
		waste, err := d.Alloc(2 * n)
		require.NoError(t, err)
		waste.Free()
		require.NoError(t, d.Play(l, []runtime.Mem{s}, nil))
	}
	require.Len(t, d.gpu.(*fake).submitted, 6)
}

// Where memory is used up, what is only kept is given back first.
func TestKeptMemoryIsGivenBack(t *testing.T) {
	f := &fake{memory: 1 << 20}
	d := device(t, f)
	a, err := d.Alloc(600 << 10)
	require.NoError(t, err)
	a.Free()
	b, err := d.Alloc(700 << 10)
	require.NoError(t, err)
	_, err = d.Alloc(700 << 10)
	var full *runtime.OutOfMemory
	require.ErrorAs(t, err, &full)
	assert.ErrorContains(t, err, "not enough memory left", "the driver's words")
	assert.Equal(t, int64(700<<10), full.Asked)
	b.Free()
	_, err = d.Alloc(800 << 10)
	require.NoError(t, err)
}

// clocked is a transport with a clock: the i-th command of all takes i microseconds.
type clocked struct {
	*fake
	has  bool
	asks int
}

func (c *clocked) Times() bool { return c.has }

func (c *clocked) Timed(commands []Command) (took []time.Duration, err error) {
	c.asks++
	for range commands {
		took = append(took, time.Duration(1+len(c.submitted)+len(took))*time.Microsecond)
	}
	return took, c.Submit(commands)
}

// Each step is told once, with all its commands: by the clock if there is one, else by waiting.
func TestTrace(t *testing.T) {
	for _, has := range []bool{true, false} {
		var names []string
		var took []time.Duration
		c := &clocked{fake: &fake{t: t}, has: has}
		d, err := Open(c, Options{Trace: func(name string, d time.Duration, k *plan.Kernel) {
			assert.Equal(t, name == "copy", k == nil)
			names, took = append(names, name), append(took, d)
		}})
		require.NoError(t, err)
		launch := plan.Step{Slots: []int{0}}
		l, err := d.Load(ctx, state(256, launch, plan.Step{Kind: plan.Copy, Slots: []int{0, 1}}, launch))
		require.NoError(t, err)
		s, err := d.Alloc(512)
		require.NoError(t, err)
		require.NoError(t, d.Play(l, []runtime.Mem{s}, nil))
		assert.Equal(t, []string{"E_16", "copy", "E_16"}, names)
		assert.Len(t, c.submitted, 4, "the copy is two")
		if has {
			assert.Equal(t, 1, c.asks)
			assert.Equal(t, []time.Duration{1000, 2000 + 3000, 4000}, took)
		} else {
			assert.Zero(t, c.asks)
		}
		c.lost = errors.New("gone")
		assert.ErrorAs(t, d.Play(l, []runtime.Mem{s}, nil), new(*runtime.Lost))
	}
}

func TestTooLarge(t *testing.T) {
	d := device(t, &fake{})
	_, err := d.Alloc(1<<30 + 4)
	var large *runtime.TooLarge
	require.ErrorAs(t, err, &large)
	assert.EqualError(t, err, "WEBGPU: an array of 1073741828 bytes is larger than the 1073741824 that this adapter can bind; use smaller batches or split the array")
	_, err = d.Alloc(1 << 30)
	require.NoError(t, err)
}

func TestRefusedKernel(t *testing.T) {
	said := fmt.Errorf("parsing error: expected identifier\n  ┌─ wgsl:2:4\n")
	d := device(t, &fake{refuse: said})
	p := state(256, plan.Step{Kind: plan.Launch, Slots: []int{0}})
	_, err := d.Load(ctx, p)
	var refused *RefusedKernel
	require.ErrorAs(t, err, &refused)
	assert.ErrorIs(t, err, said)
	assert.Equal(t, 2, refused.Line)
	assert.Contains(t, err.Error(), "WEBGPU: kernel E_16 was refused: parsing error: expected identifier")
	assert.Contains(t, err.Error(), "   1  fn one() {}\n>  2  fn two() {}\n   3  fn three() {}\n")
	d.gpu.(*fake).refuse = nil
	_, err = d.Load(ctx, p)
	require.NoError(t, err, "a refusal is not remembered: the driver may have been short of memory")
}

// Pipelines that no plan uses are kept for plans to come, but not all of them.
func TestIdlePipelines(t *testing.T) {
	f := &fake{}
	d := device(t, f)
	load := func(i int) runtime.Loaded {
		p := state(256, plan.Step{Kind: plan.Launch, Slots: []int{0}})
		p.Kernels[0].Source = fmt.Sprint("// ", i)
		l, err := d.Load(ctx, p)
		require.NoError(t, err)
		return l
	}
	used := load(0)
	for i := range 3 * maxIdle {
		load(i).Free()
	}
	require.Equal(t, 1+maxIdle, f.pipelines)
	load(3*maxIdle - 1).Free()
	load(0).Free()
	require.Equal(t, 3*maxIdle, f.compiled, "the last one and the one in use were there")
	load(1)
	require.Equal(t, 3*maxIdle+1, f.compiled)
	m, err := d.Alloc(512)
	require.NoError(t, err)
	require.NoError(t, d.Play(used, []runtime.Mem{m}, nil))
	require.False(t, f.submitted[0].Pipeline.(*fakePipeline).released)
	require.NoError(t, d.Close())
	require.Zero(t, f.pipelines)
}

// Every call says that the device is lost, in the same way.
func TestLost(t *testing.T) {
	f := &fake{}
	d := device(t, f)
	p := state(256, plan.Step{Kind: plan.Launch, Slots: []int{0}})
	l, err := d.Load(ctx, p)
	require.NoError(t, err)
	m, err := d.Alloc(512)
	require.NoError(t, err)
	f.lost = errors.New("driver reset")
	f.refuse = f.lost
	other := state(256, plan.Step{Kind: plan.Launch, Slots: []int{0}})
	other.Kernels[0].Source = "fn other() {}"
	_, alloc := d.Alloc(1 << 20)
	_, load := d.Load(ctx, other)
	for name, err := range map[string]error{
		"alloc": alloc, "load": load, "write": d.Write(m, 0, make([]byte, 4)), "read": d.Read(ctx, make([]byte, 4), m, 0),
		"play": d.Play(l, []runtime.Mem{m}, nil), "sync": d.Sync(ctx),
	} {
		var lost *runtime.Lost
		require.ErrorAs(t, err, &lost, name)
		assert.ErrorContains(t, err, "driver reset", name)
	}
	m.Free()
	require.NoError(t, d.Close())
}

// Parts of a launch that is cut are submissions of their own, each with its own uniform block; what stands before them goes
// with the first, what follows the last has its own.
func TestPartsAreSubmittedApart(t *testing.T) {
	f := &fake{}
	d := device(t, f)
	p := state(256, plan.Step{Kind: plan.Launch, Kernel: 1, Slots: []int{1}}, plan.Step{Kind: plan.Launch, Slots: []int{0}},
		plan.Step{Kind: plan.Launch, Kernel: 1, Slots: []int{0}})
	whole := p.Kernels[0]
	whole.Entry = "whole"
	p.Kernels = append(p.Kernels, whole)
	p.Kernels[0].Grid = [3]uint32{5, 1, 1}
	p.Kernels[0].Parts = []plan.Part{{Grid: [3]uint32{2, 1, 1}}, {First: 2, Grid: [3]uint32{2, 1, 1}}, {First: 4, Grid: [3]uint32{1, 1, 1}}}
	l, err := d.Load(ctx, p)
	require.NoError(t, err)
	s, err := d.Alloc(512)
	require.NoError(t, err)
	for range 2 {
		f.submitted, f.submissions = nil, nil
		require.NoError(t, d.Play(l, []runtime.Mem{s}, nil))
		assert.Equal(t, []int{2, 1, 1, 1}, f.submissions)
		var grids []uint32
		var blocks []int64
		for _, c := range f.submitted {
			grids = append(grids, c.Grid[0])
			blocks = append(blocks, c.Group.(*fakeObject).entries[0].At)
		}
		assert.Equal(t, []uint32{1, 2, 2, 1, 1}, grids)
		assert.Equal(t, []int64{0, 0, 256, 512, 0}, blocks)
	}
}
