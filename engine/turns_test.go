package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// waiters waits until n wait for their turn.
func waiters(t *testing.T, l *turns, n int) {
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.queue) == n
	}, time.Minute, 100*time.Microsecond)
}

func TestTurnsComeInOrder(t *testing.T) {
	var l turns
	var all sync.WaitGroup
	var order, want []int
	l.Lock()
	for i := range 50 {
		want = append(want, i)
		all.Go(func() {
			l.Lock()
			order = append(order, i)
			l.Unlock()
		})
		waiters(t, &l, i+1)
	}
	l.Unlock()
	all.Wait()
	assert.Equal(t, want, order)
	assert.False(t, l.taken)
}

func TestTurnsGivenUpAreNotLost(t *testing.T) {
	var l turns
	ctx, stop := context.WithCancel(context.Background())
	stop()
	require.ErrorIs(t, l.LockFor(ctx), context.Canceled, "also where nobody holds it")

	l.Lock()
	ctx, stop = context.WithCancel(context.Background())
	var all sync.WaitGroup
	var gave, got error
	all.Go(func() { gave = l.LockFor(ctx) })
	waiters(t, &l, 1)
	all.Go(func() {
		if got = l.LockFor(context.Background()); got == nil {
			l.Unlock()
		}
	})
	waiters(t, &l, 2)
	stop()
	waiters(t, &l, 1)
	l.Unlock()
	all.Wait()
	assert.ErrorIs(t, gave, context.Canceled)
	assert.NoError(t, got)
	assert.False(t, l.taken)

	// Given up and given at the same moment, again and again: it always goes on.
	for range 2000 {
		ctx, stop := context.WithCancel(context.Background())
		l.Lock()
		all.Go(func() {
			if l.LockFor(ctx) == nil {
				l.Unlock()
			}
		})
		all.Go(stop)
		l.Unlock()
		all.Wait()
		require.False(t, l.taken)
	}
	assert.PanicsWithValue(t, "BUG: a turn is given back that nobody has", l.Unlock)
}
