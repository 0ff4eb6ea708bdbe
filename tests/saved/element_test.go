package saved

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/tests/browser"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/wasm/policy"
)

// strict serves a folder under the policy that pages may have, with trusted types.
func strict(dir string) *httptest.Server {
	files := http.FileServer(http.Dir(dir))
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy.Strict+policy.Trusted(policy.Player))
		files.ServeHTTP(w, r)
	}))
}

const elements = `<!doctype html><html lang="en"><title>Elements</title>
<script type="module" src="quadrants/player/element.js"></script>
<weft-model id="draw" src="quadrants/" input="canvas" labels="a,b,c,d" top="2">no scripts</weft-model>
<weft-model id="picture" src="quadrants/" input="image" labels="a,b,c,d"></weft-model>
<weft-model id="numbers" src="sum/" input="number" names="one, two"></weft-model>
<weft-model id="json" src="two/" result="image" output="picture"></weft-model>
<weft-model id="wrong" src="nowhere/" input="json"></weft-model>
<weft-model id="misfit" src="sum/" input="image"></weft-model>
</html>`

func elementPage(t *testing.T) string {
	e := use(t, "INTERP")
	dir := t.TempDir()
	write := func(name string, c *tensor.Captured) {
		_, err := export.Write(ctx, filepath.Join(dir, name), map[string]*tensor.Captured{"predict": c}, export.Options{Devices: []string{"WASM"}})
		require.NoError(t, err)
	}
	write("quadrants", capture(t, e, func(in ...*T) []*T {
		return []*T{in[0].To(dtype.F32).Div(255).Reshape(2, 14, 2, 14).Sum(1, 3).Reshape(1, 4).Softmax(-1)}
	}, form{dtype.U8, []int{1, 28, 28}}).Named([]string{"image"}, []string{"probabilities"}))
	write("sum", capture(t, e, func(in ...*T) []*T { return []*T{in[0].Sum(), in[0].Max()} }, form{dtype.F32, []int{3}}))
	write("two", capture(t, e, func(in ...*T) []*T {
		return []*T{in[0].Add(in[1]), in[0].Add(in[1]).Expand(3, 2, 2).Contiguous()}
	}, form{dtype.F32, nil}, form{dtype.F32, nil}).Named([]string{"x", "y"}, []string{"sum", "image"}))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte(elements), 0o666))
	return dir
}

