package site

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
	need "github.com/weft-ml/weft/tests/require"
)

// smooth has a page count tasks of the main thread over 50 ms from now on, as window.longTasks.
const smooth = `window.longTasks = []; new PerformanceObserver((l) => longTasks.push(...l.getEntries().map((e) => e.duration))).observe({type: 'longtask', buffered: true})`

func loaded(t *testing.T, p *browser.Page) {
	need.Data(t, "models")
	require.NoError(t, p.Run(smooth, nil))
	require.NoError(t, p.Eventually(`document.getElementById('status').textContent.startsWith('Ready') || document.getElementById('status').classList.contains('bad')`, slow))
	require.Contains(t, text(t, p, "status"), "Ready, on")
}

// handed has an input of a page get a file.
func handed(t *testing.T, p *browser.Page, input, name string, raw []byte) {
	require.NoError(t, p.Run(fmt.Sprintf(`const files = new DataTransfer()
		files.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], %q))
		const at = document.getElementById(%q)
		at.files = files.files
		at.dispatchEvent(new Event('change', {bubbles: true}))`, base64.StdEncoding.EncodeToString(raw), name, input), nil))
}

// A picture that is dropped is looked at, and so is what a camera sees; a file that is no picture or no such model is told of.
func TestSee(t *testing.T) {
	p := open(t, "see/", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
	loaded(t, p)
	img := image.NewRGBA(image.Rect(0, 0, 400, 300))
	for i := range 400 {
		img.Set(i, i*3/4, color.RGBA{200, 100, 50, 255})
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	handed(t, p, "picture", "x.png", b.Bytes())
	require.NoError(t, p.Eventually(`/^No face, found in \d+ ms$/.test(document.getElementById('found').textContent)`, slow))
	var size []int
	require.NoError(t, p.Run(`const c = document.getElementById('view'); return [c.width, c.height]`, &size))
	assert.Equal(t, []int{400, 300}, size)
	handed(t, p, "picture", "y.png", []byte("no picture"))
	require.NoError(t, p.Eventually(`document.getElementById('status').textContent.includes('y.png is no picture')`, slow))
	model, err := os.ReadFile(need.Data(t, "models", "mnist-8", "model.onnx"))
	require.NoError(t, err)
	handed(t, p, "model", "mnist.onnx", model)
	require.NoError(t, p.Eventually(`document.getElementById('status').textContent.includes('This model is another one')`, slow))
	require.NoError(t, p.Run(`document.getElementById('camera').click()`, nil))
	require.NoError(t, p.Eventually(`/pictures a second$/.test(document.getElementById('found').textContent)`, slow))
	require.NoError(t, p.Run(`document.getElementById('camera').click()`, nil))
	assert.Equal(t, "Use the camera", text(t, p, "camera"))
	shots(t, p, "see")
}

// spoken are the parts of the recorded probabilities in which somebody speaks, by the page's rule.
func spoken(t *testing.T) (parts []string) {
	raw, err := os.ReadFile(need.Data(t, "models", "silero-vad-op18-ifless", "probs.f32"))
	require.NoError(t, err)
	time := func(n int) string {
		s := float64(n) * 512 / 16000
		return fmt.Sprintf("%d:%04.1f", int(s/60), math.Mod(s, 60))
	}
	begin := -1
	mark := func(n int, p float32) {
		if begin < 0 && p >= 0.5 {
			begin = n
		} else if begin >= 0 && p < 0.35 {
			if n-begin > 4 {
				parts = append(parts, time(begin)+" to "+time(n))
			}
			begin = -1
		}
	}
	for i := range len(raw) / 4 {
		mark(i, math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	}
	if begin >= 0 {
		mark(len(raw)/4, 0)
	}
	return parts
}

// Of a recording the page says when somebody speaks, as the recorded probabilities have it; a microphone moves the plot.
func TestHear(t *testing.T) {
	sound := need.Data(t, "models", "silero-vad-op18-ifless", "audio.wav")
	p := open(t, "hear/", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--use-file-for-fake-audio-capture="+sound)
	loaded(t, p)
	raw, err := os.ReadFile(sound)
	require.NoError(t, err)
	handed(t, p, "recording", "audio.wav", raw)
	require.NoError(t, p.Eventually(`document.getElementById('found').textContent.includes('minutes heard in') || document.getElementById('status').classList.contains('bad')`, slow))
	var parts []string
	require.NoError(t, p.Run(`return [...document.querySelectorAll('#parts li')].map((l) => l.textContent)`, &parts))
	want := spoken(t)
	require.NotEmpty(t, want)
	assert.Equal(t, want, parts)
	assert.Contains(t, text(t, p, "found"), fmt.Sprintf("somebody speaks %d times", len(want)))
	shots(t, p, "hear")
	handed(t, p, "recording", "x.wav", []byte("no sound"))
	require.NoError(t, p.Eventually(`document.getElementById('status').textContent.includes('x.wav is no recording')`, slow))
	require.NoError(t, p.Run(`document.getElementById('microphone').click()`, nil))
	require.NoError(t, p.Eventually(`/speaks$/.test(document.getElementById('found').textContent)`, slow))
	require.NoError(t, p.Run(`document.getElementById('microphone').click()`, nil))
	assert.Equal(t, "Use the microphone", text(t, p, "microphone"))
}

// The model that comes with the page writes the recorded story; what was likely is shown for each token; another can be dropped, and what is
// none is told of.
func TestWrite(t *testing.T) {
	story, err := os.ReadFile(need.Data(t, "models", "stories260k", "greedy_text.txt"))
	require.NoError(t, err)
	p := open(t, "write/")
	loaded(t, p)
	set := func(id, value string) {
		require.NoError(t, p.Run(fmt.Sprintf(`document.getElementById(%q).value = %q`, id, value), nil))
	}
	set("prompt", "")
	set("temperature", "0")
	set("tokens", "100")
	require.NoError(t, p.Run(`document.getElementById('go').click()`, nil))
	require.NoError(t, p.Eventually(`document.getElementById('status').textContent.startsWith('As many tokens')`, slow))
	said := strings.TrimSpace(text(t, p, "text"))
	assert.Greater(t, len(said), 150)
	assert.True(t, strings.HasPrefix(string(story), said), "%s", said)
	assert.Regexp(t, `^100 tokens, \d+ a second$`, text(t, p, "speed"))
	var likely []string
	require.NoError(t, p.Run(`const text = document.getElementById('text')
		for (let i = 0; i < 3; i++) text.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))
		return [...document.querySelectorAll('#likely li')].map((l) => l.textContent)`, &likely))
	require.Len(t, likely, 8)
	assert.Regexp(t, `%$`, likely[0])
	shots(t, p, "write")
	set("tokens", "0")
	require.NoError(t, p.Run(`document.getElementById('ask').requestSubmit ? document.getElementById('ask').dispatchEvent(new Event('submit', {cancelable: true})) : 0`, nil))
	require.NoError(t, p.Eventually(`document.getElementById('status').textContent.includes('Tokens: a number from 1 to 512')`, slow))
	set("tokens", "400")
	require.NoError(t, p.Run(`document.getElementById('go').click()`, nil))
	require.NoError(t, p.Eventually(`document.querySelectorAll('#text [data-n]').length > 3`, slow))
	require.NoError(t, p.Run(`document.getElementById('stop').click()`, nil))
	require.NoError(t, p.Eventually(`document.getElementById('status').textContent === 'Stopped.'`, slow))
	handed(t, p, "model", "x.gguf", []byte("GGUF and no more of it"))
	require.NoError(t, p.Eventually(`document.getElementById('status').textContent.includes('x.gguf')`, slow))
	var long []float64
	require.NoError(t, p.Run(`return longTasks`, &long))
	t.Logf("tasks over 50 ms on the main thread: %v", long)
}
