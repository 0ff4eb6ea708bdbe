package engine

import (
	"context"
	"sync"
)

// turns is a lock that goes to those who wait for it in the order in which they came. A sync.Mutex may be taken again and
// again by whoever runs while others wait: among many clients of one device some would be served late.
type turns struct {
	mu    sync.Mutex
	taken bool
	queue []chan struct{} // of those who wait; closed when it is their turn
}

// Lock waits for its turn.
func (t *turns) Lock() { t.LockFor(context.Background()) }

// LockFor waits for its turn, or until ctx ends: then the error is that of ctx, and there is nothing to unlock.
func (t *turns) LockFor(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.queue = append(t.queue, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, c := range t.queue {
		if c == mine {
			t.queue = append(t.queue[:i], t.queue[i+1:]...)
			return ctx.Err()
		}
	}
	t.pass() // it came at the same moment
	return ctx.Err()
}

// TryLock takes the turn if nobody has it.
func (t *turns) TryLock() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken {
		return false
	}
	t.taken = true
	return true
}

// Unlock gives the turn to the next.
func (t *turns) Unlock() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.taken {
		panic("BUG: a turn is given back that nobody has")
	}
	t.pass()
}

func (t *turns) pass() {
	if len(t.queue) == 0 {
		t.taken = false
		return
	}
	close(t.queue[0])
	t.queue = t.queue[1:]
}
