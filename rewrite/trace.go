package rewrite

import "github.com/weft-ml/weft/uop"

// Event is one rewrite: before, after, why.
type Event struct {
	Rule          *Rule
	Before, After *uop.UOp
}

type traceKey struct{}

// Trace reports every rewrite in arena t to f, until called with nil.
func Trace(t *uop.Table, f func(Event)) {
	if !t.IsArena() {
		panic("BUG: only the rewrites of an arena can be traced")
	}
	*t.Local(traceKey{}, newTracer).(*func(Event)) = f
}

// Also reports every rewrite in arena t to f as well, until what it gives is called.
func Also(t *uop.Table, f func(Event)) (stop func()) {
	before := tracer(t)
	Trace(t, func(e Event) {
		if before != nil {
			before(e)
		}
		f(e)
	})
	return func() { Trace(t, before) }
}

func newTracer() any { return new(func(Event)) }

func tracer(t *uop.Table) func(Event) {
	if !t.IsArena() {
		return nil
	}
	return *t.Local(traceKey{}, newTracer).(*func(Event))
}
