package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/wasm/wire"
)

// Which device is faster is measured when the page leaves the engine in peace, or when it has had it work for long: measuring takes most
// of a second, and nobody should wait for that who wants a first result. Then the engine goes on with the faster one, with all that it holds.

const (
	pulse = 50 * time.Millisecond  // between two looks at whether it is time
	peace = 300 * time.Millisecond // without a request
	long  = time.Second            // of work
)

const unmeasured = "WASM is used at first; other devices are measured when the page is idle, or when work takes long"

// ahead waits until all of the engine is there, where it comes in parts. Outside of pages it does.
var ahead = func(context.Context) error { return nil }

// load is how much a server has had to do.
type load struct {
	requests  int           // batches that came
	under     atomic.Int32  // long calls under way
	worked    time.Duration // in batches
	measuring context.CancelFunc
}

// begin notes that a batch is being handled, which ends a measurement that was begun in peace, and gives what notes its end.
func (l *load) begin() (end func()) {
	l.requests++
	if l.measuring != nil {
		l.measuring()
	}
	start := time.Now()
	return func() { l.worked += time.Since(start) }
}

// chooseLater measures devices when it is time, has the engine go on with the fastest, and tells the page.
func (s *server) chooseLater(ctx context.Context, e *engine.Engine, kept *choices) {
	seen, quiet, last := 0, time.Duration(0), time.Now()
	for {
		time.Sleep(pulse)
		since := time.Since(last)
		last = last.Add(since)
		if s.load.under.Load() > 0 {
			s.load.worked += since
		}
		if quiet += since; seen != s.load.requests || s.load.under.Load() > 0 {
			seen, quiet = s.load.requests, 0
		}
		var err error
		switch {
		case s.load.worked >= long:
			if err = ahead(ctx); err == nil { // others have their turns while it waits
				s.turn.Lock()
				err = s.choose(ctx, e, kept)
				s.turn.Unlock()
			}
		case quiet >= peace:
			during, end := context.WithCancel(ctx)
			s.load.measuring = end
			if err = ahead(during); err == nil {
				err = s.choose(during, e, kept)
			}
			s.load.measuring = nil
			end()
		default:
			continue
		}
		if !errors.Is(err, context.Canceled) && !errors.Is(err, engine.ErrBusy) {
			return
		}
		quiet, last = 0, time.Now()
	}
}

func (s *server) choose(ctx context.Context, e *engine.Engine, kept *choices) error {
	before := e.Name()
	choice, err := e.Choose(ctx)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, engine.ErrBusy):
	case err != nil:
		s.chosen(e, e.Name()+" goes on: "+err.Error(), false, kept.text)
	default:
		s.chosen(e, choice.String(), e.Name() != before, kept.text)
	}
	return err
}

// chosen tells the page which device the engine goes on with, and why. Its number 0 is nobody's call.
func (s *server) chosen(e *engine.Engine, why string, moved bool, kept string) {
	s.progress(0, wire.Record{
		{Name: "device", Value: e.Name()}, {Name: "detail", Value: e.Info().Detail}, {Name: "note", Value: why}, {Name: "moved", Value: moved},
		{Name: "choices", Value: kept},
	})
}

// returned tells the page that the engine is back on the device that it began on.
func (s *server) returned(why error, kept string) {
	s.chosen(s.engine, s.engine.Name()+" goes on, as the faster device cannot do what was asked for: "+why.Error(), true, kept)
}
