package engine

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"sync/atomic"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/uop"
)

// Source is where elements are that are brought to the device when something reads them: a file. It gives what puts some of its bytes
// into an array.
type Source interface {
	Fill(offset, bytes int64) Fill
}

// later is what a storage waits for.
type later struct {
	from   Source
	offset int64
	over   atomic.Bool // its elements came, or it is gone
}

// Later makes an array whose elements lie in a source from a byte on, row-major, little-endian, bool one byte. They are brought to the
// device, and take memory there, when something that is computed or read needs them; of an array that is only cut, along its first
// axes, what is cut out. The journal keeps the source and not the elements.
func (e *Engine) Later(d dtype.DType, shape []int, from Source, offset int64) (*uop.UOp, error) {
	if why := uop.Shape(shape).TooMany(); why != "" {
		return nil, errors.New(why)
	}
	n := uop.Shape(shape).Numel()
	return e.nodeOf(e.waitingFor(from, offset, int64(n)*int64(d.Size())), n, d).Reshape(shape...), nil
}

func (e *Engine) waitingFor(from Source, offset, bytes int64) *storage {
	s := &storage{engine: e, cell: &cell{bytes: bytes}, later: &later{from: from, offset: offset}}
	e.waiting.Add(1)
	goruntime.AddCleanup(s, e.arrived, s.later)
	return s
}

// arrived counts one less that waits.
func (e *Engine) arrived(l *later) {
	if l.over.CompareAndSwap(false, true) {
		e.waiting.Add(-1)
	}
}

// arrive brings to the device what the values of nodes need and what is not there yet. It lets others use the engine while it waits.
func (e *Engine) arrive(ctx context.Context, nodes ...*uop.UOp) error {
	if e.waiting.Load() == 0 {
		return nil
	}
	seen := map[*uop.UOp]bool{}
	for stack := slices.Clone(nodes); len(stack) > 0; {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[u] {
			continue
		}
		seen[u] = true
		if r := u.Realized(); r != nil {
			u = r
		}
		if part := e.part(u); part != nil {
			u.SetRealized(part)
			u = part
		}
		if b, s := buffer(u); b != nil {
			if s != nil && s.engine == e && s.later != nil {
				if err := e.bring(ctx, s); err != nil {
					return err
				}
			}
			continue
		}
		srcs := u.Src()
		if u.Op() == uop.Detach || u.Op() == uop.Check && e.opts.Unchecked { // as for resolve
			srcs = srcs[:1]
		}
		stack = append(stack, srcs...)
	}
	return nil
}

// bring gives a storage its elements.
func (e *Engine) bring(ctx context.Context, s *storage) error {
	l := s.later
	if s.mem == nil {
		if err := e.again(ctx, func() error {
			return e.attempt(ctx, func() error { return e.memory.alloc(s.cell, nil) })
		}); err != nil {
			return err
		}
		e.enrol(s)
	}
	if s.bytes > 0 {
		f := l.from.Fill(l.offset, s.bytes)
		if err := e.attempt(ctx, func() error { return e.fill(ctx, s, f) }); err != nil {
			return err
		}
		e.note(&step{args: []*cell{s.cell}, fill: f}, s.cell)
	}
	s.later = nil
	e.arrived(l)
	return nil
}

// part is the array of a node that cuts elements which lie one after the other out of one that is not on the device, or nil.
func (e *Engine) part(u *uop.UOp) *uop.UOp {
	if u.Op() != uop.Shrink {
		return nil
	}
	s, at, ok := stretch(u)
	if !ok || s.engine != e {
		return nil
	}
	n, size := u.Shape().Numel(), int64(u.DType().Size())
	return e.nodeOf(e.waitingFor(s.later.from, s.later.offset+int64(at)*size, int64(n)*size), n, u.DType()).Reshape(u.Shape()...)
}

// stretch says at which element of an array that is not on the device those of a node begin, if they lie there one after the other.
func stretch(u *uop.UOp) (s *storage, at int, ok bool) {
	for {
		switch u.Op() {
		case uop.Buffer:
			s, _ := u.Storage().(*storage)
			return s, at, s != nil && s.later != nil && s.current() == 0
		case uop.Reshape:
		case uop.Shrink:
			first, ok := contiguous(u)
			if !ok {
				return nil, 0, false
			}
			at += first
		default:
			return nil, 0, false
		}
		u = u.At(0)
	}
}

// contiguous says where the elements begin that a Shrink leaves, if they lie one after the other in its operand: it leaves axes whole
// behind one that it cuts, and one element of those before.
func contiguous(u *uop.UOp) (first int, ok bool) {
	a := u.Arg().(uop.PadArg)
	lo, hi := a.Lo.Slice(), a.Hi.Slice()
	shape := u.At(0).Shape()
	one := true // of all axes so far
	for i, n := range shape {
		first = first*n + lo[i]
		if hi[i]-lo[i] < n && !one {
			return 0, false
		}
		one = one && hi[i]-lo[i] == 1
	}
	return first, true
}

// ReaderSource is a Source that reads: read fills p from a byte on.
type ReaderSource struct {
	Read func(p []byte, offset int64) error
}

// readAtOnce is how many bytes lie in Go's memory between a file and a device.
const readAtOnce = 4 << 20

// Fill reads some bytes, gives them to the device, and reads the next; others wait for the device meanwhile.
func (r ReaderSource) Fill(offset, bytes int64) Fill {
	return func(d runtime.Device, m runtime.Mem) (func(ctx context.Context) error, error) {
		return func(ctx context.Context) error { return nil }, r.copy(d, m, offset, bytes)
	}
}

func (r ReaderSource) copy(d runtime.Device, m runtime.Mem, offset, bytes int64) error {
	buffer := make([]byte, min(bytes, readAtOnce))
	for at := int64(0); at < bytes; at += int64(len(buffer)) {
		p := buffer[:min(int64(len(buffer)), bytes-at)]
		if err := r.Read(p, offset+at); err != nil {
			return err
		}
		if err := d.Write(m, at, p); err != nil {
			return err
		}
	}
	return nil
}

// Outdate says of an array that its elements are others from now on, in the source that they came from: what was built on it is a StaleError.
func Outdate(u *uop.UOp, at string) {
	_, s := buffer(u)
	e := s.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.records {
		if _, ok := r.was[s]; !ok {
			r.was[s] = s.current()
		}
	}
	s.assigned = at
	s.version.Add(1)
}
