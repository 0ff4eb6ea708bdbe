package wasm

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// register is where a uop.Reg lives.
type register struct {
	local uint32
	kind  kind // v128 for one value per lane
	bits  int  // of a mask's lanes
}

// renderer writes one kernel.
type renderer struct {
	encoder
	p       *codegen.Program
	machine Machine
	regs    map[*uop.UOp]register
	ranges  map[*uop.UOp]uint32 // locals
	bases   map[*uop.UOp]uint32 // locals that hold the addresses of scratch buffers
	slots   []uint32            // and of parameters
	bounds  map[*uop.UOp]span
	scratch int64

	// Inside a Vector loop:
	n      int                 // lanes; 0 outside
	lane   *uop.UOp            // its range
	around *codegen.Loop       // itself
	vary   func(*uop.UOp) bool // differs between lanes
	mask   *mask               // lanes that take part; nil for all
	sum    *uop.UOp            // the register whose new value is being computed

	frames  []*frame // open loops
	apart   map[laneKey]lanes
	weights map[*codegen.Loop]int
	varies  map[*codegen.Loop]func(*uop.UOp) bool
	later   map[*uop.UOp]bool            // registers that are assigned after their declaration
	repeats map[*uop.UOp]bool            // registers that are repeated somewhere
	splats  map[*uop.UOp]uint32          // vectors that repeat a register
	wanted  map[*codegen.Loop][]*uop.UOp // registers that are repeated in a loop
	broad   map[*uop.UOp]bool            // scratch buffers that hold each element repeated, as a vector
}

// mask is a vector of lanes that are all ones or zeros, in a local.
type mask struct {
	local uint32
	bits  int
}

func newRenderer(p *codegen.Program, m Machine) *renderer {
	r := &renderer{p: p, machine: m, regs: map[*uop.UOp]register{}, ranges: map[*uop.UOp]uint32{},
		bases: map[*uop.UOp]uint32{}, bounds: map[*uop.UOp]span{},
		apart: map[laneKey]lanes{}, weights: map[*codegen.Loop]int{}, varies: map[*codegen.Loop]func(*uop.UOp) bool{}, splats: map[*uop.UOp]uint32{}, wanted: map[*codegen.Loop][]*uop.UOp{},
		broad: map[*uop.UOp]bool{}, later: map[*uop.UOp]bool{}, repeats: map[*uop.UOp]bool{}}
	r.assigned(p.Body)
	r.findSplats(p.Body)
	return r
}

// assigned bounds index registers that change by nothing.
func (r *renderer) assigned(stmts []codegen.Stmt) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *codegen.Set:
			r.unbounded(s.Regs)
		case *codegen.Fold:
			r.unbounded(s.Regs)
		case *codegen.If:
			r.assigned(s.Body)
		case *codegen.Loop:
			r.assigned(s.Body)
		}
	}
}

func (r *renderer) unbounded(regs []*uop.UOp) {
	for _, u := range regs {
		r.later[u] = true
		if u.DType() == dtype.Index {
			r.bounds[u] = anywhere
		}
	}
}

// head loads the addresses of the parameters.
func (r *renderer) head() {
	for i := range r.p.Params {
		l := r.local(i32)
		r.get(paramBuf)
		r.mem("i32.load", uint32(4*i))
		r.set(l)
		r.slots = append(r.slots, l)
	}
}

func (r *renderer) block(stmts []codegen.Stmt) {
	for _, s := range stmts {
		r.stmt(s)
	}
}

func (r *renderer) stmt(s codegen.Stmt) {
	switch s := s.(type) {
	case *codegen.Loop:
		r.loop(s)
	case *codegen.If:
		r.cond(s)
	case *codegen.Let:
		r.let(s)
	case *codegen.Set:
		r.assign(s.Regs, s.Values)
	case *codegen.Fold:
		r.fold(s)
	case *codegen.Store:
		r.store(s)
	case *codegen.Alloc:
		l := r.local(i32)
		r.get(paramScratch)
		r.i32(int32(r.scratch))
		r.op("i32.add")
		r.set(l)
		r.bases[s.Buf] = l
		r.scratch += (int64(s.N)*int64(r.sizeOf(s.Buf)) + 63) &^ 63
	default:
		panic(fmt.Sprintf("BUG: cannot spell %T", s))
	}
}

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

// Copies of a small body save the counting and give an engine more to reorder.
const (
	mostCopies = 4
	smallLoop  = 1000 // operations of all copies
)

