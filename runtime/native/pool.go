//go:build !wasm

package native

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

const (
	// A worker looks for new work this many times (some 30 µs) before it goes to sleep: waking
	// it costs several µs, and the next kernel is usually close behind.
	spins      = 50_000
	scratchMin = 4096
)

// pool runs one job at a time on the calling goroutine and on workers. A worker that comes
// late, because the system gave it no processor, is not waited for: whoever is there does the
// iterations.
type pool struct {
	workers []*worker
	scratch []*mem // of each thread; 0 is the caller's
	current atomic.Pointer[job]
	spins   int
	wait    sync.WaitGroup
}

type worker struct {
	asleep atomic.Bool
	wake   chan struct{}
}

// job is n iterations of a kernel or, with do, of a Go function.
type job struct {
	kernel, buf, vars uintptr
	scratch           []uintptr // of each thread; nil: the pool's own
	do                func(lo, hi int32)
	n, least          int32 // least: smallest share worth a call
	threads           int32
	stop              bool // the workers end
	next              atomic.Int32
	state             atomic.Int64 // workers inside; closed is added when no more may enter
	left              chan struct{}
}

const closed = 1 << 40

func newPool(threads int) *pool {
	p := &pool{scratch: make([]*mem, threads), workers: make([]*worker, threads-1)}
	if threads <= goruntime.GOMAXPROCS(0) { // else a spinning worker takes a working one's processor
		p.spins = spins
	}
	for i := range p.workers {
		w := &worker{wake: make(chan struct{}, 1)}
		p.workers[i] = w
		p.wait.Go(func() { p.work(w, i+1) })
	}
	return p
}

func (p *pool) threads() int { return len(p.scratch) }

// run does all iterations of j with at most j.threads threads and returns when they are done.
func (p *pool) run(j *job) {
	if j.threads <= 1 || j.n <= 1 {
		p.share(j, 0, 0, j.n)
		return
	}
	j.left = make(chan struct{}, 1)
	p.current.Store(j)
	p.wakeUp(int(j.threads) - 1)
	p.shares(j, 0)
	if j.state.Add(closed) != closed { // somebody is still inside
		for i := 0; i < p.spins && j.state.Load() != closed; i++ {
		}
		<-j.left
	}
}

// wakeUp wakes up to n workers; those who are looking for work need no call.
func (p *pool) wakeUp(n int) {
	for _, w := range p.workers {
		if n <= 0 {
			return
		}
		if w.asleep.Load() && w.asleep.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
		n--
	}
}

func (p *pool) work(w *worker, thread int) {
	var last *job
	for {
		j := p.await(w, last)
		if j.stop {
			return
		}
		last = j
		if j.state.Add(1) < closed {
			p.shares(j, thread)
		}
		if j.state.Add(-1) == closed { // the last one out, and the caller waits
			select {
			case j.left <- struct{}{}:
			default: // it was told: another one came too late and went
			}
		}
	}
}

// await returns the next job after last.
func (p *pool) await(w *worker, last *job) *job {
	for {
		for range p.spins {
			if j := p.current.Load(); j != last {
				return j
			}
		}
		w.asleep.Store(true)
		if j := p.current.Load(); j != last && w.asleep.CompareAndSwap(true, false) {
			return j
		}
		<-w.wake
		if j := p.current.Load(); j != last {
			return j
		}
	}
}

// shares takes shares of j until none is left: half of a fair share of the rest each time, so
// that there are few calls and yet nobody waits long for the last one.
func (p *pool) shares(j *job, thread int) {
	for {
		lo := j.next.Load()
		rest := j.n - lo
		if rest <= 0 {
			return
		}
		hi := lo + min(rest, max(rest/(2*j.threads), j.least))
		if j.next.CompareAndSwap(lo, hi) {
			p.share(j, thread, lo, hi)
		}
	}
}

func (p *pool) share(j *job, thread int, lo, hi int32) {
	if j.do != nil {
		j.do(lo, hi)
		return
	}
	scratch := p.scratch[thread].addr()
	if j.scratch != nil {
		scratch = j.scratch[thread]
	}
	purego.SyscallN(j.kernel, j.buf, j.vars, scratch, uintptr(lo), uintptr(hi))
}

// grow makes every thread's scratch at least n bytes. No job may run.
func (p *pool) grow(m *memory, n int64) error {
	n = max(n, scratchMin)
	for i, s := range p.scratch {
		if s != nil && s.Bytes() >= n {
			continue
		}
		bigger, err := m.alloc(n)
		if err != nil {
			return err
		}
		if s != nil {
			s.Free()
		}
		p.scratch[i] = bigger
	}
	return nil
}

// close ends the workers and frees their scratch.
func (p *pool) close() {
	p.current.Store(&job{stop: true})
	p.wakeUp(len(p.workers))
	p.wait.Wait()
	for i, s := range p.scratch {
		if s != nil {
			s.Free()
			p.scratch[i] = nil
		}
	}
}

func address[T any](s []T) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }
