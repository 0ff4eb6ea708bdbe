package engine

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"weak"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/uop"
)

// storage is the device memory behind a Buffer node. It is freed when no node refers to it any more.
type storage struct {
	*cell
	engine   *Engine
	version  atomic.Int64 // how often it was assigned
	stand    bool         // for an input of a captured function: it never has a value
	walked   bool         // its elements lie in the order in which kernels walk them, see pack
	assigned string       // where it was assigned last
	doubts   *doubts
	seen     uop.Shape // see seenAs
	compared bool      // graphs were compared by seen
	past     atomic.Pointer[Past]
	shared   atomic.Bool             // something else than its own tensor goes on from its elements
	bound    atomic.Bool             // a captured function reads or assigns it
	pending  atomic.Pointer[uop.UOp] // the newest assignment that was built, an After, until it is carried out
	lies     *lies                   // on which of several devices its elements are; nil: there is one, or it has none yet
	later    *later                  // where its elements are until something needs them; nil: on the device
}

// current is how often s was assigned.
func (s *storage) current() int { return int(s.version.Load()) }

// cell is a place on the device for one array. Of a storage that is gone it stays, without memory, where arrays that
// live were computed from it.
type cell struct {
	bytes  int64
	of     weak.Pointer[storage]
	mem    runtime.Mem // nil when freed, and while there is no device
	number int         // in memory.cells, from 1 on
	now    *value      // what it holds, if the journal knows
	last   int         // see repeat
}

var bufferID atomic.Uint64

// memory hands out device memory and takes it back when the collector finds it unused (collect.go).
type memory struct {
	device     runtime.Device
	live, peak int64
	cells      []*cell // of all storages
	pressure
}

// forget takes a cell out of the list and frees its memory, if that was not done before.
func (m *memory) forget(c *cell) {
	if c.number == 0 {
		return
	}
	end := m.cells[len(m.cells)-1]
	m.cells[c.number-1], end.number = end, c.number
	m.cells = m.cells[:len(m.cells)-1]
	c.number, c.now = 0, nil
	m.release(c)
}

// release frees the memory of a cell.
func (m *memory) release(c *cell) {
	if c.mem != nil {
		m.live -= c.mem.Bytes()
		c.mem.Free()
		c.mem = nil
	}
}

// take is alloc without any collection.
func (m *memory) take(c *cell) error {
	mem, err := m.device.Alloc(max(c.bytes, minBytes))
	if err == nil {
		m.have(c, mem)
	}
	return err
}

// have notes that a cell has memory.
func (m *memory) have(c *cell, mem runtime.Mem) {
	c.mem = mem
	m.live += mem.Bytes()
	m.peak = max(m.peak, m.live)
}

// minBytes is the least allocation: arrays without elements have memory too, so that they can be bound.
const minBytes = 4

func isFull(err error) bool {
	if err == nil {
		return false
	}
	var full *runtime.OutOfMemory
	return errors.As(err, &full)
}

// newBuffer makes a Buffer node over fresh memory, in the given shape.
func (e *Engine) newBuffer(d dtype.DType, shape []int) (*uop.UOp, *storage, error) {
	return e.bufferIn(nil, d, shape)
}

// bufferIn is newBuffer in memory of the device's, if there is some.
func (e *Engine) bufferIn(mem runtime.Mem, d dtype.DType, shape []int) (*uop.UOp, *storage, error) {
	if why := uop.Shape(shape).TooMany(); why != "" {
		return nil, nil, errors.New(why)
	}
	n := uop.Shape(shape).Numel()
	c := &cell{bytes: int64(n) * int64(d.Size())}
	if e.several != nil { // whose devices have the memory
		s := &storage{engine: e, cell: c}
		return e.nodeOf(s, n, d).Reshape(shape...), s, nil
	}
	m := &e.memory
	if err := e.attempt(context.Background(), func() error { return m.alloc(c, mem) }); err != nil {
		return nil, nil, err
	}
	s := &storage{engine: e, cell: c}
	e.enrol(s)
	return e.nodeOf(s, n, d).Reshape(shape...), s, nil
}

