package site

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
)

// runs waits until a page of the gallery says what matches, and looks at it like every page: no task over 50 ms, no scroll bar, in light and
// dark.
func runs(t *testing.T, path, name, says string, more func(p *browser.Page)) {
	p := open(t, path)
	longer, err := p.Tasks()
	require.NoError(t, err)
	require.NoError(t, p.Eventually(says, slow), text(t, p, "problem")+text(t, p, "status"))
	if more != nil {
		more(p)
	}
	assert.Empty(t, text(t, p, "problem"))
	calm(t, longer)
	shots(t, p, name)
	require.NoError(t, p.Click("#run"))
	require.NoError(t, p.Eventually(`document.getElementById('run').textContent === 'Run'`, slow))
}

func TestGalleryWave(t *testing.T) {
	runs(t, "gallery/wave/", "wave", `/^\d{3,} steps/.test(document.getElementById('status').textContent)`, func(p *browser.Page) {
		var levels int // of one colour: water that stands still has one
		const look = `const c = document.getElementById('water'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data
			return new Set(Array.from({length: d.length / 4}, (_, i) => d[4 * i])).size`
		require.NoError(t, p.Run(look, &levels))
		assert.Greater(t, levels, 8, "shades of water")
		require.NoError(t, p.Click("#water"))
		require.NoError(t, p.Click("#drop"))
	})
}

func TestGalleryClusters(t *testing.T) {
	runs(t, "gallery/clusters/", "clusters", `/no point moves/.test(document.getElementById('status').textContent)`, func(p *browser.Page) {
		require.NoError(t, p.Run(`const e = document.getElementById('groups'); e.value = '6'; e.dispatchEvent(new Event('change'))`, nil))
		require.NoError(t, p.Eventually(`/^Round 1:/.test(document.getElementById('status').textContent)`, slow))
	})
}

func TestGalleryWriter(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a network in Chromium")
	}
	runs(t, "gallery/writer/", "writer", `document.getElementById('written').textContent.startsWith('This is the')`, func(p *browser.Page) {
		loss, err := strconv.ParseFloat(text(t, p, "loss"), 64)
		require.NoError(t, err)
		assert.Less(t, loss, 2.9, "it has learnt something")
	})
}

func TestGalleryList(t *testing.T) {
	p := open(t, "gallery/")
	shots(t, p, "gallery")
}
