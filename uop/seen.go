package uop

import "sync"

// Seen is a set of nodes: those that a walk has met. Its memory is used again by the walks that follow.
type Seen struct{ m Map[struct{}] }

var seens = sync.Pool{New: func() any { return &Seen{} }}

// mostSeen is how many nodes the largest set may hold whose memory is kept.
const mostSeen = 1 << 15

// NewSeen is an empty set, which is for one goroutine.
func NewSeen() *Seen { return seens.Get().(*Seen) }

// Enter adds a node and says whether it is new.
func (s *Seen) Enter(u *UOp) bool {
	_, added := s.m.enter(u)
	return added
}

// Has says whether a node was entered.
func (s *Seen) Has(u *UOp) bool {
	_, ok := s.m.Get(u)
	return ok
}

// Free gives the set back: it is not to be used any more.
func (s *Seen) Free() {
	if s.m.Len() <= mostSeen {
		s.m.Clear()
		seens.Put(s)
	}
}
