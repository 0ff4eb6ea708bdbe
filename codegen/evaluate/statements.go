package evaluate

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Statements runs the tree of a Form. Lanes of vectors, instances of tiles and invocations of a workgroup go in lock
// step, statement by statement; iterations that are shared by threads or workgroups each begin with what was there before
// the loop, the last one first. An error is an access outside of its array (whether or not the value is used), memory of a
// workgroup that two invocations touch without a barrier between them, or what no machine defines.
func Statements(f *codegen.Form, memory [][]uop.Value, most int) error {
	m := &machine{code: compile(f.Body), form: f, memory: memory, most: most, group: codegen.GroupSize(f.Body), folds: map[*codegen.HorizontalReduce]*merge{}}
	m.strict = !f.Target.Total && f.Pass != "tree"
	root := &thread{v: make([]uop.Value, len(m.nodes)), mem: make([]*scratch, len(m.nodes)), inv: everyone}
	for i, u := range m.nodes {
		switch v, ok := u.ConstValue(); {
		case ok:
			root.v[i] = v
		case u.Op() == uop.Var:
			root.v[i] = Variable(u)
		}
	}
	m.run(f.Body, []*thread{root})
	return m.err
}

// everyone is the number of what all invocations of a workgroup do.
const everyone = -1

// subgroup is how many invocations run together.
const subgroup = 4

type machine struct {
	*code
	form   *codegen.Form
	memory [][]uop.Value
	epoch  int // barriers so far
	group  int // invocations of a workgroup
	folds  map[*codegen.HorizontalReduce]*merge
	strict bool // ops must be given what plain machines can do
	most   int
	err    error
}

// thread is a lane, an instance or an invocation: values by number.
type thread struct {
	v      []uop.Value
	mem    []*scratch
	parent *thread
	inv    int // which invocation
	inst   int // which lane or instance: each has memory of the workgroup of its own
}

// scratch is memory of a thread or workgroup.
type scratch struct {
	v      []uop.Value
	shared bool
	marks  []mark
}

// mark is who touched an element of shared memory last, and when.
type mark struct{ writer, wrote, reader, read int }

func (m *machine) fail(format string, a ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, a...)
	}
}

func (m *machine) run(stmts []codegen.Stmt, ts []*thread) {
	for _, s := range stmts {
		if m.err != nil || len(ts) == 0 {
			return
		}
		m.stmt(s, ts)
	}
}

func (m *machine) stmt(s codegen.Stmt, ts []*thread) {
	switch s := s.(type) {
	case *codegen.Let:
		m.set([]*uop.UOp{s.Reg}, []*uop.UOp{s.Value}, ts)
	case *codegen.Set:
		m.set(s.Regs, s.Values, ts)
	case *codegen.If:
		var in []*thread
		for _, t := range ts {
			if m.value(s.Cond, t) != 0 {
				in = append(in, t)
			}
		}
		m.run(s.Body, in)
	case *codegen.Store:
		m.store(s, ts)
	case *codegen.MatrixProduct:
		m.matrix(s, ts)
	case *codegen.Four:
		m.four(s, ts)
	case *codegen.Alloc:
		m.alloc(s, ts)
	case *codegen.Sync:
		m.epoch++
	case *codegen.HorizontalReduce:
		m.fold(s, ts)
	case *codegen.Team:
		for _, t := range ts {
			t.v[m.number[s.Count]] = uop.Value((m.group + subgroup - 1) / subgroup)
		}
	case *codegen.SubgroupReduce:
		m.subgroupReduce(s, ts)
	case *codegen.Loop:
		m.loop(s, ts)
	}
}

func (m *machine) set(regs, values []*uop.UOp, ts []*thread) {
	v := make([]uop.Value, len(values))
	for _, t := range ts { // registers belong to threads
		for i, u := range values {
			v[i] = m.value(u, t)
		}
		for i, r := range regs {
			t.v[m.number[r]] = v[i]
		}
	}
}

