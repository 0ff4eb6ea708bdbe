package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/wasm/wire"
)

func lookAt(t *testing.T, text string) wire.Record {
	t.Helper()
	v, err := inspect(context.Background(), &call{server: newServer(), name: "inspect", args: []any{text}})
	require.NoError(t, err)
	return v.(wire.Record)
}

func TestInspect(t *testing.T) {
	for _, text := range []string{
		"softmax(x[64, 64] @ w[64, 64], -1)", "softmax(randn(64, 64) @ randn(64, 64), -1)", "layernorm(x[32, 512])",
		"mean(relu(x[128, 256] @ w[256, 64] + b[64]), 0)", "x[8].exp().sum({keep: true}) * 2 ** 3 - 1.5e-3", "-x[4] < 2", "1 / x[2, 3].T",
		"grad(sum(tanh(x[4, 8])), x)", "to(x[4]:u8, f32)", "cat([a[2, 3], b[2, 3]], 1)", "arange(10) * 2", "conv2d(x[1, 3, 8, 8], w[4, 3, 3, 3], null, {padding: 1})",
		"x[6].reshape(2, 3).permute(1, 0)",
		"relu(日本[4] @ größe2[4, 2])", "einsum('ij,jk->ik', x[2, 3], y[3, 4])",
	} {
		r := lookAt(t, text)
		require.Nil(t, r.Get("error"), "%s: %v", text, r.Get("error"))
		assert.NotEmpty(t, r.Get("graph"), text)
		kernels := r.Get("kernels").([]any)
		if assert.NotEmpty(t, kernels, text) {
			k := kernels[0].(wire.Record)
			assert.Contains(t, k.Get("source").(wire.Record).Get("wgsl"), "@compute", text)
			assert.Contains(t, k.Get("source").(wire.Record).Get("c"), "int32_t lo", text)
		}
	}
}

func TestInspectSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "the end comes where a tensor, a number or a name belongs (at 1)",
		"relu(x":                            "x has no shape yet; write x[64, 64], say (at 6)",
		"relu(x[4]":                         `the end comes where "," belongs (at 10)`,
		"frobnicate(x[4])":                  "there is no operation frobnicate",
		"x[2, 3] @ w[4, 5]":                 "matmul: [2, 3] and [4, 5]: inner sizes 3 and 4 differ",
		"x[4] $ 2":                          `"$" means nothing here (at 6)`,
		"3 + 4":                             "this is the number 7",
		"x[4] + x[5]":                       "x has the shape [4]",
		"sum(x[4], {axes: 0})":              `no option "axes"`,
		"x[4] x":                            `"x" is one too many (at 6)`,
		"x[99999, 99999, 99999, 9]":         "the shape [99999, 99999, 99999, 9] is too large to look at",
		"x[30000, 30000] @ w[30000, 30000]": "wgsl: an array (900000000 × f32, an input) of 3600000000 bytes is larger",
		"x[2]:f64 * 2":                      "wgsl: no mul of f64",
		"grad(x[3], x)":                     "grad: [3]: 3 elements, not one; make it one number first",
		"x[4] € 2":                          `"€" means nothing here (at 6)`,
		"x[-1]":                             "the shape [-1] has a negative size",
		"einsum(\"ij,jk":                    "the text that begins here has no end (at 8)",
		strings.Repeat("(", 400):            "more than 100 brackets and signs within each other; take fewer (at 101)",
		strings.Repeat("-", 400):            "more than 100 brackets and signs",
		"x[2]" + strings.Repeat("+1", 3000): "an expression may have 500 parts, and this one has 6004; take a smaller one",
	} {
		said := lookAt(t, text).Get("error")
		assert.Contains(t, said, want, text)
		assert.NotContains(t, said, "LOOK")
	}
}
