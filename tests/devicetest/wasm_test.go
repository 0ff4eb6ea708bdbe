package devicetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
)

// A part: TestCPU runs all cases through the same passes.
func TestWASM(t *testing.T) { RunPart(t, "WASM", 6) }

// What a page with threads runs are the kernels of a page without: pages therefore try all cases once.
func TestPlansKnowNoThreads(t *testing.T) {
	one, err := engine.Open("WASM", engine.Options{Threads: 1})
	need.Device(t, "WASM", err)
	two, err := engine.Open("WASM", engine.Options{Threads: 2})
	need.Device(t, "WASM", err)
	for _, g := range groups {
		s := newSuite(1)
		g.cases(s)
		require.Empty(t, unlike(one, two, s.matching("", 24)), g.name)
	}
	require.NoError(t, one.Close())
	require.NoError(t, two.Close())
}
