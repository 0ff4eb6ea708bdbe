package browser_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A network that is trained on two devices of a page, each with half of the batch, has the losses of one device; so it has captured, and with the
// parts of the weights on both.
func TestTrainingOverDevices(t *testing.T) {
	p := open(t)
	for _, kind := range []string{"wasm", "webgpu"} {
		t.Run(kind, func(t *testing.T) {
			var got struct {
				One, Two, Captured []float64
				Devices            []string
				Cut, Weights       *int
			}
			require.NoError(t, p.Run(`
			const kind = '`+kind+`'
			const w = await weft.open({ device: kind, whole: true })
			const devices = [kind + ':0', kind + ':1']
			await w.seed(3)
			const batch = 16
			const xs = await w.randn([batch, 12]).realize(), ys = await w.randint([batch], 0, 5).realize()
			const first = [[24, 12], [24], [5, 24], [5]].map((shape) => w.randn(shape).mul(0.2))
			await w.realize(...first)
			const train = async (place, cut, how) => {
				const net = first.map((t) => place(t.clone()).own())
				const [x, y] = [cut(xs), cut(ys)]
				const opt = await w.optim.adam(net, { rate: 0.01 })
				const lossOf = (x, y) => x.linear(net[0], net[1]).relu().linear(net[2], net[3]).crossEntropy(y)
				const losses = []
				const step = w.capture((x, y) => { const loss = lossOf(x, y); opt.update(loss); return loss })
				for (let i = 0; i < 12; i++) {
					if (how === 'captured') losses.push(await (await step.run(x, y)).item())
					else {
						const loss = lossOf(x, y)
						await opt.step(loss)
						losses.push(await loss.item())
					}
				}
				return { losses, x, net }
			}
			const one = await train((t) => t, (t) => t)
			const two = await train((t) => t.shard(devices), (t) => t.shard(devices, 0))
			const captured = await train((t) => t.shard(devices), (t) => t.shard(devices, 0), 'captured')
			const out = { one: one.losses, two: two.losses, captured: captured.losses, devices: await two.x.devices(), cut: await two.x.cutAxis(), weights: await two.net[0].cutAxis() }
			w.close()
			return out`, &got))
			require.Len(t, got.One, 12)
			assert.Less(t, got.One[11], got.One[0]-0.2, "it trains")
			assert.InDeltaSlice(t, got.One, got.Two, 1e-5)
			assert.InDeltaSlice(t, got.One, got.Captured, 1e-5)
			name := map[string]string{"wasm": "WASM", "webgpu": "WEBGPU"}[kind]
			assert.Equal(t, []string{name + ":0", name + ":1"}, got.Devices)
			require.NotNil(t, got.Cut)
			assert.Equal(t, 0, *got.Cut)
			assert.Nil(t, got.Weights, "each has all of them")
		})
	}
}

