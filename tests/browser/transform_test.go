package browser_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/nn"
)

// Gradients of functions have the form of their arguments.
func TestGradOfFunctions(t *testing.T) {
	p := open(t)
	var got struct {
		G, Tree, Second []float64
		Names           []string
		Value           float64
		Wrong           []string
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const x = w.tensor([1, 2, 3])
		const g = [...await w.grad((x) => x.square().sum())(x).data()]
		const model = {linear: w.nn.linear(3, 1), list: [w.tensor(2)]}
		const f = (m, x) => m.linear.forward(x).mul(m.list[0]).sum()
		const dm = w.grad(f)(model, x)
		const tree = [...await dm.linear.weight.data(), await dm.linear.bias.item()]
		const names = Object.keys(w.nn.state(dm))
		const [value, [da, db]] = w.valueAndGrad((a, b) => a.mul(b).sum(), {argnums: [0, 1]})(x, w.tensor([2, 3, 4]))
		const second = [...await w.grad((x) => w.grad((x) => x.pow(3).sum())(x).sum())(x).data(), ...await da.data(), ...await db.data()]
		const wrong = []
		for (const f of [() => w.grad((x) => 3)(x), () => w.grad((x) => x.sum())(5), () => w.grad(7), () => w.jit(async (x) => x)]) {
			try { f(); wrong.push('nothing') } catch (e) { wrong.push(e.message) }
		}
		const out = {g, tree, names, value: await value.item(), second, wrong}
		w.close()
		return out`, &got))
	assert.Equal(t, []float64{2, 4, 6}, got.G)
	assert.Equal(t, []float64{2, 4, 6, 2}, got.Tree)
	assert.Equal(t, []string{"linear.weight", "linear.bias", "list.0"}, got.Names)
	assert.Equal(t, 20., got.Value)
	assert.Equal(t, []float64{6, 12, 18, 2, 3, 4, 1, 2, 3}, got.Second)
	assert.Equal(t, []string{"grad: the function must give a tensor", "grad: argument 0 holds no tensors to differentiate by", "grad: f is the number 7; it must be a function",
		"jit: the function is async; it only records, so write it without async and await"}, got.Wrong)
}

// A function is recorded once for each form of its arguments, and the forms that are kept are bounded.
func TestJit(t *testing.T) {
	p := open(t)
	var got struct {
		Sums     []float64
		Recorded []int
		Size     int
		Same     bool
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		let recorded = 0
		const f = w.jit(({x, scale}, k) => { recorded++; return {sum: x.mul(scale).mul(k).sum(), list: [x]} }, {most: 2})
		const scale = w.tensor(2)
		const out = {sums: [], recorded: []}
		for (const [n, k] of [[3, 1], [3, 1], [4, 1], [4, 1], [3, 1], [3, 5], [4, 1], [3, 1]]) {
			const r = await f({x: w.ones([n]), scale}, k)
			out.sums.push(await r.sum.item())
			out.recorded.push(recorded)
			out.same = r.list.length === 1
		}
		out.size = f.size
		f.dispose()
		w.close()
		return out`, &got))
	assert.Equal(t, []float64{6, 6, 8, 8, 6, 30, 8, 6}, got.Sums)
	assert.Equal(t, []int{1, 1, 2, 2, 2, 3, 4, 5}, got.Recorded)
	assert.Equal(t, 2, got.Size)
	assert.True(t, got.Same)
}

