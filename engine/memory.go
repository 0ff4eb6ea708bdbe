package engine

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/uop"
)

// storage is the device memory behind a Buffer node. It is freed when no node refers to it any more.
type storage struct {
	engine   *Engine
	mem      runtime.Mem
	version  int    // how often it was assigned
	assigned string // where it was assigned last
}

var bufferID atomic.Uint64

// memory hands out device memory and takes it back when the collector finds it unused.
type memory struct {
	device     runtime.Device
	live, peak int64
	since      int64 // bytes handed out since the last collection
	freeMu     sync.Mutex
	free       []runtime.Mem // unused, not yet given back
}

func (m *memory) init(d runtime.Device) { m.device = d }

// drain gives back what the collector found. Devices are not safe for concurrent use, so
// cleanups only queue.
func (m *memory) drain() {
	m.freeMu.Lock()
	free := m.free
	m.free = nil
	m.freeMu.Unlock()
	for _, f := range free {
		m.live -= f.Bytes()
		f.Free()
	}
}

// collect forgets old nodes, runs the collector and frees what it found. Cleanups run in a goroutine of
// their own, so it waits a little for them.
func (m *memory) collect() {
	uop.EndGeneration()
	uop.EndGeneration()
	goruntime.GC()
	done := make(chan struct{})
	mark := new([16]byte)
	goruntime.AddCleanup(mark, func(c chan struct{}) { close(c) }, done)
	mark = nil
	goruntime.GC()
	<-done
	m.drain()
	m.since = 0
}

// alloc gives device memory. Go's collector does not see it, so pressure is watched here: when much was handed
// out since the last collection, or the device has no more, old nodes are dropped and the collector runs.
func (m *memory) alloc(bytes int64) (runtime.Mem, error) {
	m.drain()
	if m.since > max(64<<20, m.live/2) {
		m.collect()
	}
	bytes = max(bytes, minBytes)
	mem, err := m.device.Alloc(bytes)
	if isFull(err) {
		m.collect()
		mem, err = m.device.Alloc(bytes)
	}
	if err != nil {
		return nil, err
	}
	m.since += bytes
	m.live += mem.Bytes()
	m.peak = max(m.peak, m.live)
	return mem, nil
}

// minBytes is the least allocation: arrays without elements have memory too, so that they can be bound.
const minBytes = 4

func isFull(err error) bool {
	var full *runtime.OutOfMemory
	return errors.As(err, &full)
}

// newBuffer makes a Buffer node over fresh memory, in the given shape.
func (e *Engine) newBuffer(d dtype.DType, shape []int) (*uop.UOp, *storage, error) {
	n := uop.Shape(shape).Numel()
	mem, err := e.memory.alloc(int64(n) * int64(d.Size()))
	if err != nil {
		return nil, nil, err
	}
	s := &storage{engine: e, mem: mem}
	m := &e.memory
	goruntime.AddCleanup(s, func(mem runtime.Mem) {
		m.freeMu.Lock()
		m.free = append(m.free, mem)
		m.freeMu.Unlock()
	}, mem)
	b := uop.NewBuffer(bufferID.Add(1), n, e.name, d)
	b.SetStorage(s)
	return b.Reshape(shape...), s, nil
}

// nextVersion is the Buffer node for the storage of b after one more assignment.
func nextVersion(b *uop.UOp, s *storage) *uop.UOp {
	a := b.Arg().(uop.BufferArg)
	a.Version = s.version
	n := b.Home().Make(uop.Buffer, b.DType(), a)
	n.SetStorage(s)
	return n
}

// buffer finds the Buffer under a node that is one, perhaps reshaped.
func buffer(u *uop.UOp) (*uop.UOp, *storage) {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	if u.Op() != uop.Buffer {
		return nil, nil
	}
	s, _ := u.Storage().(*storage)
	return u, s
}

// FromBytes makes an array from its elements in row-major order: little-endian, bool one byte.
func (e *Engine) FromBytes(d dtype.DType, shape []int, data []byte) (*uop.UOp, error) {
	if want := uop.Shape(shape).Numel() * d.Size(); len(data) != want {
		return nil, fmt.Errorf("%d bytes for shape %v of %v, which needs %d", len(data), shape, d, want)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	u, s, err := e.newBuffer(d, shape)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return u, nil
	}
	return u, e.machine.Device.Write(s.mem, 0, data)
}

// Empty makes an array with undefined contents.
func (e *Engine) Empty(d dtype.DType, shape []int) (*uop.UOp, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	u, _, err := e.newBuffer(d, shape)
	return u, err
}

// Read copies the elements of a realized node to dst, in row-major order.
func (e *Engine) Read(ctx context.Context, u *uop.UOp, dst []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.record != nil {
		return errReadInCapture
	}
	return e.read(ctx, u, dst)
}

func (e *Engine) read(ctx context.Context, u *uop.UOp, dst []byte) error {
	if r := u.Realized(); r != nil {
		u = r
	}
	b, s := buffer(u)
	if s == nil {
		return fmt.Errorf("BUG: read of %v, which is not realized", u)
	}
	if err := checkVersion(b, s); err != nil {
		return err
	}
	if want := u.Shape().Numel() * u.DType().Size(); want != len(dst) {
		return fmt.Errorf("BUG: read of %d bytes into %d", want, len(dst))
	}
	if len(dst) == 0 {
		return nil
	}
	return e.machine.Device.Read(ctx, dst, s.mem, 0)
}

// StaleError says that an expression reads a buffer as it was before an assignment that has been carried out.
type StaleError struct {
	Built, Now int
	Assigned   string // file:line of the assignment, if known
}

func (e *StaleError) Error() string {
	at := ""
	if e.Assigned != "" {
		at = " at " + e.Assigned
	}
	return fmt.Sprintf("this expression was built on a tensor before it was assigned%s (version %d, now %d); realize it before the assignment, or build it anew",
		at, e.Built, e.Now)
}

func checkVersion(b *uop.UOp, s *storage) error {
	if v := b.Arg().(uop.BufferArg).Version; v != s.version {
		return &StaleError{v, s.version, s.assigned}
	}
	return nil
}
