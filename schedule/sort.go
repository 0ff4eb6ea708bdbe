package schedule

import "slices"

// sort puts the kernels into an order that obeys the edges. A kernel that may run and leaves fewer temporary bytes in use than before it runs
// next: what it frees is in a cache yet, and gradients of weights do not wait, with all that they are made of, for the end. Otherwise
// the order that they had is kept.
func (s *scheduler) sort(after [][]int) {
	n := len(s.kernels)
	waits := make([]int, n)
	for _, list := range after {
		for _, j := range list {
			waits[j]++
		}
	}
	m := s.memory()
	var freeing []int // kernels that may run and free memory
	consider := func(i int) {
		if waits[i] == 0 && m.grows(i) < 0 && !slices.Contains(freeing, i) {
			freeing = append(freeing, i)
		}
	}
	for i := range n {
		consider(i)
	}
	out, low := make([]*kernel, 0, n), 0
	for len(out) < n {
		next := low
		if len(freeing) > 0 {
			at := slices.Index(freeing, slices.Min(freeing))
			next = freeing[at]
			freeing = slices.Delete(freeing, at, at+1)
		}
		for next < n && waits[next] != 0 {
			next++
		}
		if next == n {
			panic("BUG: kernels wait for each other")
		}
		out = append(out, s.kernels[next])
		waits[next] = -1 // has run
		for low < n && waits[low] < 0 {
			low++
		}
		for _, j := range after[next] {
			waits[j]--
			consider(j)
		}
		for _, i := range m.run(next) {
			consider(i)
		}
	}
	s.kernels = out
}

// inUse is which temporary arrays are in use while kernels run.
type inUse struct {
	s     *scheduler
	left  []int // how many kernels that use each have not run; a copy at the end is one
	who   []int // the exclusive or of these kernels' numbers: of the last one its number
	begun []bool
}

func (s *scheduler) memory() *inUse {
	n := len(s.bufs)
	m := &inUse{s, make([]int, n), make([]int, n), make([]bool, n)}
	for i := range s.kernels {
		for _, b := range m.names(i) {
			m.left[b]++
			m.who[b] ^= i
		}
	}
	for _, c := range s.copies {
		for _, b := range c.Bufs {
			m.left[b]++
		}
	}
	return m
}

// names are the temporary buffers of a kernel, each once.
func (m *inUse) names(i int) (list []int) {
	for _, b := range m.s.kernels[i].bufs {
		if m.s.bufs[b].Kind == TempBuf && !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	return list
}

// grows is how many bytes more are in use after kernel i than before it. It only ever falls while others run.
func (m *inUse) grows(i int) (bytes int64) {
	for _, b := range m.names(i) {
		if !m.begun[b] {
			bytes += m.s.bufs[b].Bytes()
		}
		if m.left[b] == 1 {
			bytes -= m.s.bufs[b].Bytes()
		}
	}
	return bytes
}

// run is told that kernel i has run, and gives the kernels that are the last to use something now.
func (m *inUse) run(i int) (last []int) {
	for _, b := range m.names(i) {
		m.begun[b] = true
		m.left[b]--
		m.who[b] ^= i
		if m.left[b] == 1 {
			last = append(last, m.who[b])
		}
	}
	return last
}
