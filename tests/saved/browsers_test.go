package saved

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
	"github.com/weft-ml/weft/tests/firefox"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tests/webkit"
)

// The element and the player of exported folders are the same in Firefox: drawn, typed and given pictures, under the strict policy.
func TestElementInFirefox(t *testing.T) {
	b, err := firefox.Start(context.Background(), nil)
	need.Device(t, "FIREFOX", err)
	defer b.Close()
	elementIn(t, func(url string) (browser.Tab, error) { return b.Open(url) })
}

// And in WebKit.
func TestElementInWebKit(t *testing.T) {
	b, err := webkit.Start(context.Background(), webkit.Options{})
	need.Device(t, "WEBKIT", err)
	defer b.Close()
	elementIn(t, func(url string) (browser.Tab, error) { return b.Open(url) })
}

func elementIn(t *testing.T, open func(url string) (browser.Tab, error)) {
	s := strict(elementPage(t))
	defer s.Close()
	p, err := open(s.URL)
	require.NoError(t, err)
	defer p.Close()
	const within = 30 * time.Second
	in := func(id, selector string) string {
		return `document.getElementById('` + id + `').shadowRoot.querySelector('` + selector + `')`
	}
	require.NoError(t, p.Eventually(`document.querySelector('weft-model').shadowRoot`, within)) // WebKit may call a page loaded before its modules ran
	seen := func(id, selector string) {
		require.NoError(t, p.Run(`document.getElementById('`+id+`').scrollIntoView({ behavior: 'instant' })`, nil))
		require.NoError(t, p.Eventually(in(id, selector), within))
	}

	seen("draw", "canvas")
	var at browser.Box
	require.NoError(t, p.Run(`const r = `+in("draw", "canvas")+`.getBoundingClientRect(); return {X: r.x, Y: r.y, Width: r.width, Height: r.height}`, &at))
	point := func(x, y float64) [2]float64 { return [2]float64{at.X + x*at.Width, at.Y + y*at.Height} }
	require.NoError(t, p.Mouse(point(0.7, 0.6), point(0.9, 0.9), point(0.7, 0.9)))
	require.NoError(t, p.Eventually(in("draw", "dt")+`?.textContent === 'd'`, within))

	seen("picture", "input[type=file]")
	require.NoError(t, p.Run(`
		const c = new OffscreenCanvas(100, 50), pen = c.getContext('2d')
		pen.fillStyle = '#000'; pen.fillRect(0, 0, 100, 50); pen.fillStyle = '#fff'; pen.fillRect(55, 0, 40, 20)
		const files = new DataTransfer()
		files.items.add(new File([await c.convertToBlob()], 'x.png', { type: 'image/png' }))
		`+in("picture", "[part=input]")+`.dispatchEvent(new DragEvent('drop', { dataTransfer: files }))`, nil))
	require.NoError(t, p.Eventually(in("picture", "dt")+`?.textContent === 'b'`, within))

	seen("json", "textarea")
	require.NoError(t, p.Run(in("json", "textarea")+`.value = '{"x": 0.25, "y": 0.75}'; `+in("json", "button")+`.click()`, nil))
	require.NoError(t, p.Eventually(in("json", "[part=output] canvas"), within))

	seen("wrong", "[part=error]")
	for _, problem := range browser.Problems(p) {
		assert.Contains(t, problem, "404", "the folder that is not there")
	}

	// The player by itself, in a worker; that of another folder would be a second policy of the same name, and says so.
	var got struct {
		Sum    float64
		Device string
	}
	require.NoError(t, p.Run(`
		const { load } = await import('./quadrants/player/model.js')
		const model = await load('./sum/', { worker: true })
		const { out0 } = await model.run('predict', { in0: [1, 2, 4] })
		const device = model.device
		await model.close()
		return { Sum: out0.data[0], Device: device }`, &got))
	assert.Equal(t, 7., got.Sum)
	assert.Equal(t, "wasm", got.Device)
	assert.Empty(t, browser.Problems(p))
	assert.ErrorContains(t, p.Run(`await (await import('./sum/player/model.js')).load('./sum/', { worker: true })`, nil), "let it say trusted-types weft-model 'allow-duplicates'")
}