// value computes an expression, and everything in it.
func (m *machine) value(u *uop.UOp, t *thread) uop.Value {
	list := m.order[u]
	if m.most -= len(list) + 1; m.most < 0 && m.err == nil {
		m.err = ErrTooLarge
	}
	if m.err != nil {
		return 0
	}
	for _, n := range list {
		u, src := m.nodes[n], m.src[n]
		switch {
		case u.Op() == uop.Const || u.Op() == uop.Var:
		case u.Op() == uop.Load:
			t.v[n] = m.load(u, src, t)
		default:
			var v [3]uop.Value
			for i, s := range src {
				v[i] = t.v[s]
			}
			if m.strict {
				m.legal(u, v)
			}
			t.v[n] = uop.Apply(u.Op(), u.At(0).DType(), u.DType(), v[0], v[1], v[2])
		}
	}
	return t.v[m.number[u]]
}

// legal refuses what a language need not define.
func (m *machine) legal(u *uop.UOp, v [3]uop.Value) {
	d := u.At(0).DType()
	switch u.Op() {
	case uop.IDiv, uop.Mod:
		if v[1] == 0 || !d.IsUnsigned() && (v[0].Int() < 0 || v[1].Int() < 0) {
			m.fail("%s of %s and %s", u.Op(), format(d, v[0]), format(d, v[1]))
		}
	case uop.Shl, uop.Shr:
		if d.Size() > 0 && uint64(v[1]) >= uint64(d.Bits()) {
			m.fail("%s of %s by %s", u.Op(), d, format(d, v[1]))
		}
	case uop.Cast:
		if to := u.DType(); d.IsFloat() && to.IsInt() {
			lo, hi := uop.IntLimits(to)
			x := math.Trunc(v[0].Float())
			least, most := float64(lo.Int()), float64(hi.Int())
			if to.IsUnsigned() {
				least, most = 0, float64(uint64(hi))
			}
			if !(x >= least && x <= most) {
				m.fail("cast of %v to %s", v[0].Float(), to)
			}
		}
	}
}

func (m *machine) load(u *uop.UOp, src []int, t *thread) uop.Value {
	if t.v[src[1]] == 0 {
		return uop.ValueOf(u.DType(), 0)
	}
	array, at, s := m.place("load", u.At(0), src[2:], t)
	if m.err != nil {
		return 0
	}
	m.see(u.At(0), s, at, t)
	return array[at]
}

// see notes that an invocation loads an element of scratch.
func (m *machine) see(buf *uop.UOp, s *scratch, at int, t *thread) {
	if s == nil || !s.shared {
		return
	}
	k := &s.marks[at]
	if k.wrote == m.epoch && k.writer != t.inv {
		m.fail("invocation %d loads element %d of %v, which %d stored since the last barrier", t.inv, at, buf, k.writer)
	}
	if k.read == m.epoch && k.reader != t.inv {
		k.reader = everyone
	} else {
		k.read, k.reader = m.epoch, t.inv
	}
}

// four loads neighbours.
func (m *machine) four(s *codegen.Four, ts []*thread) {
	a := s.Buf.Arg().(uop.ParamArg)
	for _, t := range ts {
		base := m.value(s.Base, t).Int()
		at := int(base) + 4*s.At
		var mem *scratch
		var array []uop.Value
		if !a.Scratch {
			array = m.memory[a.Slot]
		} else if mem = t.mem[m.number[s.Buf]]; mem != nil {
			array = mem.v
		}
		switch {
		case m.err != nil:
			return
		case base%4 != 0 || at < 0 || at+4 > len(array):
			m.fail("load by four of %v at %d, of %d elements", s.Buf, at, len(array))
			return
		}
		for i, r := range s.Regs {
			m.see(s.Buf, mem, at+i, t)
			t.v[m.number[r]] = array[at+i]
		}
	}
}