// The element takes what people give it, shows what comes out, and says what is wrong, on a page without any other script.
func TestElement(t *testing.T) {
	b, err := browser.Start(context.Background())
	need.Device(t, "CHROMIUM", err)
	defer b.Close()
	s := strict(elementPage(t))
	defer s.Close()
	p, err := b.Open(s.URL)
	require.NoError(t, err)
	defer p.Close()
	const within = time.Minute
	in := func(id, selector string) string {
		return `document.getElementById('` + id + `').shadowRoot.querySelector('` + selector + `')`
	}
	text := func(id, selector string) (s string) {
		require.NoError(t, p.Run(`return `+in(id, selector)+`?.textContent ?? 'none'`, &s))
		return s
	}

	require.NoError(t, p.Eventually(in("draw", "canvas"), within))
	var at browser.Box
	require.NoError(t, p.Run(`const r = `+in("draw", "canvas")+`.getBoundingClientRect(); return {X: r.x, Y: r.y, Width: r.width, Height: r.height}`, &at))
	point := func(x, y float64) [2]float64 { return [2]float64{at.X + x*at.Width, at.Y + y*at.Height} }
	require.NoError(t, p.Mouse(point(0.7, 0.6), point(0.9, 0.9), point(0.7, 0.9))) // below, on the right
	require.NoError(t, p.Eventually(in("draw", "dt")+`?.textContent === 'd'`, within))
	assert.Contains(t, text("draw", "dl"), "d100.0 %")
	require.NoError(t, p.Run(in("draw", "button")+`.click()`, nil))
	assert.Equal(t, "", text("draw", "[part=output]"))

	require.NoError(t, p.Run(`document.getElementById('picture').scrollIntoView()`, nil))
	require.NoError(t, p.Eventually(in("picture", "input[type=file]"), within))
	require.NoError(t, p.Run(`
		const c = new OffscreenCanvas(100, 50), pen = c.getContext('2d')
		pen.fillStyle = '#000'; pen.fillRect(0, 0, 100, 50); pen.fillStyle = '#fff'; pen.fillRect(55, 0, 40, 20)
		const files = new DataTransfer()
		files.items.add(new File([await c.convertToBlob()], 'x.png', { type: 'image/png' }))
		document.getElementById('picture').addEventListener('weft-result', (e) => { globalThis.heard = e.detail.probabilities.shape })
		`+in("picture", "[part=input]")+`.dispatchEvent(new DragEvent('drop', { dataTransfer: files }))`, nil))
	require.NoError(t, p.Eventually(in("picture", "dt")+`?.textContent === 'b'`, within))
	var heard []int
	require.NoError(t, p.Run(`return heard`, &heard))
	assert.Equal(t, []int{1, 4}, heard)
	require.NoError(t, p.Run(`
		const files = new DataTransfer()
		files.items.add(new File(['no picture'], 'x.png', { type: 'image/png' }))
		document.getElementById('picture').dispatchEvent(new ClipboardEvent('paste', { clipboardData: files }))`, nil))
	require.NoError(t, p.Eventually(in("picture", "[part=error]"), within))
	assert.Contains(t, text("picture", "[role=alert]"), "no picture that the browser can read")

	require.NoError(t, p.Run(`document.getElementById('json').scrollIntoView()`, nil))
	require.NoError(t, p.Eventually(in("numbers", "pre"), within))
	assert.Equal(t, "out0 []: 0", text("numbers", "pre"))
	assert.Equal(t, "onetwoin0 3", text("numbers", "[part=input]"))
	require.NoError(t, p.Run(`const f = `+in("numbers", "label:nth-child(2) input")+`; f.value = '2.5'; f.oninput()`, nil))
	require.NoError(t, p.Eventually(in("numbers", "pre")+`.textContent === 'out0 []: 2.5'`, within))

	require.NoError(t, p.Eventually(in("json", "textarea"), within))
	say := func(given string) {
		require.NoError(t, p.Run(in("json", "textarea")+`.value = '`+given+`'; `+in("json", "button")+`.click()`, nil))
	}
	say(`{"x": 0.25, "y": 0.75}`)
	require.NoError(t, p.Eventually(in("json", "[part=output] canvas"), within))
	var pixel []int
	require.NoError(t, p.Run(`return [...`+in("json", "[part=output] canvas")+`.getContext('2d').getImageData(1, 1, 1, 1).data]`, &pixel))
	assert.Equal(t, []int{255, 255, 255, 255}, pixel)
	say(`{"x": `)
	require.NoError(t, p.Eventually(in("json", "[part=error]"), within))
	assert.Contains(t, text("json", "[part=error]"), "this is no JSON")
	say(`{"z": 1}`)
	require.NoError(t, p.Eventually(in("json", "[part=error]")+`?.textContent.includes('has no input z')`, within))

	require.NoError(t, p.Run(`document.getElementById('misfit').scrollIntoView()`, nil))
	require.NoError(t, p.Eventually(in("wrong", "[part=error]")+` && `+in("misfit", "[part=error]"), within))
	assert.Contains(t, text("wrong", "[part=error]"), "404")
	assert.Contains(t, text("misfit", "[part=error]"), `is no picture; use input="json"`)
	require.NoError(t, p.Run(`document.getElementById('wrong').setAttribute('src', 'two/')`, nil))
	require.NoError(t, p.Eventually(in("wrong", "textarea"), within))
	for _, problem := range p.Problems() {
		assert.Contains(t, problem, "404")
	}
}
