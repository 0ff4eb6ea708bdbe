package uop

// Map is a map keyed by nodes: the memo of a walk. It is about four times as fast as a Go map
// because a node carries its hash. The zero value is ready to use; a Map is for one goroutine, and not to be copied: go vet says where one is.
type Map[V any] struct {
	_       uncopied
	slots   []int32   // numbers of entries, from 1 on; 0: none. Their number is a power of two
	entries []slot[V] // in the order in which they came
}

// uncopied has go vet, which looks for copies of locks, look for those of what has it.
type uncopied struct{}

func (*uncopied) Lock()   {}
func (*uncopied) Unlock() {}

type slot[V any] struct {
	key *UOp
	val V
}

// Of a map that has entries: how many slots it has at least, and room for how many entries.
const leastSlots, leastEntries = 16, 8

// Len is the number of entries.
func (m *Map[V]) Len() int { return len(m.entries) }

// Get looks u up.
func (m *Map[V]) Get(u *UOp) (v V, ok bool) {
	if len(m.entries) == 0 {
		return v, false
	}
	mask := uint64(len(m.slots) - 1)
	for i := u.hash & mask; ; i = (i + 1) & mask {
		n := m.slots[i]
		if n == 0 {
			return v, false
		}
		if e := &m.entries[n-1]; e.key == u {
			return e.val, true
		}
	}
}

// Set adds or replaces an entry.
func (m *Map[V]) Set(u *UOp, v V) {
	e, _ := m.enter(u)
	e.val = v
}

// enter gives the entry of u, and says whether it is new.
func (m *Map[V]) enter(u *UOp) (e *slot[V], added bool) {
	if 2*(len(m.entries)+1) > len(m.slots) {
		m.grow()
	}
	mask := uint64(len(m.slots) - 1)
	i := u.hash & mask
	for ; m.slots[i] != 0; i = (i + 1) & mask {
		if e := &m.entries[m.slots[i]-1]; e.key == u {
			return e, false
		}
	}
	m.entries = append(m.entries, slot[V]{key: u})
	m.slots[i] = int32(len(m.entries))
	return &m.entries[len(m.entries)-1], true
}

func (m *Map[V]) grow() {
	n := max(leastSlots, 2*len(m.slots))
	if n <= cap(m.slots) {
		clear(m.slots)
		m.slots = m.slots[:n]
	} else {
		m.slots = make([]int32, n)
	}
	if m.entries == nil {
		m.entries = make([]slot[V], 0, leastEntries)
	}
	mask := uint64(n - 1)
	for k := range m.entries {
		i := m.entries[k].key.hash & mask
		for m.slots[i] != 0 {
			i = (i + 1) & mask
		}
		m.slots[i] = int32(k + 1)
	}
}

// Clear takes all entries away and keeps the memory for others.
func (m *Map[V]) Clear() {
	clear(m.entries)
	clear(m.slots)
	m.entries, m.slots = m.entries[:0], m.slots[:min(leastSlots, len(m.slots))]
}

// Local is a value that lives as long as an arena, made by init on first use: the memo of a pure function of
// the arena's nodes. On the global table, which outlives everything, init is called each time.
func (t *Table) Local(key any, init func() any) any {
	if t.shared {
		return init()
	}
	v, ok := t.local[key]
	if !ok {
		v = init()
		if t.local == nil {
			t.local = map[any]any{}
		}
		t.local[key] = v
	}
	return v
}

// IsArena reports whether t is a private table, dropped whole.
func (t *Table) IsArena() bool { return !t.shared }
