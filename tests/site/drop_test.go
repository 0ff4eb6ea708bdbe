package site

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
	need "github.com/weft-ml/weft/tests/require"
)

// drop drops files in the middle of the page, as from a window of files.
func drop(t *testing.T, p *browser.Page, files ...string) {
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		require.NoError(t, p.Call("Input.dispatchDragEvent", map[string]any{
			"type": kind, "x": 300, "y": 300, "data": map[string]any{"items": []any{}, "files": files, "dragOperationsMask": 1},
		}, nil))
	}
}

// MNIST itself, dropped as it is fetched, then with a file that is none of it: what was there stays.
func TestDropMNIST(t *testing.T) {
	folder := need.Data(t, "mnist")
	files, err := filepath.Glob(filepath.Join(folder, "*ubyte.gz"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	p := open(t, "train/")
	require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
	require.NoError(t, p.Run(`const e = document.getElementById('device-choice'); e.value = 'wasm'; e.dispatchEvent(new Event('change'))`, nil))
	require.NoError(t, p.Eventually(ready, slow))
	longer, err := p.Tasks()
	require.NoError(t, err)
	drop(t, p, files...)
	require.NoError(t, p.Eventually(`/60,000 digits to train on, 10,000 held back/.test(document.getElementById('found').textContent)`, slow),
		"%s %s", text(t, p, "problem"), text(t, p, "found"))
	require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
	require.NoError(t, p.Click("#train"))
	require.NoError(t, p.Eventually(`parseFloat(document.getElementById('accuracy').textContent) >= 90`, slow),
		"step %s: %s %%", text(t, p, "step"), text(t, p, "accuracy"))
	t.Logf("MNIST: %s %% after %s steps", text(t, p, "accuracy"), text(t, p, "step"))
	calm(t, longer)
	seven(t, p)
	require.NoError(t, p.Eventually(`document.getElementById('answer').textContent === '7'`, slow), text(t, p, "answer"))
	more(t, p, "mnist")

	before := step(t, p)
	wrong := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(wrong, []byte(strings.Repeat("no digits ", 100)), 0o666))
	drop(t, p, wrong)
	require.NoError(t, p.Eventually(`/notes.txt: it does not begin like an idx file/.test(document.getElementById('problem').textContent)`, slow))
	assert.Contains(t, text(t, p, "found"), "60,000 digits to train on")
	require.NoError(t, p.Eventually(`/training|paused/.test(document.getElementById('status').dataset.state)`, slow))
	assert.GreaterOrEqual(t, step(t, p), before, "a wrong file takes nothing away")
}
