package wasm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// pointer is a local that holds an address and moves on with a loop. Accesses that differ by a constant share one.
// No engine finds them itself: without, a kernel computes more addresses than values.
// They are the language's and no pass: instructions take an address in bytes and a constant offset, and statements know
// elements of arrays only.
type pointer struct {
	local  uint32
	buf    *uop.UOp
	terms  []symbolic.Term // what does not change in the loop
	step   int             // elements an iteration
	least  int             // the smallest constant
	most   int             // bytes behind it that are accessed
	count  int             // accesses
	always bool            // they happen in every iteration
}

// frame is an open loop with pointers.
type frame struct {
	loop     *codegen.Loop
	defs     map[*uop.UOp]*uop.UOp // values of the index registers declared in its body
	inside   map[*uop.UOp]bool     // registers and ranges that change in it
	pointers map[string]*pointer
	order    []*pointer
	fixed    map[*uop.UOp]int // iterations of loops inside that are written out
	unroll   int
	delta    int // of the copy that is being written
	under    *codegen.If
}

// sum takes an index apart as the frame's loop sees it. ok is false where it depends on what changes in the loop
// by something else than its counter.
func (f *frame) sum(index *uop.UOp) (constant, step int, terms []symbolic.Term, ok bool) {
	index = f.expand(index)
	parts, c, ok := symbolic.Affine(index)
	if !ok {
		parts = []symbolic.Term{{Node: index, Coef: 1}}
	}
	for _, t := range parts {
		at, isFixed := f.fixed[t.Node]
		switch {
		case isFixed:
			c += at * t.Coef
		case t.Node == f.loop.Range:
			step = t.Coef
		case f.changes(t.Node):
			return 0, 0, nil, false
		default:
			terms = append(terms, t)
		}
	}
	return c, step, terms, true
}

// expand replaces the index registers of the loop's body by their values.
func (f *frame) expand(u *uop.UOp) *uop.UOp {
	if d := f.defs[u]; d != nil {
		return f.expand(d)
	}
	switch u.Op() {
	case uop.Add, uop.Mul, uop.MulAdd, uop.Neg:
		return u.WithSrc(u.Home(), f.expand)
	}
	return u
}

func (f *frame) changes(u *uop.UOp) bool {
	for _, v := range uop.Topo(u) {
		if f.inside[v] || v == f.loop.Range || v.Op() == uop.Load {
			return true
		}
	}
	return false
}

// key tells pointers apart.
func key(buf *uop.UOp, step int, terms []symbolic.Term, gated bool, under *codegen.If) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%p %d %v %p", buf, step, gated, under)
	for _, t := range terms {
		fmt.Fprintf(&b, " %p*%d", t.Node, t.Coef)
	}
	return b.String()
}

// scan finds the accesses of a loop's body, those in loops inside it left out.
func (r *renderer) scan(l *codegen.Loop) *frame {
	f := &frame{loop: l, defs: map[*uop.UOp]*uop.UOp{}, inside: map[*uop.UOp]bool{}, pointers: map[string]*pointer{},
		fixed: map[*uop.UOp]int{}, unroll: 1}
	f.declare(l.Body)
	r.scanBlock(f, l.Body, r.around, nil)
	return f
}

func (f *frame) declare(stmts []codegen.Stmt) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *codegen.Let:
			f.inside[s.Reg] = true
			if s.Reg.DType() == dtype.Index {
				f.defs[s.Reg] = s.Value
			}
		case *codegen.Set:
			for _, u := range s.Regs {
				f.inside[u] = true
				delete(f.defs, u)
			}
		case *codegen.HorizontalReduce:
			for _, u := range s.Regs {
				f.inside[u] = true
				delete(f.defs, u)
			}
		case *codegen.If:
			f.declare(s.Body)
		case *codegen.Loop:
			f.inside[s.Range] = true
			f.declare(s.Body)
		}
	}
}

func (r *renderer) scanBlock(f *frame, stmts []codegen.Stmt, v *codegen.Loop, under *codegen.If) {
	for _, s := range stmts {
		for _, u := range codegen.Exprs(s) {
			r.scanLoads(f, u, v, under)
		}
		switch s := s.(type) {
		case *codegen.Store:
			r.note(f, s.Buf, s.Index[0], false, v, under)
		case *codegen.If:
			r.scanBlock(f, s.Body, v, s)
		case *codegen.Loop:
			switch {
			case s.Kind == codegen.Vector:
				r.scanBlock(f, s.Body, s, under)
			case flat(s):
				for i := range extent(s.Range) {
					f.fixed[s.Range] = i
					r.scanBlock(f, s.Body, v, under)
				}
				delete(f.fixed, s.Range)
			}
		}
	}
}

