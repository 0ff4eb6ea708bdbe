package browser_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stepsEnv is how many captured steps TestStepsStayFlat makes in a page; uncaptured it makes a fifth.
const stepsEnv = "WEFT_STEPS"

// sampled is what a page and its engine hold.
type sampled struct {
	Page    float64 // bytes of the page with its workers: heaps of JavaScript and memories of WebAssembly
	Arrays  float64 // bytes of arrays of the device
	Tensors float64
	Loss    float64
}

// Training a transformer in a page takes no more memory after many steps than after half of them, captured or built anew for each step: not
// of the device, not of the engine, not of the page. It is the network of the test in package tests/memory.
func TestStepsStayFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for half a minute")
	}
	steps := 400
	if text := os.Getenv(stepsEnv); text != "" {
		var err error
		steps, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	for how, n := range map[string]int{"captured": steps, "uncaptured": steps / 5} {
		t.Run(how, func(t *testing.T) {
			p := open(t)
			var got []sampled
			require.NoError(t, p.Run(fmt.Sprintf(`
			if (!crossOriginIsolated) throw new Error('the page is not isolated, so nobody measures it')
			const w = await weft.open({ device: 'wasm' })
			const words = 65, size = 32, batch = 2, length = 16
			await w.seed(1)
			const layer = () => w.nn.transformerLayer(size, 2, 2 * size, { batchFirst: true, normFirst: true, activation: 'gelu' })
			const net = { words: w.nn.embedding(words, size), places: w.nn.embedding(length, size), layers: [layer(), layer()], head: w.nn.linear(size, words) }
			const lossOf = (x, y) => {
				let h = net.words.forward(x).add(net.places.weight)
				for (const l of net.layers) h = l.forward(h, { causal: true })
				return net.head.forward(h).reshape([-1, words]).crossEntropy(y.flatten())
			}
			const opt = await w.optim.adam(net)
			const x = w.randint([batch, length], 0, words), y = w.randint([batch, length], 0, words)
			await w.realize(x, y)
			const step = w.capture((x, y) => {
				const loss = lossOf(x, y)
				opt.update(loss)
				return loss
			})
			const captured = async () => {
				const loss = await step.run(x, y)
				const l = await loss.item()
				loss.dispose()
				return l
			}
			const uncaptured = async () => {
				const loss = lossOf(x, y)
				await opt.step(loss)
				return loss.item()
			}
			const one = '%s' === 'captured' ? captured : uncaptured, steps = %d, samples = []
			const look = async (Loss) => {
				const Page = (await performance.measureUserAgentSpecificMemory()).bytes
				const s = await w.stats()
				samples.push({ Page, Arrays: s.liveBytes, Tensors: s.tensors, Loss })
			}
			let loss
			for (let i = 0; i < steps; i++) {
				loss = await one()
				if (i === 0 || i === steps >> 1) await look(loss)
			}
			await look(loss)
			w.close()
			return samples`, how, n), &got))
			require.Len(t, got, 3)
			first, last := got[1], got[2]
			t.Logf("%d steps: the page has %.1f MB, then %.1f; arrays %.0f kB, then %.0f; %.0f tensors, then %.0f; loss %.3f, then %.3f",
				n, first.Page/1e6, last.Page/1e6, first.Arrays/1e3, last.Arrays/1e3, first.Tensors, last.Tensors, got[0].Loss, last.Loss)
			assert.Less(t, last.Loss, got[0].Loss, "it trains")
			assert.InDelta(t, first.Arrays, last.Arrays, 64<<10, "arrays that live: results that no collection has met yet")
			assert.LessOrEqual(t, last.Page, 1.15*first.Page+4e6, "the page")
		})
	}
}