// Tensors lie on devices, go from one to another, and are cut over several; what cannot be is an error in words.
func TestDevicesOfAPage(t *testing.T) {
	p := open(t)
	var got map[string]any
	require.NoError(t, p.Run(`
		const w = await weft.open({ device: 'wasm', whole: true })
		const out = { wrong: [] }
		const devices = ['wasm:0', 'wasm:1']
		const x = w.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
		out.one = [await x.devices(), await x.cutAxis()]
		const cut = x.shard(devices, -1)
		out.cut = [await cut.devices(), await cut.cutAxis(), cut.shape, await cut.sum(1).list(), await cut.matmul(cut.t()).list()]
		const like = x.mul(2).shardLike(cut)
		out.like = [await like.cutAxis(), await like.add(cut).list()]
		const own = x.clone().own()
		own.shardTo(devices, 0)
		out.own = [await own.cutAxis(), await own.list()]
		const [g] = cut.square().sum().grad([x])
		out.gradient = await g.list()
		const there = x.on('wasm:1')
		out.there = [await there.devices(), await there.mul(3).on('wasm').add(x).list()]
		const moved = x.clone().own()
		moved.moveTo('wasm:1')
		out.moved = [await moved.devices(), await moved.list()]
		const across = w.capture((x) => [x.on('wasm:1').mul(2).on('wasm').add(x), x.shard(devices, 1).sum(1).on('wasm')])
		out.across = [await Promise.all((await across.run(x)).map((t) => t.list())), await Promise.all((await across.run(x.mul(10))).map((t) => t.list()))]
		const large = w.arange(40000).to('f32').shard(devices, 0)
		out.large = (await large.add(1).data()).reduce((a, b) => a + b, 0)
		for (const f of [
			() => x.shard(devices, 2).list(), () => x.shard(['wasm:0', 'wasm:1', 'wasm:2'], 1).list(), () => x.shard([], 0).list(), () => x.shard(['wasm:0', 'webgpu:1'], 0).list(),
			() => x.shard(['wasm:0', 'gpu:1'], 0).list(), () => x.shard(['wasm:0', 'wasm:0'], 0).list(), () => x.shard('wasm', 0), () => x.shard([1, 2], 0), () => x.on('cuda').list(),
			() => x.add(there).list(), async () => { const v = await weft.open({ device: 'wasm' }); try { return await v.ones([2]).shard(devices, 0).list() } finally { v.close() } },
			async () => { const v = await weft.open({ device: 'wasm' }); try { return await (await v.capture((x) => x.on('wasm:1').add(1).on('wasm')).run(v.ones([2]))).list() } finally { v.close() } }, () => cut.flip(1).cumSum(1).at(null, 1).list(),
			() => cut.sort(1)[0].list(),
		]) try { out.wrong.push(await f() ?? 'nothing') } catch (e) { out.wrong.push(e.message) }
		w.close()
		return out`, &got))
	ab := []any{"WASM:0", "WASM:1"}
	rows := func(v ...float64) (out []any) {
		half := len(v) / 2
		for _, part := range [][]float64{v[:half], v[half:]} {
			var row []any
			for _, x := range part {
				row = append(row, x)
			}
			out = append(out, row)
		}
		return out
	}
	assert.Equal(t, []any{[]any{"WASM"}, nil}, got["one"])
	assert.Equal(t, []any{ab, 1., []any{2., 4.}, []any{10., 26.}, rows(30, 70, 70, 174)}, got["cut"])
	assert.Equal(t, []any{1., rows(3, 6, 9, 12, 15, 18, 21, 24)}, got["like"])
	assert.Equal(t, []any{0., rows(1, 2, 3, 4, 5, 6, 7, 8)}, got["own"])
	assert.Equal(t, rows(2, 4, 6, 8, 10, 12, 14, 16), got["gradient"])
	assert.Equal(t, []any{[]any{"WASM:1"}, rows(4, 8, 12, 16, 20, 24, 28, 32)}, got["there"])
	assert.Equal(t, []any{[]any{"WASM:1"}, rows(1, 2, 3, 4, 5, 6, 7, 8)}, got["moved"])
	assert.Equal(t, 40000.*40001/2, got["large"])
	assert.Equal(t, []any{[]any{rows(3, 6, 9, 12, 15, 18, 21, 24), []any{10., 26.}}, []any{rows(30, 60, 90, 120, 150, 180, 210, 240), []any{100., 260.}}}, got["across"])
	assert.Equal(t, []any{
		"shard: [2, 4]: axis 2 is outside rank 2", "shard: [2, 4]: axis 1 has 4 elements, which 3 devices cannot have equal parts of", "shard: no devices are named",
		"shard: WASM and WEBGPU:1 are of different kinds; name devices of one kind, as WEBGPU:0 and WEBGPU:1", `shard: unknown device "gpu:1": there are WASM, WEBGPU`,
		"shard: device WASM is named twice", `shard: devices is the string "wasm"; it must be an array of names`, "shard: devices[0] is the number 1; it must be a string",
		`on: unknown device "cuda": there are WASM, WEBGPU`, "add: tensors on WASM and WASM:1 meet",
		"shard: several devices take the whole engine; open it by open({ whole: true })",
		"capture: the function goes from device to device, which takes the whole engine; open it by open({ whole: true })",
		"list: flip of [2, 4]: axis 1 is cut over WASM:0, WASM:1, and cannot be reversed there; bring the array together before, whole on each device, or cut another axis",
		"list: sort of [2, 4]: axis 1 is cut over WASM:0, WASM:1, and the place of each element depends on all others; bring the array together before, whole on each device, or cut another axis",
	}, got["wrong"])
}

