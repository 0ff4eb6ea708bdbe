package engine

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync/atomic"

	"github.com/weft-ml/weft/uop"
)

// recording collects what a captured function realizes instead of computing it.
//
// Calls belong to a recording if they are made by the function that is recorded, directly or by what it calls. Neither
// their arguments tell that (a counter is assigned without any input) nor the time (other goroutines use the device
// meanwhile), but the stack does: it is looked at while a function is being recorded, and never else.
type recording struct {
	engine *Engine
	nodes  []*uop.UOp
	seen   map[*uop.UOp]bool
	stand  map[*storage]bool // the memory of stand-ins for inputs
	was    map[*storage]int  // versions, before, of what was assigned by others meanwhile
	renew  []Renewal

	brought map[*uop.UOp]*uop.UOp // nodes that bring values from other devices, and what stands for these; see legs
}

var errReadInCapture = errors.New("a value is read inside Capture; return the tensor from the captured function and read it after Run")

// recorder has one function recorded at a time, in the order in which goroutines asked.
var recorder struct {
	turn  turns
	now   atomic.Pointer[recording]
	entry atomic.Uintptr // of callRecorded
}

// Recording reports whether the caller is called by a function that is being captured.
func Recording() bool { return recorder.now.Load() != nil && recorded() }

// recording is the one that the caller belongs to, or nil.
func (e *Engine) recording() *recording {
	if r := recorder.now.Load(); r != nil && r.engine == e && recorded() {
		return r
	}
	return nil
}

// record calls f in its turn.
func (r *recording) record(ctx context.Context, f func() ([]*uop.UOp, error)) ([]*uop.UOp, error) {
	if err := recorder.turn.LockFor(ctx); err != nil {
		return nil, err
	}
	defer recorder.turn.Unlock()
	recorder.now.Store(r)
	defer recorder.now.Store(nil) // also when f panics
	return callRecorded(f)
}

// callRecorded is what recorded looks for on the stack.
//
//go:noinline
func callRecorded(f func() ([]*uop.UOp, error)) (outs []*uop.UOp, err error) {
	var here [1]uintptr
	goruntime.Callers(1, here[:])
	recorder.entry.Store(entry(here[0]))
	if !recorded() {
		panic("BUG: a function that is being captured cannot find itself on the stack")
	}
	outs, err = f()
	return outs, err // after the call, so that this is no tail call
}

// entry is where the function begins that returns to pc. It tells functions apart where the packed engine of pages has no names.
func entry(pc uintptr) uintptr {
	if f := goruntime.FuncForPC(pc - 1); f != nil {
		return f.Entry()
	}
	return 0
}

// recorded reports whether callRecorded is on the stack.
func recorded() bool {
	var pcs [64]uintptr
	wanted := recorder.entry.Load()
	for skip := 2; ; skip += len(pcs) {
		n := goruntime.Callers(skip, pcs[:])
		for _, pc := range pcs[:n] {
			if wanted != 0 && entry(pc) == wanted {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

func (r *recording) add(n *uop.UOp) {
	if !r.seen[n] {
		r.seen[n] = true
		r.nodes = append(r.nodes, n)
	}
}

// knows reports whether an array had a version at some time during the recording. What others assign meanwhile makes
// nothing stale: a captured function reads arrays as they are when it runs.
func (r *recording) knows(s *storage, version int) bool {
	if r == nil {
		return false
	}
	was, ok := r.was[s]
	return ok && was <= version && version <= s.current()
}
