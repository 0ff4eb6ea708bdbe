package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A captured function that trains goes through a file into another engine of the page and goes on where it stood, on either device; what is no such file is
// refused in words.
func TestCapturedFunctionsInFiles(t *testing.T) {
	p := open(t)
	for _, device := range []string{"wasm", "webgpu"} {
		var got struct {
			Want, Got   []float64
			Names       []string
			Place       []int
			Both        []float64
			Form        map[string][]float64
			Wrong       []string
			Size, Again int
		}
		require.NoError(t, p.Run(`
		const w = await weft.open({device: '`+device+`', whole: true})
		await w.seed(3)
		const a = w.randn([3, 2]).own(), x = w.tensor([[1, 2, 3]]), y = w.tensor([[1, -1]])
		await w.realize(a)
		const step = w.capture((x, y) => {
			const loss = x.matmul(a).mse(y)
			const [g] = loss.grad([a])
			a.assign(a.sub(g.mul(0.01)))
			return loss
		})
		const look = w.capture((x) => ({ out: x.matmul(a), deep: [x.sum()] }))
		for (let i = 0; i < 3; i++) { await step.run(x, y); await look.run(x) }
		const bytes = await step.save(), both = await w.saveFunctions({ step, look })
		const want = []
		for (let i = 0; i < 4; i++) want.push(await (await step.run(x, y)).item())

		const v = await weft.open({device: '`+device+`', whole: true})
		const on = (t) => v.tensor(t)
		const again = await v.loadCaptured(new Blob([bytes]))
		const got = []
		for (let i = 0; i < 4; i++) got.push(await (await again.run(on([[1, 2, 3]]), on([[1, -1]]))).item())
		const all = await v.loadFunctions(new Response(both))
		const Both = []
		for (let i = 0; i < 2; i++) Both.push(await (await all.step.run(on([[1, 2, 3]]), on([[1, -1]]))).item())
		const form = await all.look.run(on([[1, 2, 3]]))
		const wanted = (await v.tensor([[1, 2, 3]]).matmul(all.step.states[0]).list())[0]
		const Form = { out: (await form.out.list())[0], wanted, deep: [await form.deep[0].item()] }
		const wrong = []
		const tries = [() => v.loadCaptured(both), () => v.loadCaptured(bytes.slice(0, 100)), () => v.loadCaptured(new Blob([])), () => v.loadFunctions('data:text/plain,hello'),
			() => w.capture((x) => x).save(), () => v.saveFunctions({ step }), () => w.saveFunctions({}), () => w.saveFunctions({ step: 1 }), () => v.loadCaptured(5), async () => { const small = await weft.open({device: 'wasm'}); try { await small.loadCaptured(bytes) } finally { small.close() } }]
		for (const f of tries) { try { await f(); wrong.push('nothing was thrown') } catch (e) { wrong.push(e.message) } }
		const size = bytes.length, twice = (await again.save()).length
		w.close(); v.close()
		return { Want: want, Got: got, Both, Form, Names: Object.keys(all), Place: again.inputs[0].shape, Wrong: wrong, Size: size, Again: twice }`, &got))
		assert.Equal(t, got.Want, got.Got, device)
		assert.Equal(t, got.Want[:2], got.Both, device)
		assert.ElementsMatch(t, []string{"step", "look"}, got.Names)
		assert.Equal(t, []int{1, 3}, got.Place)
		require.Len(t, got.Form["out"], 2)
		assert.InDeltaSlice(t, got.Form["wanted"], got.Form["out"], 1e-5)
		assert.Equal(t, []float64{6}, got.Form["deep"])
		assert.Equal(t, got.Size, got.Again)
		for i, want := range []string{"loadFunctions", "", "", "", "has not run", "another engine", "no function", "no captured function", "from", "open({ whole: true })"} {
			assert.Contains(t, got.Wrong[i], want)
			assert.NotContains(t, got.Wrong[i], "nothing was thrown")
			assert.NotRegexp(t, `Captured\.|SaveFunctions|LoadFunctions|undefined|tensor:`, got.Wrong[i])
		}
		t.Log(got.Wrong)
	}
}
