package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// losable opens engines whose worker can be told to lose its device.
const losable = `
	let worker
	const Plain = Worker
	globalThis.Worker = class extends Plain { constructor(...args) { super(...args); worker = this } }
	const heard = []
	const opened = async (options) => {
		const w = await weft.open({device: 'webgpu', ...options})
		w.onlost = (e) => heard.push(e.message)
		w.onrecovered = (news) => heard.push(news)
		return w
	}
	const lose = async (wait) => {
		worker.postMessage({lose: true})
		if (wait) await new Promise((done) => setTimeout(done, wait))
	}`

// A tab whose device is lost, noticed or not, goes on computing: captured steps, states and results that nobody has read.
func TestLostDevice(t *testing.T) {
	p := open(t)
	var got struct {
		Whole, Broken []float64
		Heard         []any
	}
	require.NoError(t, p.Run(losable+`
		const train = async (losses) => {
			const w = await opened()
			await w.seed(1)
			const x = w.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]), y = w.tensor([[0], [1], [1], [0]])
			const ps = [w.randn([2, 8]), w.zeros([8]), w.randn([8, 1]), w.zeros([1])].map((p) => p.own())
			const [w1, b1, w2, b2] = ps
			await w.realize(...ps)
			const first = await w1.mul(2).realize()
			const step = w.capture((x, y) => {
				const loss = x.matmul(w1).add(b1).tanh().dropout(0.1).matmul(w2).add(b2).mse(y)
				const gs = loss.grad(ps)
				ps.forEach((p, i) => p.assign(p.sub(gs[i].mul(0.3))))
				return loss
			})
			const out = []
			let last
			for (let i = 0; i < 24; i++) {
				if (losses && i === 5) await lose(200)
				if (losses && i === 12) lose(0)
				last = await step.run(x, y)
				if (i % 4 === 3) out.push(await last.item())
			}
			if (losses) await lose(200)
			for (const x of [...ps, first, last]) out.push(...await x.data())
			w.close()
			return out
		}
		const whole = await train(false)
		if (heard.length) throw new Error(heard.join())
		return {whole, broken: await train(true), heard}`, &got))
	assert.Equal(t, got.Whole, got.Broken)
	texts, news := 0, 0
	for _, h := range got.Heard {
		if _, ok := h.(string); ok {
			texts++
		} else {
			news++
		}
	}
	assert.Equal(t, []int{3, 3}, []int{texts, news}, "losses and recoveries: %v", got.Heard)
	t.Log(got.Heard)
}

// A device may be lost while the next one is being opened; then there is nothing to lose yet. What is asked for meanwhile is
// answered or an error, and what is asked for afterwards is answered.
func TestLostWhileOpening(t *testing.T) {
	p := open(t)
	var got struct {
		After  []float64
		Losses int
	}
	require.NoError(t, p.Run(losable+`
		const w = await opened()
		const x = w.tensor([1, 2, 3]).own()
		for (let i = 0; i < 20; i++) {
			lose(0)
			const meanwhile = x.mul(2).list().catch((e) => e)
			for (let j = 0; j < 5; j++) await lose(1)
			await meanwhile
		}
		await lose(200)
		const after = await x.mul(2).list()
		w.close()
		return {after, losses: heard.length}`, &got))
	assert.Equal(t, []float64{2, 4, 6}, got.After)
	assert.Positive(t, got.Losses)
}
