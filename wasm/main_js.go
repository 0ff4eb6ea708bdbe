// Command wasm is the engine in a web page: it runs in a worker, takes batches of requests from weft.js and
// answers them. Everything but the two files for js is plain Go and is tested without a browser.
//
// It knows tensors and training; it refuses to know the page.
package main

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"syscall/js"
	"unsafe"

	"github.com/weft-ml/weft/wasm/wire"
)

// take copies the batch that the worker holds to memory.
//
//go:wasmimport weft take
func take(to unsafe.Pointer, n int32)

// next gives the bytes of another batch, which the worker holds then; 0 where there is none. If the engine is idle, it waits a moment for one.
//
//go:wasmimport weft next
func next(idle int32) int32

// entrust tells the worker what it may do by itself during the next call of next: see errands.go.
//
//go:wasmimport weft entrust
func entrust(from unsafe.Pointer, n int32)

// post hands n bytes to the worker, which sends them to the page, with what it keeps under a number if that is not 0.
//
//go:wasmimport weft post
func post(from unsafe.Pointer, n, parcel int32)

// rest has the worker put the functions in place that are not in the first part of the engine. wasm/pack has it called in place of each of them;
// the number is for its own use.
//
//go:wasmimport weft rest
func rest(function int32)

// arrived waits until the rest of the engine is there, so that nothing that follows waits for it all of a sudden.
func arrived(ctx context.Context) error {
	done := make(chan bool, 1)
	f := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- args[0].Bool()
		return nil
	})
	js.Global().Get("weft").Call("ahead", f)
	select {
	case there := <-done:
		f.Release()
		if !there {
			return errors.New("weft: rest.wasm cannot be loaded")
		}
		rest(0)
		return nil
	case <-ctx.Done():
		return ctx.Err() // what is called later is told that nobody hears it
	}
}

func init() { ahead = arrived }

// The kinds of messages to the page.
const (
	answered = iota
	failed
	progressed
)

func main() {
	more := make(chan struct{}, 1)
	s, out := newServer(), &outbox{}
	s.send = func(number int, value any, err error) {
		if err != nil {
			out.give(failed, number, describeError(err))
			return
		}
		out.give(answered, number, value)
	}
	s.flush = func() { out.post(0) }
	s.progress = func(number int, value any) {
		out.give(progressed, number, value)
		s.flush()
	}
	arrived := js.FuncOf(func(js.Value, []js.Value) any {
		select {
		case more <- struct{}{}: // a callback from JavaScript must not wait
		default:
		}
		return nil
	})
	whole := false // the second part of the engine is there
	collect := js.FuncOf(func(js.Value, []js.Value) any {
		whole = true
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
		return nil
	})
	js.Global().Get("weft").Call("started", arrived, collect)
	worker := &entruster{server: s}
	for range more {
		for n := next(s.idle()); n != 0; n = next(s.idle()) {
			batch := make([]byte, n)
			take(unsafe.Pointer(unsafe.SliceData(batch)), n)
			s.handle(context.Background(), batch)
			if whole && s.idle() != 0 {
				worker.entrust()
			}
		}
	}
}

// entrust says what the worker may do while the engine is idle.
func (s *entruster) entrust() {
	if b := s.errands(); b != nil {
		entrust(unsafe.Pointer(unsafe.SliceData(b)), int32(len(b)))
	}
}

// idle is 1 where nothing is under way that the worker's loop of events has to go on for: no long call, and no device that answers there.
func (s *server) idle() int32 {
	if s.engine != nil && s.engine.Name() == "WASM" && s.load.under.Load() == 0 {
		return 1
	}
	return 0
}

// outbox collects answers, each [kind, number, value], until they are posted.
type outbox struct{ bytes []byte }

func (o *outbox) give(kind, number int, value any) {
	o.bytes = wire.Append(o.bytes, []any{kind, number, value})
	switch v := value.(type) {
	case wire.Record:
		o.send(v.Get("data"))
	case []any:
		for _, x := range v {
			o.send(x)
		}
	}
}

// send posts what was collected, with v, if that is a parcel.
func (o *outbox) send(v any) {
	if p, ok := v.(wire.Parcel); ok {
		o.post(p.Number)
	}
}

// post posts what was collected, with a parcel if its number is not 0.
func (o *outbox) post(parcel int32) {
	if len(o.bytes) > 0 {
		post(unsafe.Pointer(unsafe.SliceData(o.bytes)), int32(len(o.bytes)), parcel)
	}
	if o.bytes = o.bytes[:0]; cap(o.bytes) > 1<<16 {
		o.bytes = nil
	}
}
