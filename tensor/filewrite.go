package tensor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// OpenWritable opens a file to be read and written. One that is shorter than size bytes grows to that, by zeros, and with a size above 0 one that does
// not exist is made; no file is cut.
//
// A tensor that Tensor makes of it is written by assignment: Assign and its like write all its bytes, and SetAt those of the elements that are
// named, by ints and ranges, and no others. That is done at once and not when something is computed, so that errors of the file are those of the
// call, as panics that Try gives back; the value is computed for it. What was built on the tensor before and is computed later is an
// *engine.StaleError, as after any assignment. A tensor over the same bytes of another call of Tensor knows nothing of it: what it has not read yet it
// reads as it is then. Flush or Close has written bytes survive a loss of power.
func OpenWritable(path string, size int64) (*File, error) {
	if size < 0 {
		return nil, &FileError{path, -1, fmt.Errorf("a size of %d bytes", size)}
	}
	flags := os.O_RDWR
	if size > 0 {
		flags |= os.O_CREATE
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o222 == 0 {
		return nil, &FileError{path, -1, errors.New("it is read-only; open it with Open, or let it be written (chmod u+w)")}
	}
	f, info, err := openRegular(path, flags)
	if err != nil {
		return nil, err
	}
	if info.Size() < size {
		if err := f.Truncate(size); err != nil {
			f.Close()
			return nil, &FileError{path, -1, fmt.Errorf("grow to %d bytes: %w", size, err)}
		}
	}
	return &File{name: path, size: max(size, info.Size()), from: f, to: f, closer: f}, nil
}

// OpenReadWriter is OpenWritable of size bytes behind a reader and writer; errors call it name. Flush calls its Sync, if it has one.
func OpenReadWriter(name string, both interface {
	io.ReaderAt
	io.WriterAt
}, size int64) *File {
	return &File{name: name, size: size, from: both, to: both}
}

// Flush has what was written survive a loss of power.
func (f *File) Flush() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if s, ok := f.to.(interface{ Sync() error }); ok {
		if err := s.Sync(); err != nil {
			return &FileError{f.name, -1, fmt.Errorf("flush: %w", err)}
		}
	}
	return nil
}

// write has assignments to a tensor, whose first byte is at offset, go to the file.
func (f *File) write(t *Tensor, offset int64) {
	w := &fileWriter{f, offset}
	t.sink = &sink{w.all, w.part}
}

// fileWriter writes what is assigned to a tensor.
type fileWriter struct {
	f      *File
	offset int64
}

func (w *fileWriter) all(op string, t *Tensor, value *uop.UOp) {
	shape := t.shape()
	w.put(op, t, value, make([]int, len(shape)), nil, shape)
}

func (w *fileWriter) part(t *Tensor, v any, index []any) {
	o := toOperand("SetAt", v)
	for i, x := range index {
		if m, ok := x.(*Tensor); ok {
			failArg("SetAt", "index %d is a tensor (%v %v); elements of a file are named by ints and ranges, so read it, use WithAt and Assign", i, m.DType(), m.Shape())
		}
	}
	p := t.pick("SetAt", index)
	if len(p.which) > 0 || len(p.spans) > 0 {
		failArg("SetAt", "elements of a file are named by ints and ranges; read it, use WithAt and Assign")
	}
	commonEngine("SetAt", t, o.t)
	w.put("SetAt", t, fitTo("SetAt", o.as(t.DType()), p.basic().Shape()), p.lo, p.step, p.size)
}

// put computes a value and writes it where its elements lie: on each axis size of them, the first at lo, step (nil: 1) apart.
func (w *fileWriter) put(op string, t *Tensor, value *uop.UOp, lo, step, size []int) {
	if recorder() != nil {
		failArg(op, "a file is written inside a captured function, and no run would do that; return the value and write it after Run")
	}
	if uop.Shape(size).Numel() == 0 {
		return
	}
	raw, err := newTensor(value, t.Engine()).Bytes(context.Background())
	if err == nil {
		var next *uop.UOp
		if next, err = w.renew(t); err == nil {
			engine.Outdate(t.node(), caller()) // before the first byte is another
			t.graph.Store(next)
			err = w.runs(t.shape(), t.DType().Size(), raw, lo, step, size)
		}
	}
	if err != nil {
		failDevice(op, err)
	}
}

// renew is the array of the tensor as it is in the file from now on.
func (w *fileWriter) renew(t *Tensor) (*uop.UOp, error) {
	return t.Engine().Later(t.DType(), t.shape(), engine.ReaderSource{Read: w.f.reader(t.DType())}, w.offset)
}

// runs writes elements, as many at a time as lie one after the other.
func (w *fileWriter) runs(shape uop.Shape, bytes int, raw []byte, lo, step, size []int) error {
	rank, run := len(shape), bytes // axes that are walked, and how many bytes lie together behind them
	for rank > 0 && size[rank-1] == shape[rank-1] && (step == nil || step[rank-1] == 1) {
		rank--
		run *= shape[rank]
	}
	if rank > 0 && (step == nil || step[rank-1] == 1) {
		rank--
		run *= size[rank]
	}
	at := make([]int, rank)
	for ; len(raw) > 0; raw = raw[run:] {
		first := 0
		for axis, n := range shape {
			i := 0
			switch {
			case axis < rank:
				i = lo[axis] + at[axis]*stepOf(step, axis)
			case axis == rank:
				i = lo[axis]
			}
			first = first*n + i
		}
		if err := w.f.writeAt(raw[:run], w.offset+int64(first)*int64(bytes)); err != nil {
			return err
		}
		for axis := rank - 1; axis >= 0; axis-- {
			if at[axis]++; at[axis] < size[axis] {
				break
			}
			at[axis] = 0
		}
	}
	return nil
}

func stepOf(step []int, axis int) int {
	if step == nil {
		return 1
	}
	return step[axis]
}

func (f *File) writeAt(p []byte, offset int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.to == nil {
		return &FileError{f.name, offset, errors.New("the file was closed before the tensor was assigned; close it afterwards")}
	}
	n, err := f.to.WriteAt(p, offset)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return &FileError{f.name, offset + int64(max(n, 0)), fmt.Errorf("after %d of %d bytes: %w", n, len(p), err)}
	}
	return nil
}