// place is the array of a parameter and an element of it.
func (m *machine) place(what string, buf *uop.UOp, index []int, t *thread) (array []uop.Value, at int, s *scratch) {
	v := make([]uop.Value, len(index))
	for i, n := range index {
		v[i] = t.v[n]
	}
	a := buf.Arg().(uop.ParamArg)
	var dims []int
	if a.Scratch {
		if s = t.mem[m.number[buf]]; s == nil {
			m.fail("%s of %v, which has not been opened", what, buf)
			return nil, 0, nil
		}
		array, dims = s.v, []int{len(s.v)}
	} else {
		array, dims = m.memory[a.Slot], m.form.Spec.Params[a.Slot].Dims
	}
	at, err := offset(dims, v)
	if err != nil {
		m.fail("%s of %v%v: %w", what, buf, dims, err)
	}
	return array, at, s
}

func (m *machine) store(s *codegen.Store, ts []*thread) {
	type one struct {
		array []uop.Value
		at    int
		v     uop.Value
	}
	all := make([]one, 0, len(ts))
	index := make([]int, len(s.Index))
	for _, t := range ts {
		v := m.value(s.Value, t)
		for i, x := range s.Index {
			m.value(x, t)
			index[i] = m.number[x]
		}
		if m.err != nil {
			return
		}
		array, at, mem := m.place("store", s.Buf, index, t)
		if m.err != nil {
			return
		}
		if mem != nil && mem.shared {
			k := &mem.marks[at]
			if k.wrote == m.epoch && k.writer != t.inv || k.read == m.epoch && k.reader != t.inv {
				m.fail("invocation %d stores element %d of %v, which another touched since the last barrier", t.inv, at, s.Buf)
			}
			k.wrote, k.writer = m.epoch, t.inv
		}
		all = append(all, one{array, at, v})
	}
	for _, o := range all {
		o.array[o.at] = o.v
	}
}

// alloc opens scratch with garbage in it: of each thread, or one for those of a workgroup.
func (m *machine) alloc(s *codegen.Alloc, ts []*thread) {
	groups := map[int]*scratch{}
	for _, t := range ts {
		mem := groups[t.inst]
		if mem == nil || !s.Shared {
			mem = &scratch{v: make([]uop.Value, s.N), shared: s.Shared}
			for j := range mem.v {
				mem.v[j] = garbage(s.Buf.DType())
			}
			if s.Shared {
				mem.marks = make([]mark, s.N)
				for j := range mem.marks {
					mem.marks[j] = mark{wrote: -1, read: -1}
				}
			}
		}
		groups[t.inst] = mem
		t.mem[m.number[s.Buf]] = mem
	}
}

func garbage(d dtype.DType) uop.Value {
	if d.IsFloat() {
		return uop.FloatValue(d, math.NaN())
	}
	return uop.IntValue(d, 0x5bd1e995)
}

// fold merges the values of the lanes into registers of the thread that opened them.
func (m *machine) fold(s *codegen.HorizontalReduce, ts []*thread) {
	if m.folds[s] == nil {
		m.folds[s] = newMerge(s.Monoid.Info().Merge, s.Values, s.Values)
	}
	acc, x := make([]uop.Value, len(s.Regs)), make([]uop.Value, len(s.Regs))
	count := map[*thread]int{}
	for _, t := range ts {
		count[t.parent]++
		for i, u := range s.Values {
			x[i] = m.value(u, t)
			acc[i] = t.parent.v[m.number[s.Regs[i]]]
		}
		for i, v := range m.folds[s].do(acc, x) {
			t.parent.v[m.number[s.Regs[i]]] = v
		}
	}
	for _, n := range count {
		if want := s.Range.Arg().(uop.RangeArg).N; n != want {
			m.fail("a fold of %d lanes of %d", n, want)
		}
	}
	for _, t := range ts { // nothing of the lanes is left to be laid down
		for _, r := range s.Regs {
			t.v[m.number[r]] = t.parent.v[m.number[r]]
		}
	}
}

