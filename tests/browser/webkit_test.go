package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/webkit"
)

// The engine computes in WebKit, with threads and, where an isolated page has no memory to share, without.
func TestWebKit(t *testing.T) {
	for how, o := range map[string]webkit.Options{"shared": {}, "unshared": {Unshared: true}} {
		t.Run(how, func(t *testing.T) {
			p := openInWebKit(t, o)
			var got struct {
				Isolated, Shared bool
				Device           string
				List             [][]float64
				Loss             []float64
			}
			require.NoError(t, p.Run(`
				const w = await weft.open()
				const x = w.tensor([[1, 2], [3, 4]])
				const list = await x.matmul(x).add(1).relu().list()
				await w.seed(1)
				const net = { a: w.nn.linear(8, 64), b: w.nn.linear(64, 1) }
				const opt = await w.optim.adam(net, { rate: 1e-2 })
				const step = w.capture((x, y) => { const loss = net.b.forward(net.a.forward(x).tanh()).sub(y).square().mean(); opt.update(loss); return loss })
				const inputs = w.randn([512, 8]), wanted = inputs.sum({ axis: 1, keep: true }).sin()
				await w.realize(inputs, wanted)
				const loss = []
				for (let i = 0; i < 100; i++) loss.push(await (await step.run(inputs, wanted)).item())
				w.close()
				return { isolated: crossOriginIsolated, shared: typeof SharedArrayBuffer === 'function', device: w.device, list, loss: [loss[0], loss.at(-1)] }`, &got))
			assert.True(t, got.Isolated)
			assert.Equal(t, !o.Unshared, got.Shared)
			assert.Equal(t, "WASM", got.Device)
			assert.Equal(t, [][]float64{{8, 11}, {16, 23}}, got.List)
			require.Len(t, got.Loss, 2)
			assert.Less(t, got.Loss[1], got.Loss[0]/3)
		})
	}
}
