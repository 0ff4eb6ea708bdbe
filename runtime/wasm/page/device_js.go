package page

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"unsafe"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/plan/wasmmod"
	"github.com/weft-ml/weft/runtime"
)

// The functions of kernels.js.

//go:wasmimport kernels relaxed
func kernelsRelaxed() int32

//go:wasmimport kernels compile
func kernelsCompile(module unsafe.Pointer, n int32) int32

//go:wasmimport kernels call
func kernelsCall(kernel int32, buf, vars, scratch unsafe.Pointer, lo, hi int32) int32

//go:wasmimport kernels size
func kernelsSize() int32

//go:wasmimport kernels take
func kernelsTake(to unsafe.Pointer, n int32)

const (
	align  = 64
	border = 64 // kernels may read up to a vector before and behind a buffer
	poison = 0xA7

	// A function becomes fast while it is called often: browsers compile it anew in the background, and a call that
	// has begun keeps the slow code.
	shares = 16
)

// Relaxed reports whether the browser has relaxed-simd multiply-add.
func Relaxed() bool { return kernelsRelaxed() == 1 }

// device plays plans at once, so Read and Sync never wait. Not safe for concurrent use.
type device struct {
	options Options
	kernels map[string]int32 // functions by entry
	scratch []byte
	live    int64
	closed  bool
}

// mem is memory of the Go program. Go's collector does not move it.
type mem struct {
	of   *device
	data []byte // nil when freed
}

func (m *mem) Bytes() int64 { return int64(len(m.data)) }

// Free lets the memory go.
func (m *mem) Free() {
	if m.data == nil {
		panic("BUG: runtime/wasm/page: memory freed twice")
	}
	m.of.live -= int64(len(m.data))
	m.data = nil
}

var errClosed = errors.New(Name + ": the device is closed")

// Open makes a device.
func Open(o Options) (runtime.Device, error) {
	return &device{options: o, kernels: map[string]int32{}}, nil
}

// Info describes the device.
func (d *device) Info() plan.Info {
	detail := "WebAssembly with 128-bit vectors, one thread"
	if Relaxed() {
		detail = "WebAssembly with 128-bit vectors and relaxed multiply-add, one thread"
	}
	limit := int64(2 << 30)
	if d.options.MemoryLimit > 0 {
		limit = min(limit, d.options.MemoryLimit)
	}
	return plan.Info{Name: Name, Detail: detail, Target: target, Threads: 1, Limits: plan.Limits{Memory: limit, MaxBytes: limit}}
}

// fresh is n aligned bytes with a border before and behind. It is never nil.
func fresh(n int64) []byte {
	all := make([]byte, n+2*border+align)
	at := int64(border + (-(int(uintptr(unsafe.Pointer(unsafe.SliceData(all)))) + border))&(align-1))
	return all[at : at+n : at+n]
}

// Alloc gives memory.
func (d *device) Alloc(bytes int64) (runtime.Mem, error) {
	if d.closed {
		return nil, errClosed
	}
	if bytes < 0 {
		return nil, fmt.Errorf("%s: cannot allocate %d bytes", Name, bytes)
	}
	if limit := d.Info().Limits.Memory; bytes > limit-d.live {
		return nil, &runtime.OutOfMemory{Device: Name, Asked: bytes, Live: d.live, Max: limit}
	}
	m := &mem{d, fresh(bytes)}
	d.live += bytes
	if d.options.Poison {
		fill(m.data)
	}
	return m, nil
}

func fill(b []byte) {
	for i := range b {
		b[i] = poison
	}
}

func (d *device) own(m runtime.Mem) (*mem, error) {
	if d.closed {
		return nil, errClosed
	}
	x, ok := m.(*mem)
	switch {
	case !ok || x == nil || x.of != d:
		return nil, fmt.Errorf("%s: memory of another device (%T)", Name, m)
	case x.data == nil:
		return nil, errors.New(Name + ": memory was freed before")
	}
	return x, nil
}

