package uop

// Map is a map keyed by nodes: the memo of a walk. It is about four times as fast as a Go map
// because a node carries its hash. The zero value is ready to use; a Map is for one goroutine.
type Map[V any] struct {
	slots []slot[V]
	n     int
}

type slot[V any] struct {
	key *UOp
	val V
}

// Len is the number of entries.
func (m *Map[V]) Len() int { return m.n }

// Get looks u up.
func (m *Map[V]) Get(u *UOp) (v V, ok bool) {
	if m.n == 0 {
		return v, false
	}
	mask := uint64(len(m.slots) - 1)
	for i := u.hash & mask; ; i = (i + 1) & mask {
		switch s := &m.slots[i]; s.key {
		case u:
			return s.val, true
		case nil:
			return v, false
		}
	}
}

// Set adds or replaces an entry.
func (m *Map[V]) Set(u *UOp, v V) {
	if 2*(m.n+1) > len(m.slots) {
		old := m.slots
		m.slots = make([]slot[V], max(16, 2*len(old)))
		for i := range old {
			if old[i].key != nil {
				*m.at(old[i].key) = old[i]
			}
		}
	}
	s := m.at(u)
	if s.key == nil {
		m.n++
	}
	*s = slot[V]{u, v}
}

// at is the slot of u, or the empty one where it belongs.
func (m *Map[V]) at(u *UOp) *slot[V] {
	mask := uint64(len(m.slots) - 1)
	i := u.hash & mask
	for m.slots[i].key != nil && m.slots[i].key != u {
		i = (i + 1) & mask
	}
	return &m.slots[i]
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
