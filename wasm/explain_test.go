//go:build !lean

package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/explain"
	"github.com/weft-ml/weft/wasm/wire"
)

// explainText asks for a chain of an expression.
func explainText(text, chain string) (any, error) {
	return explained(context.Background(), &call{server: newServer(), name: "explain", args: []any{text, wire.Record{{Name: "chain", Value: chain}}}})
}

// The chains of an expression are told as JSON; what there is none of, and what cannot be read, is told in words.
func TestExplain(t *testing.T) {
	const text = "attention(q[2, 4, 64, 32], k[2, 4, 64, 32], v[2, 4, 64, 32])"
	for _, id := range []string{"graph", "kernel 0", "passes 0", "kernel 2", "passes 2"} {
		v, err := explainText(text, id)
		require.NoError(t, err, id)
		var c explain.Chain
		require.NoError(t, json.Unmarshal([]byte(v.(string)), &c), id)
		assert.NotEmpty(t, c.First, id)
		for _, s := range c.Steps {
			assert.NotEmpty(t, s.Law, id)
		}
	}
	for _, id := range []string{"kernel 3", "kernel -1", "nothing", "kernel", "graph 1 2"} {
		_, err := explainText(text, id)
		assert.ErrorContains(t, err, "there are no steps", id)
	}
	v, err := explainText("x[2, 3] @ y[4, 5]", "graph")
	require.NoError(t, err)
	assert.Contains(t, v.(wire.Record).Get("error"), "inner sizes 3 and 4 differ")
}
