package page

import (
	"context"
	"fmt"
	goruntime "runtime"
	"strconv"
	"unsafe"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

// The player's functions, in kernels.js. What may fail gives a negative number: see failed.

//go:wasmimport kernels relaxed
func kernelsRelaxed() int32

//go:wasmimport kernels open
func kernelsOpen(threads, poison int32, to unsafe.Pointer) int32

//go:wasmimport kernels alloc
func kernelsAlloc(device int32, bytes float64, to unsafe.Pointer) int32

//go:wasmimport kernels free
func kernelsFree(device int32, at float64)

//go:wasmimport kernels write
func kernelsWrite(device int32, at, offset float64, from unsafe.Pointer, n int32)

//go:wasmimport kernels read
func kernelsRead(device int32, at, offset float64, to unsafe.Pointer, n int32)

//go:wasmimport kernels lift
func kernelsLift(device int32, at float64, n int32) int32

//go:wasmimport kernels sink
func kernelsSink(device int32, at float64) int32

//go:wasmimport kernels load
func kernelsLoad(device int32, from unsafe.Pointer, n int32) int32

//go:wasmimport kernels drop
func kernelsDrop(device, plan int32)

//go:wasmimport kernels play
func kernelsPlay(device, plan int32, args unsafe.Pointer, n int32, vars unsafe.Pointer, m int32, seconds unsafe.Pointer, steps int32) int32

//go:wasmimport kernels close
func kernelsClose(device int32)

//go:wasmimport kernels size
func kernelsSize() int32

//go:wasmimport kernels take
func kernelsTake(to unsafe.Pointer, n int32)

// noRoom is what the player answers when its memory is full; the text is then how many bytes were asked for.
const noRoom = -2

// Relaxed reports whether the browser has relaxed-simd multiply-add.
func Relaxed() bool { return kernelsRelaxed() > 0 }

// Fused reports whether that rounds once.
func Fused() bool { return kernelsRelaxed() == 2 }

// device plays plans at once, so Read and Sync never wait. Not safe for concurrent use.
type device struct {
	number  int32 // the player's
	threads int
	limit   int64
	live    int64
	known   map[string]bool // entries of kernels that the player has
	bound   []*mem          // of the memories of the plan that plays
	args    []float64
	watch   func(k *plan.Kernel, seconds float64, clock string)
	door    guard.Door[*mem, *loaded]

	unshared bool // there are more processors, but the page may share no memory between threads
}

type mem struct {
	of    *device
	bytes int64
	at    float64 // 0 when freed
}

func (m *mem) Bytes() int64 { return m.bytes }
func (m *mem) Owner() any   { return m.of }
func (m *mem) Freed() bool  { return m.at == 0 }

// Free gives the memory back.
func (m *mem) Free() {
	if m.at == 0 {
		panic("BUG: runtime/wasm/page: memory freed twice")
	}
	m.of.live -= m.bytes
	if m.of.door.Open() == nil {
		kernelsFree(m.of.number, m.at)
	}
	m.at = 0
}

// failed is what the player complains about, if code says that it does.
func (d *device) failed(what string, code int32) error {
	if code >= 0 {
		return nil
	}
	b := make([]byte, kernelsSize())
	kernelsTake(pointer(b), int32(len(b)))
	if code == noRoom {
		asked, _ := strconv.ParseFloat(string(b), 64)
		return d.full(int64(asked))
	}
	return fmt.Errorf("%s: %s: %s", Name, what, b)
}

func pointer[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// Open makes a memory and starts threads.
func Open(o Options) (runtime.Device, error) {
	poison, about := int32(0), make([]float64, 3)
	if o.Poison {
		poison = 1
	}
	d := &device{number: kernelsOpen(int32(o.Threads), poison, pointer(about)), known: map[string]bool{}}
	d.door = guard.New[*mem, *loaded](Name, d)
	if err := d.failed("open", d.number); err != nil {
		return nil, err
	}
	d.threads, d.limit, d.unshared = int(about[0]), int64(about[1]), about[2] != 0
	if o.MemoryLimit > 0 {
		d.limit = min(d.limit, o.MemoryLimit)
	}
	return d, nil
}

// Info describes the device.
func (d *device) Info() plan.Info {
	detail, threads := "", "one thread"
	if Relaxed() {
		detail = " and relaxed multiply-add"
	}
	if d.threads > 1 {
		threads = fmt.Sprintf("%d threads", d.threads)
	} else if d.unshared {
		threads += " as the page is not cross-origin isolated"
	}
	return plan.Info{Name: Name, Detail: "WebAssembly with 128-bit vectors" + detail + ", " + threads, Target: target, Threads: d.threads,
		Limits: plan.Limits{Memory: d.limit, MaxBytes: d.limit}}
}

// Alloc gives memory.
func (d *device) Alloc(bytes int64) (runtime.Mem, error) {
	if err := d.door.Alloc(bytes); err != nil {
		return nil, err
	}
	at := make([]float64, 1)
	if bytes > d.limit-d.live || kernelsAlloc(d.number, float64(bytes), pointer(at)) < 0 {
		return nil, d.full(bytes)
	}
	d.live += bytes
	return &mem{d, bytes, at[0]}, nil
}

func (d *device) full(bytes int64) error {
	return &runtime.OutOfMemory{Device: Name, Asked: bytes, Live: d.live, Max: d.limit}
}

// Write copies src to dst.
func (d *device) Write(dst runtime.Mem, at int64, src []byte) error {
	to, err := d.door.Span("write", dst, at, len(src))
	if err == nil {
		kernelsWrite(d.number, to.at, float64(at), pointer(src), int32(len(src)))
		goruntime.KeepAlive(src)
	}
	return err
}

// Read copies from src to dst.
func (d *device) Read(ctx context.Context, dst []byte, src runtime.Mem, at int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	from, err := d.door.Span("read", src, at, len(dst))
	if err == nil {
		kernelsRead(d.number, from.at, float64(at), pointer(dst), int32(len(dst)))
	}
	return err
}

// Lift takes bytes out for the page and gives the number under which the worker keeps them.
func (d *device) Lift(ctx context.Context, src runtime.Mem, n int) (int32, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	from, err := d.door.Span("read", src, 0, n)
	if err != nil {
		return 0, err
	}
	return kernelsLift(d.number, from.at, int32(n)), nil
}

// Sink gives the number under which the worker keeps a way to write whole words into memory, from its begin on.
func (d *device) Sink(dst runtime.Mem) (int32, error) {
	to, err := d.door.Span("write", dst, 0, int(dst.Bytes()))
	if err != nil {
		return 0, err
	}
	return kernelsSink(d.number, to.at), nil
}

// Entrust gives the numbers under which the player has itself and a plan, and how many bytes of memory are left, for who plays it without the device;
// not while that watches plays.
func (d *device) Entrust(of runtime.Loaded) (player, plan int32, room int64, ok bool) {
	l, err := d.door.Play(of)
	if err != nil || d.watch != nil {
		return 0, 0, 0, false
	}
	return d.number, l.number, d.limit - d.live, true
}

// Place is the address of memory, for the player.
func (d *device) Place(m runtime.Mem) float64 { return m.(*mem).at }

// Adopt takes over memory that the player gave out by itself.
func (d *device) Adopt(at float64, bytes int64) runtime.Mem {
	d.live += bytes
	return &mem{d, bytes, at}
}

// Sync has nothing to wait for.
func (d *device) Sync(ctx context.Context) error { return d.door.Sync(ctx) }

// Close ends the threads. Buffers are lost.
func (d *device) Close() error {
	if d.door.Close() {
		kernelsClose(d.number)
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

// Free lets the plan go. Its code stays: other plans have the same kernels.
func (l *loaded) Free() {
	if l.dev != nil && l.dev.door.Open() == nil {
		kernelsDrop(l.dev.number, l.number)
	}
	l.dev = nil
}

// Load checks the plan and hands it over with the code, in one module, of the kernels that no plan before had.
func (d *device) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	if err := d.door.Load(p, Name, target); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var fresh []plan.Kernel
	for _, k := range p.Kernels {
		if len(k.Code) == 0 || k.Entry == "" {
			return nil, fmt.Errorf("%s: load kernel %s: it has no code", Name, k.Name)
		}
		if !d.known[k.Entry] {
			fresh = append(fresh, k)
		}
	}
	packed := Pack(p, fresh)
	number := kernelsLoad(d.number, pointer(packed), int32(len(packed)))
	goruntime.KeepAlive(packed)
	if err := d.failed("load plan", number); err != nil {
		return nil, err
	}
	for _, k := range fresh {
		d.known[k.Entry] = true
	}
	return &loaded{d, p, number}, nil
}

// Play runs the steps in order and returns when they are done, or at the first error.
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
	d.args = append(d.args[:0], make([]float64, len(args))...)
	for i, m := range l.plan.Memory {
		if x := d.bound[i]; x != nil {
			d.args[m.Arg] = x.at
		}
	}
	var seconds []float64
	if d.watch != nil {
		seconds = make([]float64, len(l.plan.Steps))
	}
	code := kernelsPlay(d.number, l.number, pointer(d.args), int32(len(d.args)), pointer(vars), int32(len(vars)), pointer(seconds), int32(len(seconds)))
	goruntime.KeepAlive(vars)
	if err := d.failed("play", code); err != nil {
		return err
	}
	for i, t := range seconds {
		if s := &l.plan.Steps[i]; s.Kind == plan.Launch {
			d.watch(&l.plan.Kernels[s.Kernel], t, "processor")
		}
	}
	return nil
}

// Watch has f hear of every launch from now on. The clock is always "processor": that of the browser.
func (d *device) Watch(f func(k *plan.Kernel, seconds float64, clock string)) { d.watch = f }
