// Package bounded says whether a parser of outside bytes takes memory for what it was given, not for what the bytes claim. It
// refuses to know what is parsed.
package bounded

import (
	"runtime"
	"testing"
)

// noise is what a test's own surroundings may allocate meanwhile.
const noise = 4 << 20

// Memory fails the test if f allocates more than times bytes for each of n bytes.
func Memory(t testing.TB, n, times int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(n*times+noise) {
		t.Fatalf("%d bytes were allocated for an input of %d", took, n)
	}
}
