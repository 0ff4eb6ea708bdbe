package site

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// shownAll comes into sight of every element of a page, until each is loaded or says what is wrong.
const shownAll = `(() => {
	const all = [...document.querySelectorAll('weft-model')]
	const next = all.find((e) => !e.model && !e.shadowRoot?.querySelector('[part=error]'))
	next?.scrollIntoView({ behavior: 'instant' })
	if (!next) scrollTo(0, 0)
	return all.length === 6 && !next
})()`

var madeElements struct {
	sync.Once
	err error
}

// elements makes what the page of elements shows, as the site's build does, and gives the folder; where WEFT_BUILT_ELEMENTS names a folder that
// examples/elements has written, it copies that.
func elements(t *testing.T) string {
	if testing.Short() {
		t.Skip("trains networks")
	}
	host(t)
	dir := filepath.Join(shared.folder, filepath.FromSlash(sub), filepath.FromSlash(exported))
	madeElements.Do(func() {
		if ready := os.Getenv("WEFT_BUILT_ELEMENTS"); ready != "" {
			madeElements.err = os.CopyFS(dir, os.DirFS(ready))
			return
		}
		data := os.Getenv("WEFT_DATA")
		if data == "" {
			data = filepath.Join(need.Root(t), "..", "shared", "data")
		}
		mnist := filepath.Join(data, "mnist")
		if _, err := os.Stat(mnist); err != nil {
			mnist = ""
		}
		cmd := exec.Command("go", "run", "./examples/elements", "-mnist", mnist, dir)
		cmd.Dir = need.Root(t)
		out, err := cmd.CombinedOutput()
		if err != nil {
			madeElements.err = fmt.Errorf("%w\n%s", err, out)
		}
		t.Logf("%s", out)
	})
	require.NoError(t, madeElements.err)
	return dir
}

