package browser_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/webgpu"
	"github.com/weft-ml/weft/runtime/webgpu/page"
)

type launch struct {
	Kernel, Kinds, Directives string
	Seconds, Flops, Bytes     float64
}

// A profile has every launch, with its name and a time, and together they take no longer than all of it.
func TestProfile(t *testing.T) {
	p := open(t)
	for device, clock := range map[string]string{"wasm": "processor", "webgpu": "gpu"} {
		var got struct {
			Product, Run struct {
				Clock    string
				Launches []launch
			}
			Wall              float64
			Counted, Captured int
			Nothing           struct {
				Clock    string
				Launches []launch
			}
			Inside, Broken      string
			Before, After, Once float64
		}
		require.NoError(t, p.Run(fmt.Sprintf(`
			const w = await weft.open({device: %q})
			const x = w.arange(512 * 512).reshape([512, 512]).mod(7).to('f32')
			await x.realize()
			const before = await x.matmul(x).sum().item()
			const f = w.capture((x) => x.matmul(x).add(1).matmul(x))
			await f.run(x)
			const count = (await w.stats()).launches, start = performance.now()
			let once
			const product = await w.profile(async () => { once = await x.matmul(x).add(1).sum().item() - 512 * 512 })
			const wall = (performance.now() - start) / 1000, counted = (await w.stats()).launches - count
			const run = await w.profile(async () => { f.run(x); await f.run(x) })
			const nothing = await w.profile(() => {})
			const caught = async (g) => { try { await g(); return 'no error' } catch (e) { return e.message } }
			let inside
			const broken = await caught(() => w.profile(async () => { inside = await caught(() => w.profile(() => {})); throw new Error('mine') }))
			const after = await x.matmul(x).add(2).sum().item() - 2 * 512 * 512
			w.close()
			return {product, wall, counted, run, captured: f.launches, nothing, inside, broken, before, once, after}`, device), &got))
		assert.Equal(t, clock, got.Product.Clock, device)
		require.NotEmpty(t, got.Product.Launches, device)
		assert.Len(t, got.Product.Launches, got.Counted, device)
		sum, products := 0., 0
		for _, l := range got.Product.Launches {
			assert.Regexp(t, `^[a-z]+(_\d+)*$`, l.Kernel, device)
			assert.Len(t, l.Kinds, strings.Count(l.Kernel, "_"), "%s: %v", device, l)
			assert.GreaterOrEqual(t, l.Seconds, 0., device)
			sum += l.Seconds
			if l.Flops >= 2*512*512*512 {
				products++
				assert.Positive(t, l.Seconds, device)
				assert.GreaterOrEqual(t, l.Bytes, 4.*512*512, device)
			}
		}
		assert.Equal(t, 1, products, "%s: %v", device, got.Product.Launches)
		assert.LessOrEqual(t, sum, got.Wall, device)
		assert.Len(t, got.Run.Launches, 2*got.Captured, device)
		assert.Equal(t, clock, got.Run.Clock, device)
		assert.Equal(t, "none", got.Nothing.Clock, device)
		assert.Empty(t, got.Nothing.Launches, device)
		assert.Equal(t, "mine", got.Broken, device)
		assert.Contains(t, got.Inside, "a profile is being taken already", device)
		assert.InEpsilon(t, got.Before, got.Once, 1e-6, device)
		assert.InEpsilon(t, got.Before, got.After, 1e-6, device)
		t.Logf("%s: %.1f of %.1f ms, %v", device, sum*1e3, got.Wall*1e3, got.Product.Launches)
	}
}

// threefold is a packed plan that multiplies four words by three n times, copies them, and goes on with the copy n times, and
// twice more in a launch of two parts.
func threefold(n int) string {
	p := &plan.Plan{
		Version: plan.Version, Target: webgpu.Target,
		Kernels: []plan.Kernel{{
			Name: "threefold", Entry: "main", Threads: 4, Grid: [3]uint32{1, 1, 1}, Binds: []plan.Bind{{Write: true, Bytes: 16}},
			Source: "@group(0) @binding(0) var<uniform> u: vec4<u32>;\n@group(0) @binding(1) var<storage, read_write> x: array<u32>;\n" +
				"@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) i: vec3<u32>) { x[i.x] = x[i.x] * 3u + u.z; }\n",
		}},
		Memory: []plan.Memory{{Kind: plan.State, Bytes: 16}, {Kind: plan.State, Arg: 1, Bytes: 16}},
		Slots:  []plan.Slot{{Bytes: 16}, {Memory: 1, Bytes: 16}},
	}
	p.Steps = append(p.Steps, slices.Repeat([]plan.Step{{Slots: []int{0}}}, n)...)
	p.Steps = append(p.Steps, plan.Step{Kind: plan.Copy, Slots: []int{1, 0}})
	p.Steps = append(p.Steps, slices.Repeat([]plan.Step{{Slots: []int{1}}}, n)...)
	twice := p.Kernels[0]
	twice.Grid, twice.Parts = [3]uint32{2, 1, 1}, []plan.Part{{Grid: [3]uint32{1, 1, 1}}, {First: 1, Grid: [3]uint32{1, 1, 1}}}
	p.Kernels, p.Steps = append(p.Kernels, twice), append(p.Steps, plan.Step{Kernel: 1, Slots: []int{1}})
	return base64.StdEncoding.EncodeToString(page.Pack(p))
}