func (d *device) span(what string, m runtime.Mem, at int64, n int) ([]byte, error) {
	x, err := d.own(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if at < 0 || at > x.Bytes() || int64(n) > x.Bytes()-at {
		return nil, fmt.Errorf("%s: %s %d bytes at %d of a buffer of %d", Name, what, n, at, x.Bytes())
	}
	return x.data[at : at+int64(n)], nil
}

// Write copies src to dst.
func (d *device) Write(dst runtime.Mem, at int64, src []byte) error {
	data, err := d.span("write", dst, at, len(src))
	copy(data, src)
	return err
}

// Read copies from src to dst.
func (d *device) Read(ctx context.Context, dst []byte, src runtime.Mem, at int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := d.span("read", src, at, len(dst))
	copy(dst, data)
	return err
}

// Sync has nothing to wait for.
func (d *device) Sync(ctx context.Context) error {
	if d.closed {
		return errClosed
	}
	return ctx.Err()
}

// Close ends the device. What was compiled stays until the page goes.
func (d *device) Close() error {
	d.closed = true
	return nil
}

// loaded is a plan whose kernels are compiled.
type loaded struct {
	dev     *device
	plan    *plan.Plan
	kernels []int32
	table   []uint32 // addresses of a step's slots
	mems    [][]byte // of each memory, during a play
}

func (l *loaded) Plan() *plan.Plan { return l.plan }

// Free lets the plan go. Its code stays: other plans have the same kernels.
func (l *loaded) Free() { l.dev = nil }

// Load checks the plan and compiles, in one module, the kernels that no plan before had.
func (d *device) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	if d.closed {
		return nil, errClosed
	}
	if err := p.Check(Name, target); err != nil {
		return nil, fmt.Errorf("%s: load plan: %w", Name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := d.compile(p.Kernels); err != nil {
		return nil, err
	}
	l := &loaded{dev: d, plan: p, mems: make([][]byte, len(p.Memory))}
	scratch, slots := int64(0), 1
	for _, k := range p.Kernels {
		l.kernels = append(l.kernels, d.kernels[k.Entry])
		scratch = max(scratch, k.Scratch)
	}
	for _, s := range p.Steps {
		slots = max(slots, len(s.Slots))
	}
	l.table = make([]uint32, slots)
	if int64(len(d.scratch)) < scratch || d.scratch == nil {
		d.scratch = fresh(scratch)
	}
	return l, nil
}

func (d *device) compile(kernels []plan.Kernel) error {
	var missing []plan.Kernel
	seen := map[string]bool{}
	for _, k := range kernels {
		if _, known := d.kernels[k.Entry]; known || seen[k.Entry] {
			continue
		}
		if len(k.Code) == 0 || k.Entry == "" {
			return fmt.Errorf("%s: load kernel %s: it has no code", Name, k.Name)
		}
		seen[k.Entry] = true
		missing = append(missing, k)
	}
	if len(missing) == 0 {
		return nil
	}
	module := wasmmod.Join(missing, wasmmod.Memory{Min: 1})
	first := kernelsCompile(pointer(module), int32(len(module)))
	goruntime.KeepAlive(module)
	if first < 0 {
		return fmt.Errorf("%s: compile %s and %d more kernels: %s", Name, missing[0].Name, len(missing)-1, problem())
	}
	for i, k := range missing {
		d.kernels[k.Entry] = first + int32(i)
	}
	return nil
}

func problem() string {
	b := make([]byte, kernelsSize())
	kernelsTake(pointer(b), int32(len(b)))
	return string(b)
}

func pointer[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// Play runs the steps in order and returns when they are done, or at the first error.
func (d *device) Play(of runtime.Loaded, args []runtime.Mem, vars []int32) error {
	l, ok := of.(*loaded)
	switch {
	case d.closed:
		return errClosed
	case !ok || l == nil:
		return fmt.Errorf("%s: play: the plan was loaded by another kind of device (%T)", Name, of)
	case l.dev != d:
		return errors.New(Name + ": play: the plan was freed or loaded by another device")
	}
	defer clear(l.mems)
	if err := l.bind(args, vars); err != nil {
		return fmt.Errorf("%s: play: %w", Name, err)
	}
	for i := range l.plan.Steps {
		s := &l.plan.Steps[i]
		if s.Kind == plan.Copy {
			copy(l.part(s.Slots[0]), l.part(s.Slots[1]))
			continue
		}
		if err := l.launch(s, vars); err != nil {
			return err
		}
	}
	return nil
}

// bind checks the arguments and variables and takes them over.
func (l *loaded) bind(args []runtime.Mem, vars []int32) error {
	if n := l.plan.Args(); len(args) != n {
		return fmt.Errorf("the plan takes %d buffers and gets %d", n, len(args))
	}
	if err := l.plan.CheckVars(vars); err != nil {
		return err
	}
	for i, m := range l.plan.Memory {
		if m.Kind == plan.Arena {
			l.mems[i] = fresh(m.Bytes)
			if l.dev.options.Poison {
				fill(l.mems[i])
			}
			continue
		}
		x, err := l.dev.own(args[m.Arg])
		if err != nil {
			return fmt.Errorf("argument %d (%s): %w", m.Arg, m.Kind, err)
		}
		if x.Bytes() < m.Bytes {
			return fmt.Errorf("argument %d (%s) has %d bytes and the plan needs %d", m.Arg, m.Kind, x.Bytes(), m.Bytes)
		}
		l.mems[i] = x.data
	}
	return nil
}

// part is the bytes of a slot.
func (l *loaded) part(slot int) []byte {
	at := &l.plan.Slots[slot]
	return l.mems[at.Memory][at.Offset : at.Offset+at.Bytes]
}

// launch runs a kernel, its iterations in a few shares.
func (l *loaded) launch(s *plan.Step, vars []int32) error {
	k := &l.plan.Kernels[s.Kernel]
	for i, slot := range s.Slots {
		at := &l.plan.Slots[slot]
		l.table[i] = uint32(uintptr(pointer(l.mems[at.Memory]))) + uint32(at.Offset)
	}
	scratch := l.dev.scratch
	if l.dev.options.Poison {
		fill(scratch)
	}
	share := max((k.Threads+shares-1)/shares, 1)
	for lo := int32(0); lo < k.Threads; lo += share {
		hi := min(lo+share, k.Threads)
		if kernelsCall(l.kernels[s.Kernel], pointer(l.table), pointer(vars), pointer(scratch), lo, hi) != 0 {
			return fmt.Errorf("%s: kernel %s: %s", Name, k.Name, problem())
		}
	}
	goruntime.KeepAlive(vars)
	return nil
}
