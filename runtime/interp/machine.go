package interp

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/weft-ml/weft/plan/bytecode"
)

// file is the registers of one class.
type file[T any] struct {
	scalars []T
	vectors []T // bytecode.Lanes elements each
	spare   [3][]T
}

func newFile[T any](scalars, vectors int) file[T] {
	f := file[T]{scalars: make([]T, scalars), vectors: make([]T, vectors*bytecode.Lanes)}
	for i := range f.spare {
		f.spare[i] = make([]T, bytecode.Lanes)
	}
	return f
}

// at gives a register: bytecode.Lanes elements, or one for a scalar; nil for none.
func (f *file[T]) at(r bytecode.Reg) []T {
	i := r.Index()
	switch {
	case r.IsVector():
		return f.vectors[i*bytecode.Lanes : (i+1)*bytecode.Lanes : (i+1)*bytecode.Lanes]
	case r.IsScalar():
		return f.scalars[i : i+1 : i+1]
	}
	return nil
}

// worker is one machine: the registers and scratch of one thread, shared by all kernels it runs.
type worker struct {
	f32     file[float32]
	f64     file[float64]
	ints    file[int64]
	bools   file[uint8]
	n       int   // lanes in use
	lo, hi  int64 // share of the thread loop
	bufs    [][]byte
	vars    []int32
	scratch []byte
}

// count is how many elements of a register of this length are in use: all lanes, or the one of a scalar.
func (w *worker) count(length int) int {
	if length == 1 {
		return 1
	}
	return w.n
}

// room is what a set of kernels needs of a worker.
type room struct {
	scalars, vectors [bytecode.NumClasses]int
	scratch, buffers int
}

func (r *room) add(p *bytecode.Program) {
	r.merge(&room{p.Scalars, p.Vectors, int(p.ScratchBytes()), len(p.Params) + len(p.Scratch)})
}

// merge makes room for o as well and reports whether r had to grow.
func (r *room) merge(o *room) bool {
	before := *r
	for c := range bytecode.NumClasses {
		r.scalars[c] = max(r.scalars[c], o.scalars[c])
		r.vectors[c] = max(r.vectors[c], o.vectors[c])
	}
	r.scratch, r.buffers = max(r.scratch, o.scratch), max(r.buffers, o.buffers)
	return *r != before
}

// roundUp leaves space, so that growing ends soon.
func (r *room) roundUp() {
	up := func(n *int) { *n = 1 << bits.Len(uint(max(*n, 7)-1)) }
	for c := range bytecode.NumClasses {
		up(&r.scalars[c])
		up(&r.vectors[c])
	}
	up(&r.buffers)
}

// crew is the workers that plans share. A plan that needs more gets a larger crew; plans loaded before keep theirs.
type crew struct {
	room    room
	workers []*worker
}

// hire gives a crew with enough room.
func (d *Device) hire(need *room) *crew {
	if d.crew == nil {
		d.crew = &crew{}
	}
	r := d.crew.room
	if r.merge(need) {
		r.roundUp()
		d.crew = &crew{room: r}
	}
	return d.crew
}

func newWorker(r *room) *worker {
	return &worker{
		f32:     newFile[float32](r.scalars[bytecode.F32], r.vectors[bytecode.F32]),
		f64:     newFile[float64](r.scalars[bytecode.F64], r.vectors[bytecode.F64]),
		ints:    newFile[int64](r.scalars[bytecode.Int], r.vectors[bytecode.Int]),
		bools:   newFile[uint8](r.scalars[bytecode.Bool], r.vectors[bytecode.Bool]),
		bufs:    make([][]byte, r.buffers),
		scratch: aligned(int64(r.scratch)),
	}
}

// step is one instruction, or a whole block, tied to the registers of a worker.
type step func()

// fault stops a kernel; run turns it into an error.
type fault struct{ reason string }

func faultf(format string, a ...any) { panic(fault{fmt.Sprintf(format, a...)}) }

// binder turns a program into steps.
type binder struct {
	w   *worker
	p   *bytecode.Program
	pos int
}

// bind prepares a checked program for a worker.
func bind(w *worker, p *bytecode.Program) step {
	b := &binder{w: w, p: p}
	body := b.block()
	return func() {
		for _, c := range p.Consts {
			i := c.Reg.Index()
			switch c.Class {
			case bytecode.F32:
				w.f32.scalars[i] = math.Float32frombits(uint32(c.Bits))
			case bytecode.F64:
				w.f64.scalars[i] = math.Float64frombits(c.Bits)
			case bytecode.Int:
				w.ints.scalars[i] = int64(c.Bits)
			case bytecode.Bool:
				w.bools.scalars[i] = uint8(c.Bits & 1)
			}
		}
		for i, s := range p.Scratch {
			w.bufs[len(p.Params)+i] = w.scratch[s.At : s.At+s.N*int64(s.DType.Size())]
		}
		for _, s := range body {
			s()
		}
	}
}

// block binds the instructions up to the end of the block that begins at pos.
func (b *binder) block() (out []step) {
	for b.pos < len(b.p.Code) {
		in := &b.p.Code[b.pos]
		b.pos++
		if in.Op == bytecode.End {
			return out
		}
		out = append(out, b.instr(in))
	}
	return out
}

func (b *binder) instr(in *bytecode.Instr) step {
	switch {
	case in.Op.Opens():
		return b.loop(in, b.block())
	case in.Op.Elementwise() > 0:
		return b.elementwise(in)
	}
	switch in.Op {
	case bytecode.Load, bytecode.LoadV, bytecode.Gather, bytecode.Store, bytecode.StoreV, bytecode.Scatter:
		return b.memory(in)
	}
	return b.lanes(in)
}

func (b *binder) loop(in *bytecode.Instr, body []step) step {
	w, n := b.w, in.Imm
	switch in.Op {
	case bytecode.If:
		cond := w.bools.at(in.A)
		return func() {
			if cond[0] != 0 {
				for _, s := range body {
					s()
				}
			}
		}
	case bytecode.Tree:
		return func() {
			lanes := w.n
			for w.n > 1 {
				before := w.n
				for _, s := range body {
					s()
				}
				if w.n >= before {
					faultf("a tree that does not halve its lanes")
				}
			}
			w.n = lanes
		}
	}
	index := w.ints.at(in.D)
	switch in.Op {
	case bytecode.Thread:
		return func() {
			for i := w.lo; i < min(w.hi, n); i++ {
				index[0] = i
				for _, s := range body {
					s()
				}
			}
		}
	case bytecode.Strip:
		return func() {
			for i := int64(0); i < n; i += bytecode.Lanes {
				index[0] = i
				w.n = int(min(n-i, bytecode.Lanes))
				for _, s := range body {
					s()
				}
			}
		}
	}
	return func() {
		for i := range n {
			index[0] = i
			for _, s := range body {
				s()
			}
		}
	}
}

// run plays a bound kernel on the share lo … hi−1.
func (w *worker) run(body step, lo, hi int64) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fault:
			err = fmt.Errorf("%s", r.reason)
		default:
			err = fmt.Errorf("BUG in the machine: %v", r)
		}
	}()
	w.lo, w.hi = lo, hi
	body()
	return nil
}
