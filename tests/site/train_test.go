package site

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
)

const ready = `/^Ready/.test(document.getElementById('status').textContent)`

// calm asserts that no task kept the page busy for more than 50 ms, by the clock, where WEFT_QUIET says that nothing else
// runs on this machine. Elsewhere, time in which the thread waited for a core does not count, and as threads that share a core and its
// caches take each other's time at work too, a task has four times as long.
func calm(t *testing.T, longer func(time.Duration) ([]browser.Task, error)) {
	const long = 50 * time.Millisecond
	taken, limit := func(task browser.Task) time.Duration { return task.Work }, 4*long
	if os.Getenv("WEFT_QUIET") != "" {
		taken, limit = func(task browser.Task) time.Duration { return task.Wall }, long
	}
	tasks, err := longer(5 * time.Millisecond)
	require.NoError(t, err)
	var most time.Duration
	for i, task := range tasks {
		most = max(most, task.Work)
		if i == 0 || task.Wall > long && i < 4 {
			t.Logf("a task of the page took %v", task)
		}
		assert.LessOrEqual(t, taken(task), limit, "%v", task)
	}
	if len(tasks) > 0 {
		t.Logf("the page's longest task: %v by the clock; the most work in one: %v", tasks[0].Wall.Round(time.Millisecond), most.Round(100*time.Microsecond))
	}
}

// seven draws a seven as people do, with a mouse.
func seven(t *testing.T, p *browser.Page) {
	require.NoError(t, p.Click("#clear"))
	box, err := p.At("#draw")
	require.NoError(t, err)
	var way [][2]float64
	line := func(x0, y0, x1, y1 float64) {
		for i := range 12 {
			f := float64(i) / 11
			way = append(way, [2]float64{box.X + box.Width*(x0+f*(x1-x0)), box.Y + box.Height*(y0+f*(y1-y0))})
		}
	}
	line(.28, .2, .72, .2)
	line(.72, .2, .42, .82)
	require.NoError(t, p.Mouse(way...))
}

// The training page as a person uses it: open, press Train, wait, draw a seven, read the answer.
func TestTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a network in Chromium")
	}
	p := open(t, "train/")
	require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
	require.NoError(t, p.Run(`const e = document.getElementById('device-choice'); e.value = 'webgpu'; e.dispatchEvent(new Event('change'))`, nil))
	learns(t, p, "train")
	assert.Equal(t, "WEBGPU", text(t, p, "device"))

	step := text(t, p, "step")
	time.Sleep(time.Second)
	assert.Equal(t, step, text(t, p, "step"), "steps while it pauses")
	require.NoError(t, p.Click("#reset"))
	require.NoError(t, p.Eventually(`document.getElementById('step').textContent === '0'`, slow))
	assert.NotContains(t, text(t, p, "accuracy"), "9")
}

// A browser without WebGPU: the page says so and learns as well, on WebAssembly.
func TestTrainingWithoutWebGPU(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a network in Chromium")
	}
	p := open(t, "train/", "!--enable-unsafe-webgpu")
	learns(t, p, "train-wasm")
	assert.Equal(t, "WASM", text(t, p, "device"))
	t.Log(text(t, p, "note"))
	assert.Contains(t, text(t, p, "note"), "WebGPU")
}

// learns trains on the training page until it reads 95 % of the held-back digits, and draws a seven, which it must read.
func learns(t *testing.T, p *browser.Page, name string) {
	require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
	longer, err := p.Tasks()
	require.NoError(t, err)
	begin := time.Now()
	require.NoError(t, p.Click("#train"))
	err = p.Eventually(`parseFloat(document.getElementById('accuracy').textContent) >= 95`, 5*time.Minute)
	t.Logf("%s on %s (%s) after %.0f s: step %s, %s %% of held-back digits, %s steps per second", text(t, p, "status"), text(t, p, "device"),
		text(t, p, "device-detail"), time.Since(begin).Seconds(), text(t, p, "step"), text(t, p, "accuracy"), text(t, p, "speed"))
	require.NoError(t, err, text(t, p, "problem"))
	seven(t, p)
	require.NoError(t, p.Eventually(`document.getElementById('answer').textContent === '7'`, slow))
	calm(t, longer)
	require.NoError(t, p.Click("#pause")) // or it trains while it is looked at
	require.NoError(t, p.Eventually(`/^Paused/.test(document.getElementById('status').textContent)`, slow))
	shots(t, p, name)
}

