package uop

import (
	"sync"

	"github.com/weft-ml/weft/dtype"
)

// Table interns nodes: equal nodes made in one table are the same pointer. The global one
// holds two generations, so that graphs nobody uses any more are collected; an arena (NewArena)
// holds everything until it is dropped whole and must not be used by two goroutines at once.
type Table struct {
	mu        sync.Mutex
	shared    bool
	cur, prev set
	local     map[any]any // arenas: see Local
}

// generation is how many nodes the current generation of the global table may hold.
const generation = 1 << 13

var global = &Table{shared: true}

// NewArena makes an empty table for one compilation.
func NewArena() *Table { return &Table{} }

// EndGeneration ages the global table: what was not used since the last call is forgotten.
// It never changes a result; a node met again is only made anew.
func EndGeneration() {
	global.mu.Lock()
	defer global.mu.Unlock()
	global.age()
}

// age has the current generation be the previous one, and gives the memory of that to a new one.
func (t *Table) age() {
	old := t.prev.slots
	clear(old)
	t.prev, t.cur = t.cur, set{slots: old}
}

// Live is the number of nodes that the global table holds.
func Live() int {
	global.mu.Lock()
	defer global.mu.Unlock()
	return global.cur.n + global.prev.n
}

// set is an open-addressing hash set of nodes.
type set struct {
	slots []entry
	n     int
}

// entry has the hash of a node beside it, so that looking for others touches no memory of it.
type entry struct {
	hash uint64
	u    *UOp
}

func (s *set) find(h uint64, o Op, d dtype.DType, a Arg, src []*UOp) *UOp {
	if s.n == 0 {
		return nil
	}
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; s.slots[i].u != nil; i = (i + 1) & mask {
		if s.slots[i].hash != h {
			continue
		}
		if u := s.slots[i].u; u.op == o && u.dtype == d && u.arg == a && sameSrc(u.src, src) {
			return u
		}
	}
	return nil
}

func sameSrc(a, b []*UOp) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (s *set) add(u *UOp) {
	if 2*(s.n+1) > len(s.slots) {
		old := s.slots
		s.slots = make([]entry, max(64, 2*len(old)))
		for _, o := range old {
			if o.u != nil {
				s.place(o.u)
			}
		}
	}
	s.place(u)
	s.n++
}

func (s *set) place(u *UOp) {
	mask := uint64(len(s.slots) - 1)
	i := u.hash & mask
	for s.slots[i].u != nil {
		i = (i + 1) & mask
	}
	s.slots[i] = entry{u.hash, u}
}

// Make gives the node with these fields. It infers the shape, which panics with a *ShapeError
// when the operands do not fit.
func (t *Table) Make(o Op, d dtype.DType, a Arg, src ...*UOp) *UOp {
	h := mix(uint64(o)<<8|uint64(d), hashArg(a))
	for _, s := range src {
		h = mix(h, s.hash)
	}
	if t.shared {
		t.mu.Lock()
		defer t.mu.Unlock()
	}
	if u := t.cur.find(h, o, d, a, src); u != nil {
		return u
	}
	u := t.prev.find(h, o, d, a, src)
	if u == nil {
		u = &UOp{op: o, dtype: d, arg: a, hash: h, home: t}
		u.src = u.room[:0:len(u.room)]
		if len(src) > len(u.room) {
			u.src = make([]*UOp, 0, len(src))
		}
		u.src = append(u.src, src...)
		u.shape = infer(u)
		for _, s := range src {
			if s.sizes != nil || o == Extent {
				u.sizes = inferSizes(u)
				break
			}
		}
		// What a compile makes of a graph, in a table of its own, may be larger by a factor and is never stored.
		if why := u.shape.TooMany(); t.shared && why != "" {
			fail(u, "%s", why)
		}
	}
	if t.shared && t.cur.n >= generation {
		t.age()
	}
	t.cur.add(u)
	return u
}
