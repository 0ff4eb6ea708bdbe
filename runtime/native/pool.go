//go:build !wasm

package native

import (
	_ "embed"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/weft-ml/weft/plan"
)

// How threads share a kernel's iterations is C: a thread of Go that waits or comes back from a kernel asks Go's scheduler for a
// processor, and that starts other threads to look for work, which take the processors from those that compute.
//
//go:embed c/crew.c
var crewSource string

var crewKernel = plan.Kernel{Name: "the threads", Entry: "weft_crew", Source: crewSource}

const (
	// A worker looks out for a job before it goes to sleep: waking it costs several µs, more where Go's scheduler has to find out, and the
	// next kernel is usually close behind. The caller waits for the last worker likewise. For the first while it keeps its processor;
	// then it lets other threads go first.
	keen    = 30 * time.Microsecond
	lookOut = 2 * time.Millisecond

	// Go's monitor takes the processor of a goroutine that was not scheduled for 10 ms, and looks at all of them every 20 µs for a while
	// then. Where threads compute on all processors it interrupts one of them each time. So the caller has itself scheduled before.
	slice = 5 * time.Millisecond

	scratchMin = 4096
)

// job is n iterations of a kernel, or of a copy, as the C text knows it.
type job struct {
	kernel, buf, vars, scratch uintptr // scratch: addresses of each thread's
	n, least, threads          int32   // least: smallest share worth a call
	takes                      int32   // ns, about; 0: not known
	trials, alone              int32   // how many runs are still timed on one thread, and how many ns one may take so that it stays there
}

// crew is what threads share, as the C text knows it.
type crew struct {
	state, _, _, _, _, _, _, _ int64
	parts                      uintptr
	_                          [64 - unsafe.Sizeof(uintptr(0))]byte
	asleep, workers            int64
	keen, patient, slice       int64
	_                          [3]int64
	job                        job
	_                          int64
}

// part is what a thread has to do of a job: a cache line, as the C text knows it.
type part [8]int64

// The state of the crew.
const (
	closedState = 0x10000
	stopState   = 0x40000
	jobNumber   = 32 // the job's number is above this bit
)

// What calls of the crew's function end with, in their low bits.
const (
	done = iota
	wake
	wait
	idle
	last
	stopped
	late
	endBits = 3
)

// pool runs jobs one after the other on the calling goroutine and on workers.
type pool struct {
	function  uintptr // the C text's; 0 until something is loaded
	crew      *crew
	parts     []part
	workers   []*worker
	left      chan struct{} // the last worker has left the job
	scratch   []*mem        // of each thread; 0 is the caller's
	places    []uintptr     // its addresses
	single    [1]job
	kept      []any
	wait      sync.WaitGroup
	scheduled time.Time // the goroutine that calls, by yield
}

type worker struct {
	asleep atomic.Bool
	wake   chan struct{}
}

func newPool(threads int) *pool {
	p := &pool{crew: onLine[crew](1), parts: unsafe.Slice(onLine[part](threads), threads), left: make(chan struct{}, 1), workers: make([]*worker, threads-1), scratch: make([]*mem, threads), places: make([]uintptr, threads)}
	p.crew.workers = int64(threads - 1)
	p.crew.state, p.crew.parts = closedState, address(p.parts)
	p.crew.slice = int64(slice)
	if threads <= goruntime.NumCPU() { // else a worker that looks out takes a working one's processor
		p.crew.keen, p.crew.patient = int64(keen), int64(lookOut)
	}
	return p
}

// onLine are values that begin with a cache line. They point to nothing.
func onLine[T any](n int) *T {
	const line = 64
	var size T
	b := make([]byte, n*int(unsafe.Sizeof(size))+line)
	at := (line - uintptr(unsafe.Pointer(&b[0]))%line) % line
	return (*T)(unsafe.Pointer(&b[at]))
}

// start begins with the workers, which the function is of.
func (p *pool) start(function uintptr) {
	if p.function != 0 {
		return
	}
	p.function = function
	for i := range p.workers {
		w := &worker{wake: make(chan struct{}, 1)}
		p.workers[i] = w
		p.wait.Go(func() { p.work(w, i+1) })
	}
}

func (p *pool) threads() int { return len(p.scratch) }

// one does a job. What it points to is kept where growing stacks and the collector leave it: C sees only numbers.
func (p *pool) one(j job, kept ...any) {
	p.kept, p.single[0] = kept, j
	p.run(p.single[:])
	p.kept = nil
}

// run does the jobs, which lie on the heap like all that they point to, in order and returns when they are done. At most job.threads
// threads are woken for a job.
func (p *pool) run(jobs []job) {
	at, begun := uintptr(0), uintptr(0)
	for {
		r, _, _ := purego.SyscallN(p.function, uintptr(unsafe.Pointer(p.crew)), address(jobs), uintptr(len(jobs)), at, begun)
		at = r >> endBits
		switch r & (1<<endBits - 1) {
		case done:
			p.yield()
			return
		case late:
			begun = 0
			p.yield()
		case wake:
			p.wakeUp(int64(jobs[at].threads) - 1)
			begun = 1
		case wait:
			<-p.left
			at, begun = at+1, 0
		}
	}
}

// yield has the goroutine scheduled anew where that was a slice ago.
func (p *pool) yield() {
	if now := time.Now(); int64(now.Sub(p.scheduled)) >= p.crew.slice {
		goruntime.Gosched()
		p.scheduled = now
	}
}

// wakeUp wakes workers until n are awake.
func (p *pool) wakeUp(n int64) {
	for _, w := range p.workers {
		if p.crew.workers-atomic.LoadInt64(&p.crew.asleep) >= n {
			return
		}
		if w.asleep.CompareAndSwap(true, false) {
			atomic.AddInt64(&p.crew.asleep, -1)
			w.wake <- struct{}{}
		}
	}
}

func (p *pool) work(w *worker, thread int) {
	number := uintptr(0) // of the job that it knows
	for {
		r, _, _ := purego.SyscallN(p.function, uintptr(unsafe.Pointer(p.crew)), 0, uintptr(thread), number)
		number = r >> endBits
		switch r & (1<<endBits - 1) {
		case stopped:
			return
		case last:
			p.left <- struct{}{}
		case idle:
			p.sleep(w, number)
		}
	}
}

// sleep returns when there may be a job with another number.
func (p *pool) sleep(w *worker, number uintptr) {
	atomic.AddInt64(&p.crew.asleep, 1)
	w.asleep.Store(true)
	s := atomic.LoadInt64(&p.crew.state)
	if fresh := uintptr(s>>jobNumber) != number && s&closedState == 0; (fresh || s&stopState != 0) && w.asleep.CompareAndSwap(true, false) {
		atomic.AddInt64(&p.crew.asleep, -1)
		return
	}
	<-w.wake
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
		p.scratch[i], p.places[i] = bigger, bigger.addr()
	}
	return nil
}

// close ends the workers and frees their scratch.
func (p *pool) close() {
	atomic.StoreInt64(&p.crew.state, closedState|stopState)
	if p.function != 0 {
		p.wakeUp(int64(len(p.workers)))
	}
	p.wait.Wait()
	for i, s := range p.scratch {
		if s != nil {
			s.Free()
			p.scratch[i] = nil
		}
	}
}

func address[T any](s []T) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }
