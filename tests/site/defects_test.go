package site

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wasm opens the training page with WebAssembly as its device.
const wasm = `const e = document.getElementById('device-choice'); e.value = 'wasm'; e.dispatchEvent(new Event('change'))`

// Pictures of digits are there under the site's policy, which lets no picture come from anywhere but the host.
func TestPicturesUnderThePolicy(t *testing.T) {
	p := open(t, "train/")
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Run(wasm, nil))
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Click("#train"))
	require.NoError(t, p.Eventually(`document.querySelectorAll('#samples button:not([disabled])').length === 20`, slow))
	const lit = `const pixels = (e) => { // of what is seen
			const c = document.createElement('canvas')
			c.width = c.height = 28
			const to = c.getContext('2d', { willReadFrequently: true })
			to.drawImage(e, 0, 0, 28, 28)
			return [...to.getImageData(0, 0, 28, 28).data].filter((v, i) => i % 4 === 0)
		}
		const list = [...document.querySelectorAll('#samples :is(img, canvas), #seen')].map((e) => { try { return pixels(e).filter((v) => v > 99).length } catch { return -1 } })`
	var got []int
	require.NoError(t, p.Eventually(`(() => { `+lit+`; return list.filter((n) => n > 10).length === 20 })()`, slow), "samples")
	seven(t, p)
	require.NoError(t, p.Eventually(`document.getElementById('answer').textContent !== '–'`, slow))
	require.NoError(t, p.Run(lit+`; return list`, &got))
	require.Len(t, got, 21)
	for i, n := range got {
		assert.Greater(t, n, 10, "lit pixels of picture %d", i)
	}
	require.NoError(t, p.Click("#pause"))
}

// Whatever the numbers are, they have room.
func TestNumbersHaveRoom(t *testing.T) {
	p := open(t, "train/")
	require.NoError(t, p.Eventually(ready, slow))
	for _, width := range []int{1280, 1024, 390} {
		require.NoError(t, p.Size(width, 900))
		for id, values := range map[string][]string{
			"loss": {"0.00987", "0.0000988", "1.23e-7", "2.34", "NaN"}, "step": {"1,000", "199,999"}, "speed": {"1,234", "0.0123"}, "accuracy": {"100.0", "9.8"},
		} {
			for _, v := range values {
				var over int
				require.NoError(t, p.Run(fmt.Sprintf(`const { short } = await import('../assets/dom.js'); const e = document.getElementById(%q)
					e.textContent = %q === 'loss' ? short(Number(%q), 3) : %q
					await new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))
					const range = document.createRange()
					range.selectNodeContents(e)
					return Math.ceil(range.getBoundingClientRect().width - e.parentElement.getBoundingClientRect().width)`, id, id, v, v), &over))
				assert.LessOrEqual(t, over, 0, "%s %s at %d is cut off", id, v, width)
			}
		}
	}
}

var pausedAfter = regexp.MustCompile(`^Paused after ([\d,]+) steps`)

// What the status says of a pause is what the numbers beside it say.
func TestPauseCountsSteps(t *testing.T) {
	p := open(t, "train/")
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Run(wasm, nil))
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Run(`const e = document.getElementById('batch'); e.value = '16'; e.dispatchEvent(new Event('change'))`, nil))
	require.NoError(t, p.Eventually(ready, slow))
	for i := range 4 {
		require.NoError(t, p.Run(`document.getElementById('train').click()`, nil))
		require.NoError(t, p.Eventually(fmt.Sprintf(`Number(document.getElementById('step').textContent.replace(',', '')) > %d`, 40*(i+1)), slow))
		time.Sleep(130 * time.Millisecond)
		require.NoError(t, p.Run(`document.getElementById('pause').click()`, nil))
		require.NoError(t, p.Eventually(`/^Paused after/.test(document.getElementById('status').textContent)`, slow))
		m := pausedAfter.FindStringSubmatch(text(t, p, "status"))
		require.NotNil(t, m)
		assert.Equal(t, m[1], text(t, p, "step"))
		time.Sleep(300 * time.Millisecond)
		assert.Equal(t, m[1], text(t, p, "step"), "later")
	}
}

// Whoever chooses files while it trains loses nothing before the files are there; then the figures are those of the new run.
func TestFilesWhileTraining(t *testing.T) {
	p := open(t, "train/")
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Run(wasm, nil))
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Click("#train"))
	require.NoError(t, p.Eventually(`parseFloat(document.getElementById('accuracy').textContent) > 0`, slow))
	before := step(t, p)
	require.NoError(t, p.Run(`const e = document.getElementById('data'); e.value = 'files'; e.dispatchEvent(new Event('change'))`, nil))
	require.NoError(t, p.Eventually(fmt.Sprintf(`Number(document.getElementById('step').textContent.replace(',', '')) > %d`, before+20), slow), "it goes on: %s", text(t, p, "status"))
	var hidden bool
	require.NoError(t, p.Run(`return document.getElementById('drop').hidden`, &hidden))
	assert.False(t, hidden)

	const n = 96
	folder := t.TempDir()
	file := func(name string, body []byte) string {
		name = filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(name, body, 0o666))
		return name
	}
	give(t, p, file("train-images-idx3-ubyte", idx(0x803, []uint32{n, 28, 28}, []byte(strings.Repeat("\x00\x20\x90\xff", n*196)))), file("train-labels-idx1-ubyte", idx(0x801, []uint32{n}, make([]byte, n))))
	require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
	assert.Equal(t, "0", text(t, p, "step"))
	for _, id := range []string{"accuracy", "loss", "speed"} {
		assert.Equal(t, "–", text(t, p, id), id)
	}

	// Back and forth changes nothing: the network is the one that there was.
	require.NoError(t, p.Run(`document.getElementById('train').click()`, nil))
	require.NoError(t, p.Eventually(`Number(document.getElementById('step').textContent) > 0`, slow))
	require.NoError(t, p.Run(`const e = document.getElementById('data'); e.dispatchEvent(new Event('change'))`, nil))
	time.Sleep(500 * time.Millisecond)
	assert.NotEqual(t, "0", text(t, p, "step"))
}

// Digits are there before anybody presses Train, with what a network that has learnt nothing takes them for; then it is measured often at
// first, so that the curve bends where it learns.
func TestGuessesBeforeAndMeasurementsAtFirst(t *testing.T) {
	p := open(t, "train/")
	require.NoError(t, p.Eventually(`document.querySelectorAll('#samples button:not([disabled])').length === 20`, slow), text(t, p, "problem"))
	assert.Equal(t, "0", text(t, p, "step"))
	assert.Contains(t, text(t, p, "samples-text"), "these are guesses")
	var wrong int
	require.NoError(t, p.Run(`return document.querySelectorAll('#samples .wrong').length`, &wrong))
	assert.Greater(t, wrong, 5, "of 20 guesses most are wrong")
	var before bool
	require.NoError(t, p.Size(390, 844))
	require.NoError(t, p.Run(`return document.querySelector('.reader').getBoundingClientRect().top < document.querySelector('.progress').getBoundingClientRect().top`, &before))
	assert.True(t, before, "drawing comes before plots on a telephone")
	require.NoError(t, p.Size(1280, 1000))
	require.NoError(t, p.Run(wasm, nil))
	require.NoError(t, p.Eventually(ready, slow))
	require.NoError(t, p.Click("#train"))
	require.NoError(t, p.Eventually(`document.querySelectorAll('#plot-accuracy .dot').length >= 6`, slow))
	assert.Less(t, step(t, p), 150, "steps until it was measured six times")
	require.NoError(t, p.Click("#pause"))
}