func (r *renderer) scanLoads(f *frame, u *uop.UOp, v *codegen.Loop, under *codegen.If) {
	for _, x := range uop.Topo(u) {
		if x.Op() == uop.Load {
			r.note(f, x.At(0), x.At(2), !always(x.At(1)), v, under)
		}
	}
}

// note adds an access to its pointer.
func (r *renderer) note(f *frame, buf, index *uop.UOp, gated bool, v *codegen.Loop, under *codegen.If) {
	bytes, low := r.sizeOf(buf), 0
	if v != nil {
		at := r.lanesOfIndex(index, v)
		if !at.ok {
			return
		}
		low = min(0, at.least)
		bytes += (at.most - low) * r.sizeOf(buf)
		index = at.base
	}
	c, step, terms, ok := f.sum(index)
	if !ok || buf.Arg().(uop.ParamArg).Scratch && r.inner(f, buf) {
		return
	}
	c += low
	k := key(buf, step, terms, gated, under)
	p := f.pointers[k]
	if p == nil {
		p = &pointer{buf: buf, terms: terms, step: step, least: c, always: !gated && under == nil}
		f.pointers[k] = p
		f.order = append(f.order, p)
	}
	if c < p.least {
		p.most += (p.least - c) * r.sizeOf(buf)
		p.least = c
	}
	p.most = max(p.most, (c-p.least)*r.sizeOf(buf)+bytes)
	p.count++
}

// inner says that a scratch buffer is made inside the loop, so that its address is not known before.
func (r *renderer) inner(f *frame, buf *uop.UOp) bool {
	_, known := r.bases[buf]
	return !known
}

// varying is codegen.Varying, remembered.
func (r *renderer) varying(l *codegen.Loop) func(*uop.UOp) bool {
	v := r.varies[l]
	if v == nil {
		v = codegen.Varying(l)
		r.varies[l] = v
	}
	return v
}

// start sets the pointers of a loop before its first iteration.
func (r *renderer) start(f *frame) {
	f.order = slices.DeleteFunc(f.order, func(p *pointer) bool { return p.step == 0 && len(p.terms) == 0 && p.least >= 0 })
	for k, p := range f.pointers {
		if !slices.Contains(f.order, p) {
			delete(f.pointers, k)
		}
	}
	for _, p := range f.order {
		size := r.sizeOf(p.buf)
		if p.step < 0 { // the copies of the body go down
			p.least += (f.unroll - 1) * p.step
		}
		p.most += (f.unroll - 1) * max(p.step, -p.step) * size
		r.base(p.buf)
		for _, t := range p.terms {
			r.product(t.Node, t.Coef*size)
		}
		if f.loop.Kind == codegen.Thread {
			r.product(f.loop.Range, p.step*size)
		}
		if p.least != 0 {
			r.i32(int32(p.least * size))
			r.op("i32.add")
		}
		p.local = r.local(i32)
		r.set(p.local)
	}
}

// product adds k·u to the address on the stack.
func (r *renderer) product(u *uop.UOp, k int) {
	r.index(u, i32)
	switch {
	case k > 0 && k&(k-1) == 0:
		for n := int32(0); ; n++ {
			if k>>n == 1 {
				if n > 0 {
					r.i32(n)
					r.op("i32.shl")
				}
				break
			}
		}
	case k != 1:
		r.i32(int32(k))
		r.op("i32.mul")
	}
	r.op("i32.add")
}

// touch accesses the last byte of each pointer once: an engine that checks every access then need not check the
// others of this iteration.
func (r *renderer) touch(f *frame) {
	if !r.machine.Wazero {
		return
	}
	for _, p := range f.order {
		if p.always && p.count*f.unroll > 1 && p.most < 1<<30 {
			r.get(p.local)
			r.mem("i32.load8_u", uint32(p.most-1))
			r.op("drop")
		}
	}
}

// advance moves the pointers on by so many iterations.
func (r *renderer) advance(f *frame, n int) {
	for _, p := range f.order {
		if p.step != 0 {
			r.get(p.local)
			r.i32(int32(p.step * n * r.sizeOf(p.buf)))
			r.op("i32.add")
			r.set(p.local)
		}
	}
}

// through puts the pointer of an access on the stack, if the innermost loop has one, and gives the offset.
func (r *renderer) through(buf, index *uop.UOp, gated bool) (offset int, ok bool) {
	if len(r.frames) == 0 {
		return 0, false
	}
	f := r.frames[len(r.frames)-1]
	c, step, terms, ok := f.sum(index)
	if !ok {
		return 0, false
	}
	p := f.pointers[key(buf, step, terms, gated, f.under)]
	if p == nil {
		return 0, false
	}
	offset = (c - p.least + f.delta*step) * r.sizeOf(buf)
	if offset < 0 || offset >= 1<<30 {
		return 0, false
	}
	r.get(p.local)
	return offset, true
}
