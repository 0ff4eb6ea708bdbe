package browser_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/tests/browser"
)

// A page exports a convolutional network and its training step; the folder runs in a page without the engine, and in Go, with the values that the engine
// gave.
func TestPageExportsFolder(t *testing.T) {
	p := open(t)
	var got struct {
		Files         map[string]string
		Before, After []float64
		Loss          float64
		Names         []string
		Errors        []string
	}
	require.NoError(t, p.Run(`
		const { exportFunctions, write } = await import('./export.js')
		const w = await weft.open({device: 'wasm', whole: true})
		w.seed(3)
		const net = { a: w.nn.conv2d(1, 8, 5, {padding: 2}), b: w.nn.conv2d(8, 16, 5, {padding: 2}), out: w.nn.linear(16 * 7 * 7, 10) }
		const logits = (x) => net.out.forward(net.b.forward(net.a.forward(x).relu().maxPool2d(2)).relu().maxPool2d(2).flatten(1))
		const adam = await w.optim.adam(net, {rate: 1e-3})
		const predict = w.capture((x) => logits(x).softmax(-1))
		const train = w.capture((x, y) => {
			const loss = logits(x).crossEntropy(y)
			adam.update(loss)
			return { loss }
		})
		const unready = await predict.export().catch((e) => e.message)
		const picture = Float32Array.from({length: 784}, (_, i) => (i * 37 % 256) / 255)
		const x = w.tensor(picture, [1, 1, 28, 28]), y = w.tensor(new Int32Array([7]))
		const Before = [...await (await predict.run(x)).data()]
		await (await train.run(x, y)).loss.item()
		const Now = [...await (await predict.run(x)).data()]
		const files = await exportFunctions({ predict: { function: predict, inputs: ['image'], results: ['probabilities'] }, train: { function: train, inputs: ['images', 'labels'] } })
		const alone = await predict.export({ name: 'digit', inputs: ['image'], devices: ['wasm'], weights: 'f16', title: 'One' })
		const Errors = [unready]
		for (const wrong of [() => predict.export({ inputs: ['a', 'b'] }), () => predict.export({ weights: 'int4' }), () => predict.export({ devices: ['cpu'] }),
			() => exportFunctions({}), () => exportFunctions({ f: x }), () => predict.export({ nothing: 1 }), () => exportFunctions({ predict }, { device: 'wasm' })]) {
			try { await wrong(); Errors.push('nothing') } catch (e) { Errors.push(e.message) }
		}
		const root = await navigator.storage.getDirectory()
		await write(alone, root)
		const at = await (await root.getDirectoryHandle('player')).getFileHandle('model.js')
		if ((await at.getFile()).size !== alone['player/model.js'].length) throw new Error('the file in the folder has another size')
		const Loss = await (await train.run(x, y)).loss.item()
		const After = [...await (await predict.run(x)).data()]
		const Files = {}
		for (const [name, bytes] of Object.entries(files)) Files[name] = await new Promise((f) => {
			const r = new FileReader()
			r.onload = () => f(r.result.split(',')[1] ?? '')
			r.readAsDataURL(new Blob([bytes]))
		})
		w.close()
		return {Files, Before: Now, After, Loss, Names: Object.keys(alone), Errors}`, &got))
	for i, want := range []string{"has not run yet", `has 1 inputs, and 2 names`, "f32, f16 or i8", `no device "cpu"`, "no captured function", "no captured function", "there is no option", `there is no option "device"`} {
		assert.Contains(t, got.Errors[i], want)
	}
	assert.Equal(t, `export: function "main" has 1 inputs, and 2 names are given for them`, got.Errors[1])
	assert.Contains(t, got.Names, "wasm.plan")
	assert.NotContains(t, got.Names, "webgpu.plan")

	dir := t.TempDir()
	for name, text := range got.Files {
		raw, err := base64.StdEncoding.DecodeString(text)
		require.NoError(t, err)
		at := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o777))
		require.NoError(t, os.WriteFile(at, raw, 0o666))
	}
	server := browser.Serve(dir)
	defer server.Close()
	const picture = `Float32Array.from({length: 784}, (_, i) => (i * 37 % 256) / 255)`
	for _, device := range []string{"wasm", "webgpu"} {
		page, err := shared.browser.Open(server.URL + "/?device=" + device)
		require.NoError(t, err)
		var played struct {
			Before, After []float64
			Loss          float64
		}
		require.NoError(t, page.Run(`
			const { load } = await import('/player/model.js')
			const model = await load('/', {device: '`+device+`'})
			const image = `+picture+`
			const { probabilities: a } = await model.run('predict', { image })
			const { loss } = await model.run('train', { images: image, labels: [7] })
			const { probabilities: b } = await model.run('predict', { image })
			return {Before: [...a.data], Loss: loss.data[0], After: [...b.data]}`, &played))
		assert.InDeltaSlice(t, got.Before, played.Before, 1e-4, device)
		assert.InDelta(t, got.Loss, played.Loss, 1e-4, device)
		assert.InDeltaSlice(t, got.After, played.After, 1e-3, device)
		require.NoError(t, page.Eventually(`document.querySelector('#run-predict')`, time.Minute))
		assert.Empty(t, page.Problems())
		page.Close()
	}

	fs, err := export.Open(context.Background(), dir, "INTERP")
	require.NoError(t, err)
	var image []float32
	for i := range 784 {
		image = append(image, float32(i*37%256)/255)
	}
	out, err := fs["predict"].Run(context.Background(), tensor.Of(image, 1, 1, 28, 28).On("INTERP"))
	require.NoError(t, err)
	values, err := tensor.Data[float32](context.Background(), out[0])
	require.NoError(t, err)
	for i, v := range values {
		assert.InDelta(t, got.Before[i], float64(v), 1e-4)
	}
	assert.Equal(t, "image", fs["predict"].InputName(0))
	assert.Equal(t, "loss", fs["train"].ResultName(0))
}