// serial runs a loop of known length: as copies of its body if it is short, else as a loop whose body holds some
// copies, and the rest of them behind it.
func (r *renderer) serial(l *codegen.Loop) {
	n := extent(l.Range)
	if n == 0 {
		return
	}
	if len(r.frames) > 0 && r.flat(l) {
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
	if size := r.weight(l.Body); r.flat(l) {
		f.unroll = n
	} else if size > 0 {
		f.unroll = max(1, min(mostCopies, n, smallLoop/size))
		for f.unroll > 1 && n%f.unroll > 0 && n < 8*f.unroll {
			f.unroll--
		}
	}
	r.within(f, func(f *frame) {
		rest := n % f.unroll
		if n == f.unroll {
			r.copies(f, n)
			return
		}
		r.repeat(f, func() { r.i32(int32(n - rest)) })
		if rest > 0 {
			r.copies(f, rest)
		}
	})
}

// flat says that a loop is so short that it is written out.
func (r *renderer) flat(l *codegen.Loop) bool {
	n := extent(l.Range)
	if l.Kind != codegen.Serial || n == 0 || n > 2*mostCopies {
		return false
	}
	w, known := r.weights[l]
	if !known {
		w = r.weight(l.Body)
		r.weights[l] = w
	}
	return w > 0 && n*w <= smallLoop
}

// weight counts the operations of a body; 0 where it has longer loops, or makes scratch.
func (r *renderer) weight(stmts []codegen.Stmt) int {
	n := 1
	for _, s := range stmts {
		for _, u := range codegen.Exprs(s) {
			n += len(uop.Topo(u))
		}
		w := 1
		switch s := s.(type) {
		case *codegen.Alloc, *codegen.Fold:
			return 0
		case *codegen.If:
			w = r.weight(s.Body)
		case *codegen.Loop:
			switch w = r.weight(s.Body); {
			case s.Kind == codegen.Serial && r.flat(s):
				w *= extent(s.Range)
			case s.Kind != codegen.Vector:
				w = 0
			}
		}
		if w == 0 {
			return 0
		}
		n += w
	}
	return n
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

func (r *renderer) cond(s *codegen.If) {
	if !r.vec(s.Cond) {
		r.scalar(s.Cond)
		r.open("if")
		r.under(s)
		r.end()
		return
	}
	old := r.mask
	r.maskOf(s.Cond, 32)
	if old != nil {
		r.get(old.local)
		r.op("v128.and")
	}
	r.mask = &mask{r.local(v128), 32}
	r.set(r.mask.local)
	r.under(s)
	r.mask = old
}

// under writes the body of a condition.
func (r *renderer) under(s *codegen.If) {
	if len(r.frames) == 0 {
		r.block(s.Body)
		return
	}
	f := r.frames[len(r.frames)-1]
	old := f.under
	f.under = s
	r.block(s.Body)
	f.under = old
}

func (r *renderer) let(s *codegen.Let) {
	d := s.Reg.DType()
	if r.n > 0 && (r.vary(s.Reg) || r.vary(s.Value)) {
		reg := register{local: r.local(v128), kind: v128}
		if d == dtype.Bool {
			reg.bits = r.maskBits(s.Value)
			r.maskOf(s.Value, reg.bits)
		} else {
			reg.bits = r.declaredBits(s)
			r.vectorAs(s.Value, reg.bits)
		}
		r.regs[s.Reg] = reg
		r.set(reg.local)
		return
	}
	k := kindOfType(d)
	if r.repeats[s.Reg] && !r.later[s.Reg] && r.n > 0 && s.Value.Op() == uop.Load { // it is repeated right away
		r.splat(s.Value)
		reg := register{local: r.local(v128), kind: v128, bits: r.bitsOfType(d)}
		r.set(reg.local)
		r.regs[s.Reg] = reg
		return
	}
	if d == dtype.Index {
		if !r.later[s.Reg] {
			r.bounds[s.Reg] = r.bound(s.Value)
		}
		if k = i32; r.wide(s.Reg) {
			k = i64
		}
	}
	r.scalarAs(s.Value, k)
	l := r.local(k)
	r.set(l)
	r.regs[s.Reg] = register{local: l, kind: k}
	if r.repeats[s.Reg] && !r.later[s.Reg] {
		r.get(l)
		r.spread(k)
		r.splats[s.Reg] = r.local(v128)
		r.set(r.splats[s.Reg])
	}
}

// declaredBits is the width of a lane of a register; that of an index fits its value, or everything if it is
// assigned later.
func (r *renderer) declaredBits(s *codegen.Let) int {
	if s.Reg.DType() != dtype.Index {
		return r.bitsOfType(s.Reg.DType())
	}
	if !r.later[s.Reg] {
		r.bounds[s.Reg] = r.bound(s.Value)
		return r.laneBits(s.Value)
	}
	if r.n == 2 {
		return 64
	}
	return 32
}

// assign sets registers, all values being computed before any is assigned.
func (r *renderer) assign(regs, values []*uop.UOp) {
	for i, u := range regs {
		reg := r.regs[u]
		switch {
		case reg.kind != v128:
			r.scalarAs(values[i], reg.kind)
		case u.DType() == dtype.Bool:
			r.maskOf(values[i], reg.bits)
		default:
			r.sum = u
			r.vectorAs(values[i], reg.bits)
			r.sum = nil
		}
		if reg.kind == v128 && r.mask != nil {
			r.get(reg.local)
			r.getMask(r.mask, reg.bits)
			r.op("v128.bitselect")
		}
	}
	for i := len(regs) - 1; i >= 0; i-- {
		r.set(r.regs[regs[i]].local)
	}
}

// fold merges lanes by halves, then into the scalars.
func (r *renderer) fold(s *codegen.Fold) {
	t := s.Regs[0].Home()
	if r.n > 4 { // as many lanes as one likes: nothing differs between them
		r.foldEqual(s)
		return
	}
	x, y := make([]*uop.UOp, len(s.Values)), make([]*uop.UOp, len(s.Values))
	lanes := map[*uop.UOp]bool{}
	for i, v := range s.Values {
		for j, list := range [][]*uop.UOp{x, y} {
			list[i] = t.Make(uop.Reg, v.DType(), uop.RegArg{ID: 1<<20 + 2*i + j})
			lanes[list[i]] = true
			r.regs[list[i]] = register{r.local(v128), v128, r.laneBits(v)}
		}
		if v.DType() == dtype.Bool {
			r.maskOf(v, r.regs[x[i]].bits)
		} else {
			r.vector(v)
		}
		r.set(r.regs[x[i]].local)
	}
	merged := codegen.Legalize(t, legal, s.Monoid.Info().Merge(x, y)...)
	old, mask := r.vary, r.mask
	r.vary, r.mask = dependsOn(lanes), nil
	for half := r.n / 2; half > 0; half /= 2 {
		for i := range x {
			r.get(r.regs[x[i]].local)
			r.rotate(r.regs[x[i]].bits, half)
			r.set(r.regs[y[i]].local)
		}
		r.assign(x, merged)
	}
	r.vary = func(*uop.UOp) bool { return false }
	for i := range x {
		y[i] = t.Make(uop.Reg, x[i].DType(), uop.RegArg{ID: 1<<21 + i})
		k := r.laneKind(x[i])
		r.get(r.regs[x[i]].local)
		r.extract(k, 0)
		if x[i].DType() == dtype.Bool {
			if k == i64 {
				r.op("i32.wrap_i64")
				k = i32
			}
			r.wrap(dtype.Bool)
		}
		reg := register{local: r.local(k), kind: k}
		r.set(reg.local)
		r.regs[y[i]] = reg
	}
	r.assign(s.Regs, codegen.Legalize(t, legal, s.Monoid.Info().Merge(s.Regs, y)...))
	r.vary, r.mask = old, mask
}

// foldEqual merges a value with itself until it stands for all lanes, then into the scalars.
func (r *renderer) foldEqual(s *codegen.Fold) {
	t := s.Regs[0].Home()
	x := make([]*uop.UOp, len(s.Values))
	for i, v := range s.Values {
		if r.vec(v) {
			panic(fmt.Sprintf("BUG: %d lanes", r.n))
		}
		x[i] = t.Make(uop.Reg, v.DType(), uop.RegArg{ID: 1<<21 + i})
		k := r.kindOf(v)
		if k == i32 && v.DType() == dtype.Index {
			k = i64
		}
		r.scalarAs(v, k)
		reg := register{local: r.local(k), kind: k}
		r.set(reg.local)
		r.regs[x[i]] = reg
	}
	for n := 1; n < r.n; n *= 2 {
		r.assign(x, codegen.Legalize(t, legal, s.Monoid.Info().Merge(x, x)...))
	}
	r.assign(s.Regs, codegen.Legalize(t, legal, s.Monoid.Info().Merge(s.Regs, x)...))
}

func dependsOn(set map[*uop.UOp]bool) func(u *uop.UOp) bool {
	memo := map[*uop.UOp]bool{}
	return func(u *uop.UOp) bool {
		for _, v := range uop.Topo(u) {
			if _, ok := memo[v]; ok {
				continue
			}
			d := set[v]
			for _, s := range v.Src() {
				d = d || memo[s]
			}
			memo[v] = d
		}
		return memo[u]
	}
}
