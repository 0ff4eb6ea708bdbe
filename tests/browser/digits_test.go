package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The network of the training page learns on the graphics processor, and others have their turn meanwhile. Few steps on
// small batches: how far it gets is what the tests of the page show.
func TestDigitsOnWebGPU(t *testing.T) {
	p := open(t)
	var got struct {
		Before, After, Ready, First, Seconds float64
		Losses                               []float64
		Probabilities                        []float64
		Samples                              []struct {
			Label, Guess int
			Sure         float64
			Pixels       map[string]int
		}
		HeldBack int
	}
	require.NoError(t, p.Run(`
		const { digits } = await import('./digits.js')
		const w = await weft.open({device: 'webgpu', whole: true})
		const start = performance.now()
		const d = await digits(w, {channels: [8, 16], data: 'synthetic', batch: 32, seed: 1, rate: 3e-3})
		const ready = performance.now() - start
		const before = await d.evaluate(100)
		const losses = []
		await d.train(1)
		const first = performance.now() - start
		const training = d.train(40, ({loss}) => losses.push(loss))
		const probabilities = await d.predict(new Uint8Array(784))
		await training
		const seconds = (performance.now() - start - first) / 1000
		const after = await d.evaluate(200)
		const samples = await d.samples(5)
		await d.reset()
		const out = {before, after, ready, first, seconds, losses, probabilities: [...probabilities], samples, heldBack: d.heldBack}
		d.dispose()
		w.close()
		return out`, &got))
	t.Logf("ready after %.0f ms, first step after %.0f ms, 40 steps in %.1f s, %.1f %% right", got.Ready, got.First, got.Seconds, got.After)
	assert.Less(t, got.Before, 50.)
	assert.Greater(t, got.After, 70.)
	assert.NotEmpty(t, got.Losses)
	require.Len(t, got.Probabilities, 10)
	sum := 0.
	for _, v := range got.Probabilities {
		sum += v
	}
	assert.InDelta(t, 1, sum, 1e-4)
	assert.Len(t, got.Samples, 5)
	assert.Equal(t, 1000, got.HeldBack)
}