// newArray is newBuffer while nothing is being computed: the engine may go back to another device for it.
func (e *Engine) newArray(d dtype.DType, shape []int) (u *uop.UOp, s *storage, err error) {
	err = e.again(context.Background(), func() error {
		u, s, err = e.newBuffer(d, shape)
		return err
	})
	return u, s, err
}

// enrol has the memory of a storage given back when no node refers to it any more.
func (e *Engine) enrol(s *storage) {
	e.watch()
	m, c := &e.memory, s.cell
	m.cells = append(m.cells, c)
	c.number = len(m.cells)
	c.of = weak.Make(s)
	goruntime.AddCleanup(s, m.unused, c)
}

// nodeOf is the Buffer node of a storage of n elements.
func (e *Engine) nodeOf(s *storage, n int, d dtype.DType) *uop.UOp {
	b := uop.NewBuffer(bufferID.Add(1), n, e.Name(), d)
	b.SetStorage(s)
	return b
}

// nextVersion is the Buffer node for the storage of b after one more assignment.
func nextVersion(b *uop.UOp, s *storage) *uop.UOp {
	a := b.Arg().(uop.BufferArg)
	a.Version = s.current()
	n := b.Home().Make(uop.Buffer, b.DType(), a)
	n.SetStorage(s)
	return n
}

// Share has the elements of a node that is in memory stay as they are: an assignment takes other memory.
func Share(u *uop.UOp) {
	if _, s := buffer(u); s != nil {
		s.shared.Store(true)
	}
}

// Shared says whether the elements of a node that is in memory are to stay as they are.
func Shared(u *uop.UOp) bool {
	_, s := buffer(u)
	return s == nil || s.shared.Load()
}

// Bound says whether a captured function reads or assigns a node that is in memory: what its tensor holds has to stay there.
func Bound(u *uop.UOp) bool {
	_, s := buffer(u)
	return s != nil && s.bound.Load()
}

// bind has the arrays that targets read and assign be known as those of a captured function.
func bind(targets []target) {
	for _, u := range uop.Topo(values(targets)...) {
		if _, s := buffer(u); s != nil {
			s.bound.Store(true)
		}
	}
	for _, t := range targets {
		if t.store != nil {
			t.store.bound.Store(true)
		}
	}
}