// power multiplies x by three n times.
func power(x uint32, n int) uint32 {
	for range n {
		x *= 3
	}
	return x
}

// The player tells of each step, by the adapter's clock or, where that has none, by waiting; what is computed is the same. Plans
// may have more launches than a set has stamps.
func TestMeasuredSteps(t *testing.T) {
	p := open(t)
	var got map[string]struct {
		First, Steps, Launched, Copies int // the copy is at Copies
		Sum, Wall                      float64
		Out, Plain                     []int
	}
	require.NoError(t, p.Run(`
		const { Player } = await import('./player.js')
		const { Stopwatch } = await import('./stopwatch.js')
		const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0))
		const without = (a) => new Proxy(a, { get: (t, k) => k === 'features' ? new Set([...t.features].filter((f) => f !== 'timestamp-query')) : typeof t[k] === 'function' ? t[k].bind(t) : t[k] })
		const plain = { requestAdapter: async (o) => without(await navigator.gpu.requestAdapter(o)) }
		const out = {}
		for (const [name, gpu, packed] of [['gpu', navigator.gpu, '`+threefold(2500)+`'], ['waiting', plain, '`+threefold(20)+`']]) {
			const player = new Player(() => {}, gpu)
			await player.open()
			const plan = await player.load(bytes(packed))
			const x = [player.alloc(16), player.alloc(16)]
			const begin = () => x.forEach((x) => player.write(x, 0, new Uint8Array(Uint32Array.of(1, 2, 3, 4).buffer)))
			begin()
			const start = performance.now()
			const [first, ...steps] = await player.measure(plan, x, [], Stopwatch)
			const wall = (performance.now() - start) / 1000
			const list = async () => Array.from(new Uint32Array((await player.read(x[1], 0, 16)).buffer))
			const once = await list()
			begin()
			player.play(plan, x, [])
			const launched = steps.filter((s) => s >= 0)
			out[name] = { first, steps: steps.length, launched: launched.length, copies: steps.indexOf(-1), sum: launched.reduce((a, b) => a + b), wall, out: once, plain: await list() }
			player.close()
		}
		return out`, &got))
	for name, want := range map[string][4]int{"gpu": {1, 5002, 5001, 2500}, "waiting": {0, 42, 41, 20}} {
		g := got[name]
		assert.Equal(t, want, [4]int{g.First, g.Steps, g.Launched, g.Copies}, name)
		assert.Positive(t, g.Sum, name)
		assert.LessOrEqual(t, g.Sum, g.Wall, name)
		assert.Equal(t, g.Plain, g.Out, name)
		for i, x := range g.Out {
			assert.EqualValues(t, power(uint32(i+1), (want[2]-1)+2), uint32(x), name)
		}
		t.Logf("%s: %.2f of %.2f ms", name, g.Sum*1e3, g.Wall*1e3)
	}
}

// A loss ends a profile with an error, and nothing else: the next one is whole. Networks that train are profiled as well.
func TestLostWhileProfiled(t *testing.T) {
	p := open(t)
	var got struct {
		Lost     string
		Value    []float64
		Launches []launch
	}
	require.NoError(t, p.Run(losable+`
		const w = await opened({whole: true})
		const x = await w.tensor([1, 2]).mul(2).realize()
		let value
		const lost = await w.profile(async () => { await lose(200); value = await x.add(1).list() }).then(String, (e) => e.message)
		const { digits } = await import('./digits.js')
		const d = await digits(w, {channels: [4, 4], batch: 8})
		await d.train(1)
		const {launches} = await w.profile(() => d.train(2))
		w.close()
		return {lost, value, launches}`, &got))
	assert.Contains(t, got.Lost, "the device was lost while a profile was taken")
	assert.Equal(t, []float64{3, 5}, got.Value)
	require.NotEmpty(t, got.Launches)
	assert.Zero(t, len(got.Launches)%2, "two steps alike")
}
