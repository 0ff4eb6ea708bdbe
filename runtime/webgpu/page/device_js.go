package page

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
	"github.com/weft-ml/weft/runtime/webgpu"
)

// device plays plans through the player. Not safe for concurrent use.
type device struct {
	number  int32 // the player's
	options Options
	adapter webgpu.Adapter
	live    int64
	door    guard.Door[*mem, *loaded]
	bound   []*mem // of the memories of the plan that plays
	args    []uint32
	watch   func(k *plan.Kernel, seconds float64, clock string)
}

type mem struct {
	of     *device
	bytes  int64
	number int32 // 0 when freed
}

func (m *mem) Bytes() int64 { return m.bytes }
func (m *mem) Owner() any   { return m.of }
func (m *mem) Freed() bool  { return m.number == 0 }

// Free gives the memory back for reuse by work that is queued later.
func (m *mem) Free() {
	if m.number == 0 {
		panic("BUG: runtime/webgpu/page: memory freed twice")
	}
	m.of.live -= m.bytes
	playerFree(m.of.number, m.number)
	m.number = 0
}

var opened atomic.Int32

// Open asks the browser for its adapter, until ctx ends.
func Open(ctx context.Context, o Options) (runtime.Device, webgpu.Adapter, error) {
	d := &device{options: o, number: opened.Add(1)}
	d.door = guard.New[*mem, *loaded](webgpu.Name, d)
	ticket, err := await(ctx, func(ticket int32) { playerOpen(d.number, ticket) })
	if err != nil {
		return nil, webgpu.Adapter{}, fmt.Errorf("%s: %w", webgpu.Name, err)
	}
	described := make([]byte, 4096)
	takeInto(ticket, described)
	f := strings.Split(strings.TrimRight(string(described), "\x00"), "\n")
	number := func(i int) int64 {
		n, _ := strconv.ParseFloat(f[i], 64)
		return int64(n)
	}
	if len(f) != 9 {
		return nil, webgpu.Adapter{}, fmt.Errorf("%s: the player describes its adapter in %d lines, not 9; take engine and player from one build", webgpu.Name, len(f))
	}
	d.adapter = webgpu.Adapter{
		Name: f[0], Backend: "browser", CPUBacked: f[1] == "1",
		Limits: plan.Limits{
			Align: 256, MaxBindings: int(number(4)), MaxBytes: number(5), Groups: int(number(6)), Invocations: int(number(7)), Shared: number(8),
		},
	}
	if f[2] == "1" {
		d.adapter.Features |= plan.Half
	}
	if f[3] == "1" {
		d.adapter.Features |= plan.Subgroups
	}
	d.adapter.Known()
	return d, d.adapter, nil
}

// Info describes the device.
func (d *device) Info() plan.Info {
	l := d.adapter.Limits
	l.Memory = d.options.MemoryLimit
	return plan.Info{Name: webgpu.Name, Detail: fmt.Sprintf("%s (%s)", d.adapter.Name, d.adapter.Backend), Target: webgpu.Target, Threads: 1, Limits: l, Features: d.adapter.Features}
}

// Alloc gives memory of undefined contents.
func (d *device) Alloc(bytes int64) (runtime.Mem, error) {
	if err := d.door.Alloc(bytes); err != nil {
		return nil, err
	}
	switch {
	case bytes > d.adapter.Limits.MaxBytes:
		return nil, &runtime.TooLarge{Device: webgpu.Name, Asked: bytes, Max: d.adapter.Limits.MaxBytes}
	case d.options.MemoryLimit > 0 && bytes > d.options.MemoryLimit-d.live:
		return nil, &runtime.OutOfMemory{Device: webgpu.Name, Asked: bytes, Live: d.live, Max: d.options.MemoryLimit}
	}
	number := make([]int32, 1)
	if err := atOnce(playerAlloc(d.number, float64(bytes), pointer(number))); err != nil {
		return nil, failed("allocate", err)
	}
	d.live += bytes
	m := &mem{d, bytes, number[0]}
	if d.options.Poison {
		waste := make([]byte, (bytes+3)&^3)
		guard.Fill(waste)
		if err := d.put(m, 0, waste); err != nil {
			return nil, failed("poison", err)
		}
	}
	return m, nil
}

func (d *device) put(m *mem, at int64, words []byte) error {
	err := atOnce(playerWrite(d.number, m.number, float64(at), pointer(words), int32(len(words))))
	goruntime.KeepAlive(words)
	return err
}

// Write copies src to dst. WebGPU writes whole words: at ragged ends within the memory the rest of the word is
// read first.
func (d *device) Write(dst runtime.Mem, at int64, src []byte) error {
	m, err := d.door.Span("write", dst, at, len(src))
	if err != nil || len(src) == 0 {
		return err
	}
	end := at + int64(len(src))
	lo, hi := at&^3, (end+3)&^3
	if lo == at && hi == end {
		return failed("write", d.put(m, at, src))
	}
	words := make([]byte, hi-lo)
	if lo != at || end != m.bytes { // else the rest is padding
		if err := d.get(context.Background(), m, lo, words); err != nil {
			return failed("write", err)
		}
	}
	copy(words[at-lo:], src)
	return failed("write", d.put(m, lo, words))
}

// Read copies from src when everything queued is done.
func (d *device) Read(ctx context.Context, dst []byte, src runtime.Mem, at int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := d.door.Span("read", src, at, len(dst))
	if err != nil || len(dst) == 0 {
		return err
	}
	lo, hi := at&^3, (at+int64(len(dst))+3)&^3
	if hi-lo == int64(len(dst)) {
		return failed("read", d.get(ctx, m, lo, dst))
	}
	words := make([]byte, hi-lo)
	if err := d.get(ctx, m, lo, words); err != nil {
		return failed("read", err)
	}
	copy(dst, words[at-lo:])
	return nil
}

