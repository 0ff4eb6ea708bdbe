package codegen

// NestLimits are numbers of a target: what its kernels of several nests may be. The zero value: there are none.
type NestLimits struct {
	Most int // nests of one kernel

	// A kernel of this much work, be it arithmetic or memory, one thread does alone, because waking others would take longer.
	Flops, Bytes int64

	// What comes before a nest that threads share is done anew by each share, if the nest is so many times the work; 0: never.
	Before int

	Rows int // so many rows at least that nests go through together are enough to share among threads
}

// Alone says that a kernel is work for one thread.
func (n NestLimits) Alone(w Work) bool {
	return n.Flops > 0 && float64(w.Flops)/float64(n.Flops)+float64(w.Bytes)/float64(n.Bytes) < 1
}

// Work is what a kernel does: arithmetic operations, and bytes that must move at least.
type Work struct{ Flops, Bytes int64 }

// WorkOf estimates a Spec.
func WorkOf(s *Spec) (w Work) {
	defer fewLoops(func() { w = Work{1 << 62, 1 << 62} })
	b, p := &builder{kernel: bareKernel(s, nil)}, &Program{}
	b.estimate(p)
	return Work{p.Flops, p.Bytes}
}