// subgroupReduce merges a register over each subgroup.
func (m *machine) subgroupReduce(s *codegen.SubgroupReduce, ts []*thread) {
	n, groups := m.number[s.Reg], map[int]int{}
	for _, t := range ts {
		groups[t.inst]++
	}
	for _, k := range groups {
		if k != m.group {
			m.fail("%d invocations of %d reduce together", k, m.group)
		}
	}
	for len(ts) > 0 {
		k := 1
		for k < len(ts) && ts[k].inst == ts[0].inst && ts[k].inv/subgroup == ts[0].inv/subgroup {
			k++
		}
		v := ts[0].v[n]
		for _, t := range ts[1:k] {
			v = uop.Eval(s.Op, s.Reg.DType(), s.Reg.DType(), v, t.v[n])
		}
		for _, t := range ts[:k] {
			t.v[n] = v
		}
		ts = ts[k:]
	}
}

func (m *machine) loop(l *codegen.Loop, ts []*thread) {
	n, r := l.Range.Arg().(uop.RangeArg).N, m.number[l.Range]
	switch l.Kind {
	case codegen.Vector, codegen.Tile, codegen.Lane:
		m.fork(l, ts)
	case codegen.Thread, codegen.Grid:
		m.apart(l, ts)
	default:
		for i := 0; i < n && m.err == nil; i++ {
			in := ts
			if l.Count != nil {
				in = slices.DeleteFunc(slices.Clone(ts), func(t *thread) bool { return int(t.v[m.number[l.Count]]) <= i })
			}
			for _, t := range in {
				t.v[r] = uop.Value(i)
			}
			m.run(l.Body, in)
		}
	}
}

// fork runs all iterations of a loop in lock step. What they leave in registers that were there before must be one value.
func (m *machine) fork(l *codegen.Loop, ts []*thread) {
	n, r := l.Range.Arg().(uop.RangeArg).N, m.number[l.Range]
	in := make([]*thread, 0, n*len(ts))
	if m.most -= n * len(ts) * (len(m.nodes)/16 + 1); m.most < 0 {
		m.err = ErrTooLarge
		return
	}
	for _, t := range ts {
		for i := range n {
			c := &thread{slices.Clone(t.v), slices.Clone(t.mem), t, t.inv, t.inst}
			c.v[r] = uop.Value(i)
			if l.Kind == codegen.Lane {
				if c.inv = i; t.inv != everyone {
					c.inv += t.inv * n
				}
				m.identify(c)
			} else {
				c.inst = t.inst*n + i
			}
			in = append(in, c)
		}
	}
	m.run(l.Body, in)
	if m.err != nil {
		return
	}
	for i, c := range in {
		for _, reg := range m.writes[l].regs {
			if i%n > 0 && c.v[reg] != c.parent.v[reg] {
				m.fail("lanes of %v leave different values in %v", l.Range, m.nodes[reg])
			}
			c.parent.v[reg] = c.v[reg]
		}
	}
}

// identify tells an invocation its numbers, and computes anew what depends on them.
func (m *machine) identify(t *thread) {
	for _, team := range m.teams {
		t.v[m.number[team.Lane]], t.v[m.number[team.ID]] = uop.Value(t.inv%subgroup), uop.Value(t.inv/subgroup)
	}
	for _, l := range m.each {
		t.v[m.number[l.Reg]] = m.value(l.Value, t)
	}
}

// apart runs the iterations that threads or workgroups share: each begins with the registers and the scratch of before
// the loop.
func (m *machine) apart(l *codegen.Loop, ts []*thread) {
	n, r, w := l.Range.Arg().(uop.RangeArg).N, m.number[l.Range], m.writes[l]
	for i := n - 1; i >= 0 && m.err == nil; i-- {
		var undo []func()
		for _, t := range ts {
			t.v[r] = uop.Value(i)
			for _, reg := range w.regs {
				v := t.v[reg]
				undo = append(undo, func() { t.v[reg] = v })
			}
			for _, s := range w.scratch {
				if mem := t.mem[s]; mem != nil {
					v := slices.Clone(mem.v)
					undo = append(undo, func() { copy(mem.v, v) })
				}
			}
		}
		m.epoch++
		m.run(l.Body, ts)
		for _, f := range undo {
			f()
		}
	}
}
