package saved

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/tests/browser"
	need "github.com/weft-ml/weft/tests/require"
)

const batch = 32 // of a step

// byCommand has weft export write a folder.
func byCommand(t *testing.T, args ...string) (dir string) {
	dir = t.TempDir()
	cmd := exec.Command("go", append([]string{"run", "./cmd/weft", "export", "--device", "INTERP", args[0], dir}, args[1:]...)...)
	cmd.Dir = need.Root(t)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "are the player")
	return dir
}

// digitsFolder is what the command writes for digits, with pictures and labels beside it.
func digitsFolder(t *testing.T, s *data.Set) string {
	dir := byCommand(t, "mnist", "--batch", fmt.Sprint(batch), "--title", "Digits <1>")
	for name, b := range map[string][]byte{"images": s.Train.Images, "labels": s.Train.Labels, "held": s.Test.Images, "right": s.Test.Labels} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
	}
	return dir
}

// What the command exports gives in a page, on both devices, what it gives in Go.
func TestExportsOfTheCommand(t *testing.T) {
	b, err := browser.Start(context.Background())
	need.Device(t, "CHROMIUM", err)
	defer b.Close()
	for name, shape := range map[string][]int{"mlp": {1, 784}, "transformer-block": {1, 64, 128}} {
		dir := byCommand(t, name)
		e := use(t, "WASM")
		fs, err := export.Open(ctx, dir, e.Name())
		require.NoError(t, err)
		script, want := played(t, e, map[string][]form{"predict": {{dtype.F32, shape}}}, fs, 0, 1)
		drive, err := os.ReadFile(testdata(t, "drive.js"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "drive.js"), drive, 0o666))
		s := browser.Serve(dir)
		defer s.Close()
		for _, device := range []string{"wasm", "webgpu"} {
			t.Run(name+" "+device, func(t *testing.T) {
				p, err := b.Open(s.URL)
				require.NoError(t, err)
				defer p.Close()
				var got []result
				require.NoError(t, p.Run(`
					const { load } = await import('/player/model.js'), { drive } = await import('/drive.js')
					return drive(await load('/', { device: '`+device+`' }), `+script+`)`, &got))
				alike(t, want, got)
				assert.Empty(t, p.Problems())
			})
		}
	}
}

// script trains for some steps at most, until of the pictures that were held back at least some share is read right.
const script = `
	const { load } = await import('/player/model.js')
	const bytes = async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer())
	const [images, labels, held, right] = await Promise.all(['/images', '/labels', '/held', '/right'].map(bytes))
	const model = await load('/', { device: '%s' })
	const batch = %d, picture = 28 * 28, losses = []
	const score = async () => {
		let good = 0
		for (let at = 0; at < right.length; at += 100) {
			const { digits } = await model.run('test', { images: held.subarray(at * picture, (at + 100) * picture) })
			digits.data.forEach((d, i) => { good += d === right[at + i] })
		}
		return good / right.length
	}
	let accuracy = 0, step = 0
	for (; step < %d && accuracy < %g; step++) {
		const at = step * batch %% (labels.length - batch)
		const { loss } = await model.run('train', {
			images: images.subarray(at * picture, (at + batch) * picture), labels: labels.subarray(at, at + batch), rate: 2e-3 * Math.min(1, (step + 1) / 50),
		})
		losses.push(loss.data[0])
		if (step %% 50 === 49) accuracy = await score()
	}
	return { Losses: losses, Accuracy: accuracy, Steps: step, Engine: typeof Go }`

type trained struct {
	Losses   []float64
	Accuracy float64
	Steps    int
	Engine   string
}

// The convolutional network, exported, trains in a page step by step as it does in Go; and with WEFT_EXPORT=1 until it reads 97 % of
// the pictures of MNIST that were held back, and on WebGPU too, where a program on the processor takes half a minute for three steps.
func TestTrainsInPage(t *testing.T) {
	b, err := browser.Start(context.Background())
	need.Device(t, "CHROMIUM", err)
	defer b.Close()
	set := data.Synthetic(1, 10*batch, 100)
	steps, goal, devices := 3, 2., []string{"wasm"}
	whole := os.Getenv("WEFT_EXPORT") != ""
	if whole {
		set, err = data.LoadMNIST(need.Data(t, "mnist"))
		require.NoError(t, err)
		set.Test.Images, set.Test.Labels = set.Test.Images[:2000*28*28], set.Test.Labels[:2000]
		steps, goal, devices = 2000, 0.97, append(devices, "webgpu")
	}
	dir := digitsFolder(t, set)
	e := use(t, "WASM")
	fs, err := export.Open(ctx, dir, e.Name())
	require.NoError(t, err)
	var want []float64
	for step := range 3 {
		in := []*T{
			tensor.Of(set.Train.Images[step*batch*784:(step+1)*batch*784], batch, 28, 28), tensor.Of(set.Train.Labels[step*batch:(step+1)*batch], batch),
			tensor.Scalar(float32(2e-3 * float64(step+1) / 50)),
		}
		out, err := fs["train"].Run(ctx, in...)
		require.NoError(t, err)
		loss, err := out[0].Item(ctx)
		require.NoError(t, err)
		want = append(want, loss)
	}
	s := browser.Serve(dir)
	defer s.Close()
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			p, err := b.Open(s.URL)
			require.NoError(t, err)
			defer p.Close()
			steps := steps
			if device == "webgpu" {
				steps = 3
			}
			var got trained
			require.NoError(t, p.Run(fmt.Sprintf(script, device, batch, steps, goal), &got))
			require.GreaterOrEqual(t, len(got.Losses), len(want))
			for i, w := range want {
				assert.InDelta(t, w, got.Losses[i], 2e-3*w, "loss %d", i)
			}
			assert.Equal(t, "undefined", got.Engine, "no engine in the page")
			if steps > 3 {
				t.Logf("%.2f %% after %d steps of %d", 100*got.Accuracy, got.Steps, batch)
				assert.GreaterOrEqual(t, got.Accuracy, 0.97)
			}
			assert.Empty(t, p.Problems())
		})
	}
}
