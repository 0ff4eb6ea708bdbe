package browser_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Large results go past the engine's bytes to the page; also such as do not fill whole words, and several under way.
func TestLargeResults(t *testing.T) {
	p := open(t)
	for _, device := range []string{"wasm", "webgpu"} {
		var got struct {
			First, Second, Wrong int
			Type                 string
			Truth                int
		}
		require.NoError(t, p.Run(fmt.Sprintf(`
			const w = await weft.open({device: %q})
			const x = w.arange(30001)
			const [a, b, truth] = await Promise.all([x.add(1).data(), x.mul(2).data(), x.lt(20000).data()])
			const small = await w.arange(5).data(), bits = await w.arange(5).lt(3).data()
			let wrong = small.length - 5 + bits.reduce((a, b) => a + b) - 3
			for (let i = 0; i < a.length; i++) if (a[i] !== i + 1 || b[i] !== 2 * i || truth[i] !== Number(i < 20000)) wrong++
			w.close()
			return {first: a.length, second: b.length, wrong, type: a.constructor.name, truth: truth.length}`, device), &got))
		assert.Equal(t, 30001, got.First, device)
		assert.Equal(t, 30001, got.Second, device)
		assert.Equal(t, 30001, got.Truth, device)
		assert.Zero(t, got.Wrong, device)
		assert.Equal(t, "Int32Array", got.Type, device)
	}
}
