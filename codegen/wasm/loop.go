package wasm

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

func extent(u *uop.UOp) int { return u.Arg().(uop.RangeArg).N }

func (r *renderer) loop(l *codegen.Loop) {
	switch l.Kind {
	case codegen.Vector:
		r.n, r.lane, r.vary, r.around = extent(l.Range), l.Range, r.varying(l), l
		r.block(l.Body)
		r.n, r.lane, r.vary, r.around = 0, nil, nil, nil
	case codegen.Thread:
		i := r.counter(l.Range)
		r.get(paramLo)
		r.set(i)
		r.get(paramLo)
		r.get(paramHi)
		r.op("i32.lt_s")
		r.open("if")
		r.within(r.scan(l), func(f *frame) { r.repeat(f, func() { r.get(paramHi) }) })
		r.end()
	case codegen.Serial:
		r.serial(l)
	default:
		panic(fmt.Sprintf("BUG: WebAssembly has no loop of kind %c", l.Kind.Letter()))
	}
}

// serial runs a loop of known length: as copies of its body if it is short, else as a loop whose body holds some
// copies, and the rest of them behind it.
func (r *renderer) serial(l *codegen.Loop) {
	n := extent(l.Range)
	if n == 0 {
		return
	}
	if len(r.frames) > 0 && flat(l) {
		f := r.frames[len(r.frames)-1]
		for i := range n {
			f.fixed[l.Range] = i
			r.block(l.Body)
		}
		delete(f.fixed, l.Range)
		return
	}
	i := r.counter(l.Range)
	r.i32(0)
	r.set(i)
	f := r.scan(l)
	f.unroll = max(1, l.Copies)
	r.within(f, func(f *frame) {
		rest := n % f.unroll
		if n == f.unroll {
			r.copies(f, n)
			return
		}
		r.passable(func() { r.repeat(f, func() { r.i32(int32(n - rest)) }) })
		if rest > 0 {
			r.copies(f, rest)
		}
	})
}

// flat says that a loop is so short that it is written out.
func flat(l *codegen.Loop) bool {
	return l.Kind == codegen.Serial && l.Copies > 0 && l.Copies == extent(l.Range)
}

// within opens a loop's frame: its pointers, and vectors of what is repeated in it.
func (r *renderer) within(f *frame, body func(f *frame)) {
	r.start(f)
	mine := r.repeated(f)
	r.frames = append(r.frames, f)
	body(f)
	r.frames = r.frames[:len(r.frames)-1]
	for _, u := range mine {
		delete(r.splats, u)
	}
}

func (r *renderer) counter(u *uop.UOp) uint32 {
	l, ok := r.ranges[u]
	if !ok {
		l = r.local(i32)
		r.ranges[u] = l
	}
	return l
}

// copies writes the body n times, for successive values of the counter.
func (r *renderer) copies(f *frame, n int) {
	for d := range n {
		f.delta = d
		r.block(f.loop.Body)
	}
	f.delta = 0
}

// passable writes a loop with a way around it for wazero, which is never taken. wazero 1.12 takes all blocks that a loop's header dominates for
// parts of the loop: what lives at the header keeps its register to the end of the function. Where two vector registers are left, instructions
// that it lowers to several, such as v128.bitselect, give wrong results: a temporary is spilled before its last change.
func (r *renderer) passable(loop func()) {
	if !r.machine.Wazero {
		loop()
		return
	}
	r.open("block")
	r.get(paramBuf) // an address, never 0
	r.op("i32.eqz")
	r.with("br_if", 0)
	loop()
	r.end()
}

// repeat runs the body until the counter reaches the bound that limit puts on the stack.
func (r *renderer) repeat(f *frame, limit func()) {
	i := r.ranges[f.loop.Range]
	r.open("loop")
	r.touch(f)
	r.copies(f, f.unroll)
	r.advance(f, f.unroll)
	r.get(i)
	r.i32(int32(f.unroll))
	r.op("i32.add")
	r.tee(i)
	limit()
	r.op("i32.lt_s")
	r.with("br_if", 0)
	r.end()
}

// rangeValue puts a loop's index on the stack.
func (r *renderer) rangeValue(u *uop.UOp) {
	for _, f := range r.frames {
		if at, ok := f.fixed[u]; ok {
			r.i32(int32(at))
			return
		}
	}
	l, ok := r.ranges[u]
	if !ok {
		panic(fmt.Sprintf("BUG: %v is no loop here", u))
	}
	r.get(l)
	for _, f := range r.frames {
		if f.loop.Range == u && f.delta > 0 {
			r.i32(int32(f.delta))
			r.op("i32.add")
		}
	}
}