// Another device can be chosen while it trains, and keys are enough.
func TestDevices(t *testing.T) {
	p := open(t, "train/")
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Run(`const e = document.getElementById('device-choice'); e.value = 'wasm'; e.dispatchEvent(new Event('change'))
		document.getElementById('train').click()`, nil))
	require.NoError(t, p.Eventually(`Number(document.getElementById('step').textContent) > 0`, slow))
	assert.Equal(t, "WASM", text(t, p, "device"))

	require.NoError(t, p.Run(`document.getElementById('pause').click(); document.getElementById('draw').focus()
		const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))
		press(' '); for (let i = 0; i < 14; i++) press('ArrowDown'); press(' ')`, nil))
	require.NoError(t, p.Eventually(`/^\d$/.test(document.getElementById('answer').textContent)`, slow))
}

// idx is a file in the form of MNIST: dims, then bytes.
func idx(magic uint32, dims []uint32, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, magic)
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, d)
	}
	return append(out, body...)
}

// give hands files to the page as if they had been chosen.
func give(t *testing.T, p *browser.Page, files ...string) {
	var doc struct{ Root struct{ NodeID int } }
	require.NoError(t, p.Call("DOM.getDocument", nil, &doc))
	var node struct{ NodeID int }
	require.NoError(t, p.Call("DOM.querySelector", map[string]any{"nodeId": doc.Root.NodeID, "selector": "#files"}, &node))
	require.NoError(t, p.Call("DOM.setFileInputFiles", map[string]any{"nodeId": node.NodeID, "files": files}, nil))
}

func TestFiles(t *testing.T) {
	const n = 96
	pictures, labels := make([]byte, n*28*28), make([]byte, n)
	for i := range n {
		labels[i] = byte(i % 10)
		for j := range 60 {
			pictures[i*784+i%10*56+200+j%28] = byte(100 + j)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(idx(0x803, []uint32{n, 28, 28}, pictures))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	folder := t.TempDir()
	file := func(name string, body []byte) string {
		name = filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(name, body, 0o666))
		return name
	}
	wrong := append([]byte(nil), labels...)
	wrong[7] = 12
	bad := []struct{ file, says string }{
		{file("words-ubyte", []byte("no idx file at all")), "does not begin like an idx file"},
		{file("cut-images-idx3-ubyte.gz", packed.Bytes()[:packed.Len()/2]), "damaged or cut off"},
		{file("short-labels-idx1-ubyte", idx(0x801, []uint32{n}, labels[:50])), "the header promises 96 labels, 50 bytes follow"},
		{file("odd-labels-idx1-ubyte", idx(0x801, []uint32{n}, wrong)), "label 7 is 12"},
		{file("wide-images-idx3-ubyte", idx(0x803, []uint32{1, 32, 32}, make([]byte, 1024))), "its pictures are 32×32"},
	}
	p := open(t, "train/")
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Run(`const e = document.getElementById('data'); e.value = 'files'; e.dispatchEvent(new Event('change'))`, nil))
	for _, b := range bad {
		give(t, p, b.file)
		require.NoError(t, p.Eventually(`document.getElementById('problem').textContent.includes(`+strconv.Quote(b.says)+`)`, slow), b.says)
	}
	give(t, p, file("train-images-idx3-ubyte.gz", packed.Bytes()))
	require.NoError(t, p.Eventually(`/file of labels is missing/.test(document.getElementById('found').textContent)`, slow))
	give(t, p, file("train-labels-idx1-ubyte", idx(0x801, []uint32{n}, labels)))
	require.NoError(t, p.Eventually(`/80 digits to train on.*last 16 are held back/.test(document.getElementById('found').textContent)`, slow))
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Click("#train"))
	require.NoError(t, p.Eventually(`Number(document.getElementById('step').textContent) > 0`, slow))
}

// As many digits as MNIST has: the page never copies them, so it stays at ease.
func TestManyFiles(t *testing.T) {
	const n = 60000
	folder := t.TempDir()
	file := func(name string, body []byte) string {
		name = filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(name, body, 0o666))
		return name
	}
	pictures, labels := make([]byte, n*28*28), make([]byte, n)
	for i := range n {
		labels[i] = byte(i % 10)
		for j := range 200 {
			pictures[i*784+(i%10)*40+j+200] = byte(55 + j)
		}
	}
	images, names := file("train-images-idx3-ubyte", idx(0x803, []uint32{n, 28, 28}, pictures)), file("train-labels-idx1-ubyte", idx(0x801, []uint32{n}, labels))
	p := open(t, "train/")
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Run(`const e = document.getElementById('device-choice'); e.value = 'wasm'; e.dispatchEvent(new Event('change'))`, nil))
	require.NoError(t, p.Eventually(ready, slow))
	longer, err := p.Tasks()
	require.NoError(t, err)
	give(t, p, images, names)
	require.NoError(t, p.Eventually(`/50,000 digits to train on/.test(document.getElementById('found').textContent)`, slow))
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Click("#train"))
	require.NoError(t, p.Eventually(`Number(document.getElementById('step').textContent) > 5`, slow))
	calm(t, longer)
}
