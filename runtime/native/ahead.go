//go:build !wasm

package native

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// aheadText is how many bytes of text are worth a run of the compiler while kernels are still being written: a run costs what fifteen thousand
// bytes of text do. It begins when a processor is free for it, and then with all that waits, up to batchText.
const aheadText = 60_000

// ahead is what the compiler has begun with before a plan is loaded: its kernels are written one after the other, which takes one
// processor about as long as compiling them takes the others.
type ahead struct {
	waiting map[string]*plan.Kernel
	order   []string // of those that wait
	text    int      // bytes of these
	begun   []*batch
	keys    map[string]bool // of those that were begun
}

// batch is a run of the compiler.
type batch struct {
	keys    []string
	of      map[string]*plan.Kernel
	library library
	err     error
	done    chan struct{} // closed when it is over
	cancel  context.CancelFunc
}

// knows says that a kernel is with the compiler, or soon will be.
func (a *ahead) knows(key string) bool { return a.keys[key] || a.waiting[key] != nil }

// Expect gives the function that tells a device of this package of a kernel of a plan that will be loaded soon, so that compiling it
// begins. It ends with its context. What goes wrong is for Load to say.
func Expect(of runtime.Device) func(ctx context.Context, k *plan.Kernel) {
	if d, ok := of.(*Device); ok {
		return d.build.expect
	}
	return nil
}

func (b *builder) expect(ctx context.Context, k *plan.Kernel) {
	select {
	case process.turn <- struct{}{}:
		defer func() { <-process.turn }()
	case <-ctx.Done():
		return
	}
	a, key := &b.ahead, b.key(k)
	if !identifier.MatchString(k.Entry) || process.functions[key] != 0 || a.knows(key) || b.fromDisk(key, k) {
		return
	}
	if a.waiting == nil {
		a.waiting, a.keys = map[string]*plan.Kernel{}, map[string]bool{}
	}
	own := *k
	a.waiting[key] = &own
	a.order = append(a.order, key)
	if a.text += len(k.Source); a.text >= aheadText && a.running() < cap(b.slots) {
		b.begin(ctx)
	}
}

// running counts the batches that are not done.
func (a *ahead) running() (n int) {
	for _, r := range a.begun {
		select {
		case <-r.done:
		default:
			n++
		}
	}
	return n
}

// begin gives the compiler of what waits as much as makes a batch.
func (b *builder) begin(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	a := &b.ahead
	r := &batch{of: map[string]*plan.Kernel{}, done: make(chan struct{}), cancel: cancel}
	a.begun = append(a.begun, r)
	for text := 0; len(a.order) > 0 && text < batchText; a.order = a.order[1:] {
		key := a.order[0]
		text += len(a.waiting[key].Source)
		r.keys, r.of[key], a.keys[key] = append(r.keys, key), a.waiting[key], true
		a.text -= len(a.waiting[key].Source)
		delete(a.waiting, key)
	}
	kept := !b.cache.lost
	go func() {
		defer close(r.done)
		select {
		case b.slots <- struct{}{}:
			defer func() { <-b.slots }()
			r.library, r.err = b.compileBatch(ctx, r.keys, r.of, kept)
		case <-ctx.Done():
			r.err = ctx.Err()
		}
	}()
}

// beginOthers gives the compiler all that waits but for some kernels: it is of plans that will be loaded next.
func (b *builder) beginOthers(ctx context.Context, but map[string]*plan.Kernel) {
	a := &b.ahead
	a.order = slices.DeleteFunc(a.order, func(key string) bool { return but[key] != nil })
	for len(a.order) > 0 {
		b.begin(ctx)
	}
}

// takeAhead gives what was begun; what was not waits no longer.
func (b *builder) takeAhead() []*batch {
	begun := b.ahead.begun
	b.ahead = ahead{}
	return begun
}

// finish waits for a run and loads what it made. The keys of kernels that have to be compiled once more, because something went wrong or
// the run was cancelled with another plan, are given back.
func (b *builder) finish(ctx context.Context, r *batch, p *progress) (again []string) {
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	defer r.cancel()
	p.await(r.done)
	p.done.Add(int32(len(r.keys)))
	if r.err == nil {
		defer r.library.place.Remove()
		r.err = b.loadAll(r.library, r.keys, r.of)
	}
	if r.err == nil {
		return nil
	}
	return slices.DeleteFunc(r.keys, func(key string) bool { return process.functions[key] != 0 })
}

// closeAhead ends what nobody will load.
func (b *builder) closeAhead() {
	for _, r := range b.takeAhead() {
		r.cancel()
		if <-r.done; r.err == nil {
			r.library.place.Remove()
		}
	}
}

// Compiling that takes longer than this is told of, and then again as often.
const (
	tellAfter = 2 * time.Second
	tellAgain = 10 * time.Second
)

// progress tells how far compiling is.
type progress struct {
	log  func(line string)
	all  int
	done atomic.Int32
	next time.Time
}

// progress is of kernels, and of those that the compiler began with before.
func (b *builder) progress(kernels map[string]*plan.Kernel, ahead []*batch) *progress {
	all := len(kernels)
	for _, a := range ahead {
		all += len(a.keys)
	}
	return &progress{log: b.cache.say, all: all, next: time.Now().Add(tellAfter)}
}

// await returns when something is over, and tells of the progress meanwhile.
func (p *progress) await(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Until(p.next)):
			if p.next = time.Now().Add(tellAgain); p.log != nil {
				p.log(fmt.Sprintf("CPU: compiling %d kernels, of which %d are done", p.all, min(int(p.done.Load()), p.all)))
			}
		}
	}
}
