package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/backends/look"
	"github.com/weft-ml/weft/tests/bounded"
	"github.com/weft-ml/weft/wasm/wire"
)

// Whatever expression comes: tensors or an error, no panic.
func FuzzSpeak(f *testing.F) {
	for _, text := range []string{
		"softmax(x[64, 64] @ w[64, 64], -1)", "relu(x[8, 8]) + 1", "x[2,3]:f16.sum(0, {keep: true})", "einsum(\"ij,jk->ik\", a[2,3], b[3,4])",
		"-(-x[4] ** 2) % 3 <= 1", "conv2d(x[1,3,8,8], w[4,3,3,3], null, {padding: 1})", "[x[2], x]", "((((((1))))))", "x[1e300]", "randn(1e18)",
		"x[-1]", "x[99999999999999999999]", "x[4].reshape(-1, 1)", "'", "x[", "1e", "\xff",
	} {
		f.Add(text)
	}
	e, err := look.Open("c")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 300 {
			return // what an operation makes of large arguments is not the parser's
		}
		roots, err := speak(e, text)
		if err == nil {
			for _, r := range roots {
				require.NotNil(t, r)
			}
		}
	})
}

// Whatever batch comes: requests or an error, no panic, no memory beyond its own.
func FuzzRequests(f *testing.F) {
	f.Add(wire.Append(nil, []any{1., "add", []any{wire.Ref(2)}, wire.Ref(0), wire.Ref(1)}))
	f.Add(wire.Append(wire.Append(nil, []any{1., "open", []any{}, nil}), []any{2., "data", []any{}, wire.Ref(3)}))
	f.Add(wire.Append(nil, []any{"1", 2., nil}))
	f.Fuzz(func(t *testing.T, batch []byte) {
		bounded.Memory(t, len(batch), 256, func() {
			list, err := requests(batch)
			require.True(t, err == nil || len(list) >= 0)
		})
	})
}
