package tokenizer

import "container/heap"

// merger joins neighbours of a word, the best pair first and of equal ones the leftmost, until no pair can be joined. Time is n log n.
type merger struct {
	symbols []symbol
	queue   pairs
	// pair says what two tokens join to and how good that is: the least comes first.
	pair func(a, b int) (joined int, rank float64, ok bool)
}

type symbol struct {
	id         int
	prev, next int // −1: none
}

type pair struct {
	rank        float64
	left, right int // symbols
	a, b, to    int // their tokens, and what they join to
}

type pairs []pair

func (p pairs) Len() int { return len(p) }
func (p pairs) Less(i, j int) bool {
	return p[i].rank < p[j].rank || p[i].rank == p[j].rank && p[i].left < p[j].left
}
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pairs) Push(x any)   { *p = append(*p, x.(pair)) }
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// join joins what can be joined of ids.
func (m *merger) join(ids []int) []int {
	m.symbols = make([]symbol, len(ids))
	for i, id := range ids {
		m.symbols[i] = symbol{id, i - 1, i + 1}
	}
	if len(ids) > 0 {
		m.symbols[len(ids)-1].next = -1
	}
	for i := range len(ids) - 1 {
		m.offer(i, i+1)
	}
	heap.Init(&m.queue)
	for len(m.queue) > 0 {
		p := heap.Pop(&m.queue).(pair)
		l, r := &m.symbols[p.left], &m.symbols[p.right]
		if l.next != p.right || r.prev != p.left || l.id != p.a || r.id != p.b {
			continue // one of them was joined since
		}
		l.id, l.next = p.to, r.next
		r.id, r.prev = -1, -2
		if l.next >= 0 {
			m.symbols[l.next].prev = p.left
			if m.offer(p.left, l.next) {
				heap.Fix(&m.queue, len(m.queue)-1)
			}
		}
		if l.prev >= 0 && m.offer(l.prev, p.left) {
			heap.Fix(&m.queue, len(m.queue)-1)
		}
	}
	out := make([]int, 0, len(ids))
	for i := 0; i >= 0 && i < len(m.symbols); i = m.symbols[i].next {
		out = append(out, m.symbols[i].id)
	}
	return out
}

// offer appends a pair to the queue, if it can be joined.
func (m *merger) offer(left, right int) bool {
	a, b := m.symbols[left].id, m.symbols[right].id
	to, rank, ok := m.pair(a, b)
	if ok {
		m.queue = append(m.queue, pair{rank, left, right, a, b, to})
	}
	return ok
}
