//go:build linux

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
	Arrays  float64 // bytes of arrays of the device
	Tensors float64
	Loss    float64
	Page    int64 `json:"-"` // resident bytes of the browser's processes for pages, memories of WebAssembly among them
}

// Training a transformer in a page takes no more memory after many steps than after half of them, captured or built anew for each step: not
// of the device, not of the engine, not of the page. It is the network of the test in package tests/memory.
func TestStepsStayFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for half a minute")
	}
	steps := 200
	if text := os.Getenv(stepsEnv); text != "" {
		var err error
		steps, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	for how, n := range map[string]int{"captured": steps, "uncaptured": steps / 5, "updated": steps / 5} {
		t.Run(how, func(t *testing.T) {
			p := open(t)
			require.NoError(t, p.Run(fmt.Sprintf(`
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
			const updated = async () => { // and never realized
				const loss = lossOf(x, y)
				opt.update(loss)
				return loss.item()
			}
			const one = { captured, uncaptured, updated }['%s']
			globalThis.steps = async (n) => {
				let Loss
				for (let i = 0; i < n; i++) Loss = await one()
				return { Loss }
			}
			globalThis.held = async () => {
				await new Promise((then) => setTimeout(then, 200)) // what was collected is told to the engine
				const s = await w.stats()
				return { Arrays: s.liveBytes, Tensors: s.tensors }
			}`, how), nil))
			look := func(n int) (s sampled) {
				require.NoError(t, p.Run(fmt.Sprintf("return steps(%d)", n), &s))
				require.NoError(t, p.Call("HeapProfiler.collectGarbage", nil, nil))
				require.NoError(t, p.Run("return held()", &s))
				var err error
				s.Page, err = p.Resident()
				require.NoError(t, err)
				return s
			}
			begun, first, last := look(1), look(n/2-1), look(n-n/2)
			t.Logf("%d steps: the page has %d MB, then %d; arrays %.0f kB, then %.0f; %.0f tensors, then %.0f; loss %.3f, then %.3f",
				n, first.Page>>20, last.Page>>20, first.Arrays/1e3, last.Arrays/1e3, first.Tensors, last.Tensors, begun.Loss, last.Loss)
			assert.Less(t, last.Loss, begun.Loss, "it trains")
			waiting := 64 << 10 // results that no collection has met yet
			if how == "updated" {
				waiting = 64 << 20 // old elements, which are worth a collection when they are so many
			}
			assert.InDelta(t, first.Arrays, last.Arrays, float64(waiting), "arrays that live")
			assert.InDelta(t, first.Tensors, last.Tensors, 64, "tensors that the page holds")
			assert.LessOrEqual(t, last.Page, first.Page+first.Page/4+16<<20, "the page")
		})
	}
}