// A kernel that is given as text runs on the graphics processor, and what is the same in operations of tensors elsewhere; gradients come from that, or are
// stated. A text that is wrong is told in its compiler's words.
func TestKernelsAsText(t *testing.T) {
	p := open(t)
	for _, kind := range []string{"webgpu", "wasm"} {
		t.Run(kind, func(t *testing.T) {
			var got map[string]any
			require.NoError(t, p.Run(`
			const w = await weft.open({ device: '`+kind+`' })
			const wgsl = 'fn kernel(group: u32, lane: u32) { let i = group * 4 + lane; if (i < 6) { out0[i] = in0[i] * in0[i] + in1[5 - i]; out1[i] = i32(i); } }'
			const results = [{ shape: [2, 3] }, { shape: [6], dtype: 'i32' }]
			const same = (x, y) => [x.square().add(y.flip([0, 1])), w.arange(6)]
			const x = w.tensor([[1, 2, 3], [4, 5, 6]]), y = w.tensor([[10, 20, 30], [40, 50, 60]])
			const call = (options) => w.customUnsafe('squares', results, [x, y], { wgsl, threads: 2, group: 4, ...options })
			const out = {}
			const [a, b] = call({ same })
			out.form = [a.shape, a.dtype, b.shape, b.dtype]
			out.values = [await a.list(), await b.list()]
			out.gradient = await Promise.all(call({ same })[0].sum().grad([x, y]).map((g) => g.list()))
			const stated = call({ gradient: ([x], [z], [seed]) => [seed.mul(x).mul(-1), null] })[0]
			out.stated = await stated.sum().grad([x, y])[0].list()
			const step = w.capture((x) => w.customUnsafe('squares', results, [x, y], { wgsl, threads: 2, group: 4, same })[0].add(1))
			out.captured = await (await step.run(y)).list()
			out.wrong = []
			for (const f of [
				() => call({}), () => call({ same, threads: 0 }), () => w.customUnsafe('squares', results, [x, y], { threads: 2 }), () => w.customUnsafe('squares', [{ size: 2 }], [x], { wgsl, threads: 2 }),
				() => call({ same: async (x) => [x, x] }), () => call({ same: (x) => [x.sum(), x] }), () => call({ text: wgsl }),
				() => w.customUnsafe('wrong', [{ shape: [2] }], [x], { wgsl: 'fn kernel(group: u32, lane: u32) { out0[0] = nothing; }', threads: 1 }),
			]) try { out.wrong.push((await f()[0].list()).flat().length) } catch (e) { out.wrong.push(e.message) }
			w.close()
			return out`, &got))
			assert.Equal(t, []any{[]any{2., 3.}, "f32", []any{6.}, "i32"}, got["form"])
			assert.Equal(t, []any{[]any{[]any{61., 54., 49.}, []any{46., 45., 46.}}, []any{0., 1., 2., 3., 4., 5.}}, got["values"])
			assert.Equal(t, []any{[]any{[]any{2., 4., 6.}, []any{8., 10., 12.}}, []any{[]any{1., 1., 1.}, []any{1., 1., 1.}}}, got["gradient"])
			assert.Equal(t, []any{[]any{-1., -2., -3.}, []any{-4., -5., -6.}}, got["stated"])
			assert.Equal(t, []any{[]any{161., 451., 941.}, []any{1631., 2521., 3611.}}, got["captured"])
			wrong, _ := got["wrong"].([]any)
			require.Len(t, wrong, 8)
			alone, refused := "list: the kernel squares is text in wgsl, and WASM runs wasm; give it text in that too, or state what is the same in operations of tensors", ""
			if refused = "list: the kernel wrong is text in wgsl"; kind == "webgpu" {
				alone, refused = "6", "list: WEBGPU: kernel own_wrong was refused: line 5: unresolved value 'nothing'"
			}
			assert.Equal(t, alone, fmt.Sprint(wrong[0]))
			assert.Equal(t, []any{
				"customUnsafe: threads is the number 0; it must be an integer from 1 to 2147483647",
				"customUnsafe: the options lack wgsl, the text of the kernel, or threads, how many workgroups run it", `customUnsafe: there is no option "size"; there are shape, dtype`,
				"customUnsafe: the function is async; it only records, so write it without async and await, and read what it returned after it",
				"customUnsafe: result 0 of what is the same is to be f32 [2, 3], as the kernel's", `customUnsafe: there is no option "text"; there are wgsl, threads, group, same, gradient`,
			}, wrong[1:7])
			assert.Contains(t, wrong[7], refused)
		})
	}
}

