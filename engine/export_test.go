package engine

import "context"

// Bound sets how long the journal may become.
func (e *Engine) Bound(bytes int64, seconds float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.journal.bytes, e.journal.time = bytes, seconds
}

// Checkpoint makes one now.
func (e *Engine) Checkpoint() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.checkpoint(context.Background())
}

// MayWait is how many bytes may be handed out before the next collection.
var MayWait = mayWait

// Waiting is how many arrays of Later are not on the device.
func (e *Engine) Waiting() int64 { return e.waiting.Load() }

// FirstPlays is after how many plays graphs are looked for that are known.
const FirstPlays = firstPlays

// ForgetPlans gives up all plans and families.
func (e *Engine) ForgetPlans() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.plans {
		p.unload()
	}
	clear(e.plans)
	clear(e.families)
}
