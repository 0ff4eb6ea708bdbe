package fuzz

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
)

// The check of each pass does not take the order of a sum of rounded integers for a defect.
func TestCheckOfRoundedIntegers(t *testing.T) {
	mean, _ := on("MeanKeep", 0, list(1))
	p := &Program{
		Ops:     []Op{{Name: leafOp, Leaf: &Leaf{Type: dtype.I32, Shape: []int{5, 16}, Fill: Counted}}, mean},
		Parts:   [][]int{{1}},
		Options: Options{Check: true},
	}
	what, text, err := worker(t).Program("WASM", p)
	need(t, "WASM", err)
	require.NoError(t, err)
	require.Equal(t, Right, what, text)
}