func (d *device) get(ctx context.Context, m *mem, at int64, words []byte) error {
	ticket, err := await(ctx, func(ticket int32) { playerRead(d.number, ticket, m.number, float64(at), int32(len(words))) })
	if err == nil {
		takeInto(ticket, words)
	}
	return err
}

// Lift takes bytes out for the page, when everything queued is done, and gives the number under which the worker keeps them.
func (d *device) Lift(ctx context.Context, src runtime.Mem, n int) (int32, error) {
	m, err := d.door.Span("read", src, 0, n)
	if err != nil {
		return 0, err
	}
	ticket, err := await(ctx, func(ticket int32) { playerLift(d.number, ticket, m.number, int32(n+3)&^3) })
	if err != nil {
		return 0, failed("read", err)
	}
	return int32(binary.LittleEndian.Uint32(take(ticket, 4))), nil
}

// Sink gives the number under which the worker keeps a way to write whole words into memory, from its begin on.
func (d *device) Sink(dst runtime.Mem) (int32, error) {
	m, err := d.door.Span("write", dst, 0, int(dst.Bytes()))
	if err != nil {
		return 0, err
	}
	return playerSink(d.number, m.number), nil
}

// Sync waits for everything queued.
func (d *device) Sync(ctx context.Context) error {
	if err := d.door.Open(); err != nil {
		return err
	}
	_, err := await(ctx, func(ticket int32) { playerSync(d.number, ticket) })
	return failed("sync", err)
}

// Close gives the adapter back.
func (d *device) Close() error {
	if d.door.Close() {
		playerClose(d.number)
	}
	return nil
}

// loaded is a plan that the player holds.
type loaded struct {
	dev    *device
	plan   *plan.Plan
	number int32
}

func (l *loaded) Plan() *plan.Plan { return l.plan }
func (l *loaded) Owner() any       { return l.dev }

// Free drops the plan's bind groups; pipelines stay for other plans.
func (l *loaded) Free() {
	if l.dev != nil {
		playerDrop(l.dev.number, l.number)
		l.dev = nil
	}
}

// Load has all kernels compiled, in parallel.
func (d *device) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	if err := d.door.Load(p, webgpu.Target); err != nil {
		return nil, err
	}
	if err := p.CheckFeatures(d.adapter.Features); err != nil {
		return nil, fmt.Errorf("%s: load plan: %w", webgpu.Name, err)
	}
	packed := Pack(p)
	ticket, err := await(ctx, func(ticket int32) { playerLoad(d.number, ticket, pointer(packed), int32(len(packed))) })
	goruntime.KeepAlive(packed)
	if err != nil {
		return nil, refused(p, err)
	}
	return &loaded{d, p, int32(binary.LittleEndian.Uint32(take(ticket, 4)))}, nil
}

// refused names the kernel that the browser does not take.
func refused(p *plan.Plan, err error) error {
	var why *problem
	if errors.As(err, &why) && why.kind == kernel {
		index, text, _ := strings.Cut(why.text, "\n")
		if i, bad := strconv.Atoi(index); bad == nil && i < len(p.Kernels) {
			k := &p.Kernels[i]
			return &webgpu.RefusedKernel{Kernel: k.Name, Why: errors.New(text), Source: numbered(k.Source)}
		}
	}
	return failed("load plan", err)
}

// Play queues the steps: one call, one submission.
func (d *device) Play(of runtime.Loaded, args []runtime.Mem, vars []int32) error {
	l, err := d.door.Play(of)
	if err != nil {
		return err
	}
	d.bound = append(d.bound[:0], make([]*mem, len(l.plan.Memory))...)
	defer clear(d.bound)
	if err := d.door.Bind(l.plan, args, vars, d.bound); err != nil {
		return err
	}
	d.args = append(d.args[:0], make([]uint32, len(args))...)
	for i, m := range l.plan.Memory {
		if x := d.bound[i]; x != nil {
			d.args[m.Arg] = uint32(x.number)
		}
	}
	if d.watch != nil {
		return failed("play", d.measure(l, vars))
	}
	err = atOnce(playerPlay(d.number, l.number, pointer(d.args), int32(len(d.args)), pointer(vars), int32(len(vars))))
	goruntime.KeepAlive(vars)
	return failed("play", err)
}

// Watch has f hear of every launch from now on; plays then wait for their end. The clock is "gpu", or "waiting" where the
// adapter has none and launches are waited for one by one.
func (d *device) Watch(f func(k *plan.Kernel, seconds float64, clock string)) { d.watch = f }

func (d *device) measure(l *loaded, vars []int32) error {
	watch := d.watch
	ticket, err := await(context.Background(), func(ticket int32) {
		playerMeasure(d.number, ticket, l.number, pointer(d.args), int32(len(d.args)), pointer(vars), int32(len(vars)))
	})
	goruntime.KeepAlive(vars)
	if err != nil {
		return err
	}
	told := take(ticket, 8*(1+len(l.plan.Steps)))
	seconds := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(told[8*i:])) }
	clock := "waiting"
	if seconds(0) > 0 {
		clock = "gpu"
	}
	for i, s := range l.plan.Steps {
		if t := seconds(i + 1); t >= 0 {
			watch(&l.plan.Kernels[s.Kernel], t, clock)
		}
	}
	return nil
}