// Assigns notes the newest assignment to a buffer. Those before it, and views of what the buffer holds now, are not left where
// it will change them.
func Assigns(after *uop.UOp) {
	if _, s := buffer(destination(after)); s != nil {
		s.pending.Store(after)
	}
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

// Holder is the engine whose memory a Buffer lies in; nil for other nodes.
func Holder(u *uop.UOp) *Engine {
	if _, s := buffer(u); s != nil {
		return s.engine
	}
	return nil
}

// FromBytes makes an array from its elements in row-major order: little-endian, bool one byte.
func (e *Engine) FromBytes(d dtype.DType, shape []int, data []byte) (*uop.UOp, error) {
	return e.fromBytes(d, shape, data, 0)
}

// fromBytes makes an array; cut is for several devices, see FromBytesCut.
func (e *Engine) fromBytes(d dtype.DType, shape []int, data []byte, cut int) (*uop.UOp, error) {
	if why := uop.Shape(shape).TooMany(); why != "" {
		return nil, errors.New(why)
	}
	if want := uop.Shape(shape).Numel() * d.Size(); len(data) != want {
		return nil, fmt.Errorf("%d bytes for shape %v of %v, which needs %d", len(data), shape, d, want)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	u, s, err := e.newArray(d, shape)
	if err != nil {
		return nil, err
	}
	if e.several != nil {
		return u, e.several.write(s, d, shape, data, cut-1)
	}
	if len(data) == 0 {
		return u, nil
	}
	return u, e.write(s, data)
}

// write replaces what a storage holds.
func (e *Engine) write(s *storage, data []byte) error {
	err := e.attempt(context.Background(), func() error { return e.machine.Device.Write(s.mem, 0, data) })
	if err == nil {
		e.note(&step{args: []*cell{s.cell}, host: data}, s.cell)
	}
	return err
}

// StandIn makes an array that stands for an input while a function is being captured. Only that function may use it. It has
// no memory, as it never has a value.
func (e *Engine) StandIn(d dtype.DType, shape []int) (*uop.UOp, error) {
	if why := uop.Shape(shape).TooMany(); why != "" {
		return nil, errors.New(why)
	}
	n := uop.Shape(shape).Numel()
	s := &storage{engine: e, cell: &cell{bytes: int64(n) * int64(d.Size())}, stand: true}
	return e.nodeOf(s, n, d).Reshape(shape...), nil
}

// Empty makes an array with undefined contents.
func (e *Engine) Empty(d dtype.DType, shape []int) (*uop.UOp, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	u, _, err := e.newArray(d, shape)
	return u, err
}

// Read copies the elements of a realized node to dst, in row-major order.
func (e *Engine) Read(ctx context.Context, u *uop.UOp, dst []byte) error {
	if want := u.Shape().Numel() * u.DType().Size(); want != len(dst) {
		return fmt.Errorf("BUG: read of %d bytes into %d", want, len(dst))
	}
	if e.several != nil {
		return e.borrow(ctx, u, func(s *storage) error { return e.several.read(ctx, s, dst) })
	}
	return e.Borrow(ctx, u, func(d runtime.Device, m runtime.Mem) error {
		if len(dst) == 0 {
			return nil
		}
		return d.Read(ctx, dst, m, 0)
	})
}

// Borrow calls f with the device and the memory that holds the elements of a realized node, in row-major order. It is for
// devices that can hand elements on without Go having them; f must not keep either, and is called again if the device is lost.
func (e *Engine) Borrow(ctx context.Context, u *uop.UOp, f func(runtime.Device, runtime.Mem) error) error {
	if e.several != nil {
		return fmt.Errorf("the elements of an array on %s are in several memories; move it to one device with On", e.name)
	}
	return e.borrow(ctx, u, func(s *storage) error { return f(e.machine.Device, s.mem) })
}

// borrow calls f with the storage of a realized node, once nothing is wrong with its elements.
func (e *Engine) borrow(ctx context.Context, u *uop.UOp, f func(s *storage) error) error {
	if e.recording() != nil {
		return errReadInCapture
	}
	if err := e.mu.LockFor(ctx); err != nil {
		return err
	}
	defer e.mu.Unlock()
	if r := u.Realized(); r != nil {
		u = r
	}
	b, s := buffer(u)
	if s == nil {
		return fmt.Errorf("BUG: read of %v, which is not realized", u)
	}
	if s.engine != e {
		return e.notHere(b)
	}
	if err := s.check(b, nil); err != nil {
		return err
	}
	if err := e.arrive(ctx, b); err != nil {
		return err
	}
	if err := e.settle(ctx, s); err != nil {
		return err
	}
	if err := e.attempt(ctx, func() error { return f(s) }); err != nil {
		return err
	}
	goruntime.KeepAlive(s)
	return e.checkpointIf(ctx, idle)
}

// StaleError says that an expression reads a buffer as it was before an assignment that has been carried out.
type StaleError struct {
	Built, Now int
	Assigned   string      // file:line of the assignment, if known
	DType      dtype.DType // of the tensor, as it was built on
	Shape      uop.Shape
}

func (e *StaleError) Error() string {
	if e.Now == discarded {
		return fmt.Sprintf("this expression was built on a tensor, %v %v, that was discarded; discard it after the last use", e.DType, e.Shape)
	}
	at := ""
	if e.Assigned != "" {
		at = " at " + e.Assigned
	}
	return fmt.Sprintf("this expression was built on a tensor, %v %v, before it was assigned%s (version %d, now %d); realize it before the assignment, or build it anew",
		e.DType, e.Shape, at, e.Built, e.Now)
}

var errStandIn = errors.New("a tensor that stands for an input of a captured function, or was built on one there, is used outside of that function; it has no value: return it and use what Run gives")

// check says why b, a Buffer node of s, cannot be read, outside of recordings or by one.
func (s *storage) check(b *uop.UOp, rec *recording) error {
	if s.stand && (rec == nil || !rec.stand[s]) {
		return errStandIn
	}
	if v := b.Arg().(uop.BufferArg).Version; v != s.current() && !rec.knows(s, v) {
		return &StaleError{v, s.current(), s.assigned, b.DType(), b.Shape()}
	}
	return nil
}