// backward without tensors finds those that want a gradient, as layers' parameters do.
func TestBackwardFindsTensors(t *testing.T) {
	p := open(t)
	var got map[string]any
	require.NoError(t, p.Run(`
		const w = await weft.open({ device: 'wasm' })
		const out = {}
		const a = w.tensor([1, 2]).own().requireGrad(), b = w.tensor([3, 4]).own().requireGrad(), c = w.tensor([5, 6]).own().requireGrad(), d = w.tensor([7, 8])
		const loss = a.mul(b.detach()).add(w.stack([a, d]).sum(0)).add({}.y ?? c.at(0)).sum()
		c.freeze()
		out.wants = [a.requiresGrad(), c.requiresGrad(), d.requiresGrad(), a.add(1).requiresGrad()]
		loss.backward()
		out.collected = [await a.gradient().list(), b.gradient(), c.gradient(), d.gradient()]
		a.square().backward(null, w.tensor([1, 10]))
		out.again = await a.gradient().list()
		const net = w.nn.linear(2, 1)
		net.forward(w.tensor([[1, 2]])).sum().backward()
		out.layer = [await net.weight.gradient().list(), await net.bias.gradient().list(), w.nn.batchNorm(2).runningMean.requiresGrad(), w.nn.batchNorm(2).weight.requiresGrad()]
		a.assign(a.sub(a.gradient().mul(0.1)))
		a.clearGradient()
		a.sum().backward()
		out.assigned = await a.gradient().list()
		const kind = w.tensor([1, 2]).own().requireGrad()
		kind.sum().backward()
		kind.gradient().dispose()
		out.disposed = [kind.gradient()]
		kind.mul(3).sum().backward()
		out.disposed.push(await kind.gradient().list())
		const e = w.zeros([2]).own()
		e.replace(a.mul(3))
		e.sum().backward()
		out.replaced = await a.gradient().list()
		out.wrong = []
		for (const f of [() => d.sum().backward(), () => w.arange(3).requireGrad(), () => a.sum().backward([])]) try { f(); out.wrong.push('nothing') } catch (e) { out.wrong.push(e.message) }
		// What was computed before an assignment does not depend on what a tensor is now; on others it does.
		const changed = w.tensor([1, 2]).own().requireGrad(), other = w.tensor([3, 4]).own().requireGrad(), kept = w.nn.linear(2, 1)
		const before = [changed.square().sum(), changed.mul(other).sum(), kept.forward(w.ones([1, 2])).sum()]
		changed.setAt(5, 0)
		await w.load(await w.save(kept), kept)
		before[1].backward()
		out.before = [changed.gradient(), await other.gradient().list()]
		changed.mul(other).sum().backward()
		out.after = await changed.gradient().list()
		for (const l of [before[0], before[2]]) try { l.backward(); out.wrong.push('nothing') } catch (e) { out.wrong.push(e.message) }
		const g = w.generator(5)
		const q = w.randn([1, 2, 4, 8])
		const drawn = () => g.attention(q, q, q, { dropout: 0.5 }).list()
		const first = await drawn()
		g.seed(5)
		out.generator = JSON.stringify(first) === JSON.stringify(await drawn())
		w.close()
		return out`, &got))
	const none = "backward: the tensor depends on none that wants a gradient; mark those that do by requireGrad, or name them"
	assert.Equal(t, map[string]any{
		"wants": []any{true, false, false, false}, "collected": []any{[]any{4., 5.}, nil, nil, nil}, "again": []any{6., 45.},
		"layer": []any{[]any{[]any{1., 2.}}, []any{1.}, false, true}, "assigned": []any{1., 1.}, "replaced": []any{4., 4.}, "disposed": []any{nil, []any{3., 3.}},
		"wrong": []any{none, "requireGrad: i32: only floats have a gradient",
			none, none, none},
		"before": []any{nil, []any{1., 2.}}, "after": []any{3., 4.},
		"generator": true,
	}, got)
}