// What elements show is what the engine computes of the same inputs; each loads when it is seen, and nothing else is loaded.
func TestElements(t *testing.T) {
	dir := elements(t)
	p := open(t, "elements/", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
	long, err := p.Tasks()
	require.NoError(t, err)
	require.NoError(t, p.Eventually(`document.getElementById('digits')?.model`, slow))
	var early bool
	require.NoError(t, p.Run(`return !!document.getElementById('boxes').model`, &early))
	assert.False(t, early, "what is far below is not loaded")
	require.NoError(t, p.Eventually(shownAll, slow))
	require.NoError(t, p.Run(`globalThis.said = {} // what a model's last run was given, and what it gave
		for (const { id, model } of document.querySelectorAll('weft-model')) {
			const run = model.run
			model.run = async (name, inputs, options) => {
				const results = await run.call(model, name, inputs, options)
				said[id] = { inputs, results }
				return results
			}
		}`, nil))

	draw := func(id string, points ...[2]float64) {
		var at struct{ X, Y, Width, Height float64 }
		require.NoError(t, p.Run(fmt.Sprintf(`const e = document.getElementById(%q).shadowRoot.querySelector('.view')
			e.scrollIntoView({ block: 'center', behavior: 'instant' })
			await new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))
			const r = e.getBoundingClientRect(); return { X: r.x, Y: r.y, Width: r.width, Height: r.height }`, id), &at))
		var path [][2]float64
		for _, q := range points {
			path = append(path, [2]float64{at.X + q[0]*at.Width, at.Y + q[1]*at.Height})
		}
		require.NoError(t, p.Mouse(path...))
	}
	inside := func(id string) (html string) {
		require.NoError(t, p.Run(fmt.Sprintf(`return document.getElementById(%q).shadowRoot.innerHTML`, id), &html))
		return html
	}
	has := func(id, selector string, n int) {
		require.NoError(t, p.Eventually(fmt.Sprintf(`document.getElementById(%q).shadowRoot.querySelectorAll(%q).length === %d`, id, selector, n), slow), "%s: %s", id, inside(id))
	}
	draw("digits", [2]float64{0.35, 0.2}, [2]float64{0.7, 0.2}, [2]float64{0.5, 0.85})
	has("digits", "dt", 5)
	draw("boxes", [2]float64{0.1, 0.2}, [2]float64{0.1, 0.8})
	draw("boxes", [2]float64{0.3, 0.3}, [2]float64{0.9, 0.35})
	draw("boxes", [2]float64{0.5, 0.6}, [2]float64{0.7, 0.6}, [2]float64{0.7, 0.9}, [2]float64{0.5, 0.9}, [2]float64{0.5, 0.62})
	has("boxes", "[part=box]", 3)
	require.NoError(t, p.Run(`const field = document.getElementById('pendulum').shadowRoot.querySelectorAll('input')[1]
		field.value = '1.2'
		field.dispatchEvent(new Event('input'))
		const e = document.getElementById('sort').shadowRoot
		e.querySelector('textarea').value = '[9, 0, 2, 2, 7, 1, 0, 5]'
		e.querySelector('button').click()
		// The picture once more, pasted.
		const files = new DataTransfer()
		files.items.add(new File([await (await fetch('models/still.jpg')).blob()], 'x.jpg', { type: 'image/jpeg' }))
		document.getElementById('pencil').dispatchEvent(new ClipboardEvent('paste', { clipboardData: files }))`, nil))
	has("pencil", "[part=picture]", 1)
	require.NoError(t, p.Eventually(`['digits', 'pencil', 'pendulum', 'sort', 'boxes'].every((id) => said[id]?.results)`, slow))
	require.NoError(t, p.Eventually(`document.getElementById('sort').shadowRoot.querySelector('pre').textContent.includes('0, 0, 1, 2, 2, 5, 7, 9')`, slow))

	calm(t, long) // not what the test itself asks for
	for id, f := range map[string]struct {
		d         dtype.DType
		shape     []int
		tolerance float64
	}{
		"digits": {dtype.U8, []int{1, 28, 28}, 1e-4}, "pencil": {dtype.U8, []int{192, 256, 3}, 1e-4}, "pendulum": {dtype.F32, []int{1, 3}, 2e-3},
		"sort": {dtype.I32, []int{8}, 0}, "boxes": {dtype.U8, []int{36, 54}, 1e-4},
	} {
		var given []float64
		var results map[string][]float64
		require.NoError(t, p.Run(fmt.Sprintf(`return [...Object.values(said[%q].inputs)[0]]`, id), &given))
		require.NoError(t, p.Run(fmt.Sprintf(`return Object.fromEntries(Object.entries(said[%q].results).map(([k, r]) => [k, [...r.data]]))`, id), &results))
		fs, err := export.Open(t.Context(), filepath.Join(dir, id), "INTERP")
		require.NoError(t, err)
		var x *tensor.Tensor
		require.NoError(t, tensor.Try(func() { x = tensor.Of(given, f.shape...).To(f.d).On("INTERP") }))
		want, err := fs[id].Run(t.Context(), x)
		require.NoError(t, err)
		require.Len(t, results, len(want), id)
		for i, w := range want {
			var values []float64
			require.NoError(t, tensor.Try(func() { values, err = tensor.Data[float64](t.Context(), w.To(dtype.F64)) }))
			require.NoError(t, err)
			name := fs[id].ResultName(i)
			got := results[name]
			require.Len(t, got, len(values), "%s %s", id, name)
			for j, v := range values {
				d := v - got[j]
				require.True(t, d <= f.tolerance && d >= -f.tolerance, "%s %s[%d] is %v, and the engine's %v", id, name, j, got[j], v)
			}
		}
	}

	var said struct{ Wrong, Lines, Boxes string }
	require.NoError(t, p.Run(`const inside = (id, s) => document.getElementById(id).shadowRoot.querySelector(s).textContent
		return { Wrong: inside('wrong', '[role=alert]'), Boxes: inside('boxes', '[part=output]'), Lines: [...document.querySelectorAll('.show code')].map((e) => e.textContent).join('\n') }`, &said))
	assert.Contains(t, said.Wrong, `is no picture; use input="json"`)
	assert.Contains(t, said.Boxes, "3 boxes: ")
	assert.Contains(t, said.Lines, `<weft-model src="digits/" input="canvas" fit="20" labels="0,1,2,3,4,5,6,7,8,9"></weft-model>`)
	var loaded []string
	require.NoError(t, p.Run(`return performance.getEntriesByType('resource').map((e) => e.name)`, &loaded))
	for _, name := range loaded {
		for _, engine := range []string{"weft.js", "weft.wasm", "rest.wasm", "/worker.js?"} {
			assert.False(t, strings.HasSuffix(name, engine), "%s was loaded", name)
		}
	}
	shots(t, p, "elements", "main")
	for _, id := range []string{"pencil", "pendulum", "sort", "boxes", "wrong", "line-css"} {
		more(t, p, "elements-"+id, id)
	}
	// The camera's picture is drawn until it is stopped.
	camera := `document.getElementById('pencil').shadowRoot.querySelector('button')`
	require.NoError(t, p.Run(`globalThis.pictures = 0
		document.getElementById('pencil').addEventListener('weft-result', () => { pictures++ }); `+camera+`.click()`, nil))
	require.NoError(t, p.Eventually(`pictures > 3 && `+camera+`.textContent === 'Stop the camera'`, slow))
	require.NoError(t, p.Run(camera+`.click()`, nil))
	require.NoError(t, p.Eventually(camera+`.textContent === 'Use the camera'`, slow))
}

// Drawing by keys is drawing, and a folder that is not there can be asked for again.
func TestElementByKeys(t *testing.T) {
	elements(t)
	p := open(t, "elements/")
	require.NoError(t, p.Eventually(`document.getElementById('digits')?.model`, slow))
	require.NoError(t, p.Run(`const area = document.getElementById('digits').shadowRoot.querySelector('canvas')
		area.focus()
		for (const key of [' ', ...Array(10).fill('ArrowDown'), ' ']) area.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))`, nil))
	require.NoError(t, p.Eventually(`document.getElementById('digits').shadowRoot.querySelector('dt')?.textContent === '1'`, slow), "a line down is a one")
}