// Files go to Go and come back, with their types; what does not fit a model is told; hostile ones are refused.
func TestFiles(t *testing.T) {
	ctx := context.Background()
	model := nn.NewLinear(3, 2)
	want := file(t, model)
	p := open(t)
	var got struct {
		Saved    string
		Data     []float64
		Types    []string
		Shapes   [][]int
		Report   struct{ Missing, Unexpected, Mismatched []string }
		Strict   string
		Refused  []string
		Response []string
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const bytes = Uint8Array.from(atob('`+want+`'), (c) => c.charCodeAt(0))
		const l = w.nn.linear(3, 2)
		await w.load(new File([bytes], 'm.safetensors'), l)
		const out = {data: [...await l.weight.data(), ...await l.bias.data()]}
		const text = async (blob) => btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())))
		out.saved = await text(await w.save(l, {metadata: {by: 'a page'}}))
		const all = {half: w.tensor([1.5, -2], {dtype: 'f16'}), brain: w.tensor([[3]], {dtype: 'bf16'}), small: w.tensor([1.5, -448], {dtype: 'f8e4m3'}), wide: w.tensor([-57344], {dtype: 'f8e5m2'}), yes: w.tensor([true, false]), long: w.full([2], 7, {dtype: 'i64'}), none: w.zeros([0, 2])}
		const back = await w.load(await (await w.save(all)).arrayBuffer())
		out.types = await Promise.all(Object.values(back).map((t) => t.dtype))
		out.shapes = await Promise.all(Object.values(back).map((t) => t.shape))
		out.response = Object.keys(await w.load(new Response(bytes)))
		for (const n of ['half', 'small', 'wide', 'yes', 'long']) if (String(await back[n].data()) !== String(await all[n].data())) out.types.push(n + ' is ' + await back[n].data())
		const other = {weight: w.zeros([3, 3]).own(), extra: w.zeros([1]).own()}
		out.report = await w.load(bytes, other, {strict: false})
		out.strict = await w.load(bytes, other).catch((e) => e.message)
		const file = (header, body = new Uint8Array(4)) => { const t = new TextEncoder().encode(header), n = new BigUint64Array([BigInt(t.length)]); return new Blob([n, t, body]) }
		out.refused = []
		for (const f of [new Blob([]), file('{'), file('[]'), file('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}'), file('{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}'),
			file('{"a":{"dtype":"toString","shape":[1],"data_offsets":[0,4]}}'), file('{"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}'), new Blob([new BigUint64Array([2n ** 62n])])]) {
			out.refused.push(await w.load(f).then(() => 'taken', (e) => e.message))
		}
		w.close()
		return out`, &got))
	near(t, append(floats(t, model.Weight), floats(t, model.Bias)...), got.Data, 0, "what was read")
	path := filepath.Join(t.TempDir(), "saved.safetensors")
	raw, err := base64.StdEncoding.DecodeString(got.Saved)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	back := nn.NewLinear(3, 2)
	require.NoError(t, nn.Load(ctx, path, back))
	near(t, floats(t, model.Weight), floats(t, back.Weight), 0, "what Go reads")
	assert.Equal(t, []string{"f16", "bf16", "f8e4m3", "f8e5m2", "bool", "i64", "f32"}, got.Types)
	assert.Equal(t, [][]int{{2}, {1, 1}, {2}, {1}, {2}, {2}, {0, 2}}, got.Shapes)
	assert.Equal(t, []string{"bias", "weight"}, got.Response)
	assert.Equal(t, []string{"extra"}, got.Report.Missing)
	assert.Equal(t, []string{"bias"}, got.Report.Unexpected)
	assert.Equal(t, []string{"weight: f32 [3, 3], in the file f32 [2, 3]"}, got.Report.Mismatched)
	assert.Contains(t, got.Strict, "the file does not fit the model")
	for _, r := range got.Refused {
		assert.True(t, strings.HasPrefix(r, "load: this is no safetensors file: "), r)
	}
}

// Pictures come in from all that a page has them in, and go out again.
func TestPictures(t *testing.T) {
	p := open(t)
	pixels := []byte{255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0, 255, 51, 102, 153, 255}
	var file bytes.Buffer
	require.NoError(t, png.Encode(&file, &image.NRGBA{Pix: pixels, Stride: 12, Rect: image.Rect(0, 0, 3, 2)}))
	require.NoError(t, os.WriteFile(filepath.Join(shared.folder, "picture.png"), file.Bytes(), 0o666))
	var got map[string]any
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const bytes = [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0, 255, 51, 102, 153, 255]
		const source = new ImageData(Uint8ClampedArray.from(bytes), 3, 2)
		const canvas = new OffscreenCanvas(3, 2)
		canvas.getContext('2d').putImageData(source, 0, 0)
		const element = document.createElement('canvas')
		element.width = 3
		element.height = 2
		element.getContext('2d').putImageData(source, 0, 0)
		const blob = await canvas.convertToBlob()
		const img = new Image()
		img.src = 'picture.png' // the policy lets none but the host's be seen
		await img.decode()
		const frame = new VideoFrame(canvas, {timestamp: 0})
		const out = {}
		for (const [name, from] of Object.entries({source, canvas, element, bitmap: await createImageBitmap(canvas), blob, img, frame})) {
			out[name] = [...await (await w.fromImage(from, {dtype: 'u8'})).data()].join()
		}
		frame.close()
		const x = await w.fromImage(source)
		out.shape = String(await x.shape)
		out.last = (await x.at(2, 1, 2).item()).toFixed(4)
		out.back = [...(await x.toImageData()).data].join() === bytes.join()
		out.all = [...(await (await w.fromImage(source, {channels: 4, dtype: 'u8'})).toImageData()).data].join() === bytes.join()
		const grey = await w.fromImage(canvas, {channels: 1, dtype: 'u8'})
		out.grey = [...await grey.data()].join()
		const picture = await grey.squeeze(0).toImageData()
		out.greyBack = [picture.width, picture.height, ...picture.data.slice(0, 4)].join()
		out.wrong = await w.tensor([1]).toImageData().catch((e) => e.message)
		w.close()
		return out`, &got))
	want := "255,0,0,255,0,51,0,255,0,255,0,102,0,0,255,255,0,153"
	for _, name := range []string{"source", "canvas", "element", "bitmap", "blob", "img"} {
		assert.Equal(t, want, got[name], name)
	}
	assert.NotEmpty(t, got["frame"]) // in colours of video
	assert.Equal(t, "3,2,3", got["shape"])
	assert.Equal(t, "0.6000", got["last"])
	assert.Equal(t, true, got["back"])
	assert.Equal(t, true, got["all"])
	assert.Equal(t, "76,150,29,255,0,93", got["grey"])
	assert.Equal(t, "3,2,76,76,76,255", got["greyBack"])
	assert.Contains(t, got["wrong"], "is no picture")
}
