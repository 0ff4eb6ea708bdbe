package site

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
)

// workers has a page keep its workers where a test can reach them; it loads the page anew.
func workers(t *testing.T, p *browser.Page) {
	require.NoError(t, p.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `
		globalThis.workers = []
		const Plain = Worker
		globalThis.Worker = class extends Plain { constructor(...args) { super(...args); workers.push(this) } }`}, nil))
	var at string
	require.NoError(t, p.Run("return location.href", &at))
	require.NoError(t, p.Go(at))
}

// A graphics processor that is lost while the page trains: the page says so and goes on where it was.
func TestLostWhileTraining(t *testing.T) {
	p := open(t, "train/")
	workers(t, p)
	require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
	require.NoError(t, p.Run(`const e = document.getElementById('device-choice'); e.value = 'webgpu'; e.dispatchEvent(new Event('change'))`, nil))
	require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
	step := func() int {
		n, err := strconv.Atoi(strings.ReplaceAll(text(t, p, "step"), ",", ""))
		require.NoError(t, err)
		return n
	}
	require.NoError(t, p.Click("#train"))
	require.NoError(t, p.Eventually(`Number(document.getElementById('step').textContent) > 10`, slow))
	before := step()
	require.NoError(t, p.Run(`workers.at(-1).postMessage({lose: true})`, nil))
	require.NoError(t, p.Eventually(`/lost/.test(document.getElementById('note').textContent)`, slow))
	t.Log(text(t, p, "note"))
	err := p.Eventually(`/is there again, with the weights/.test(document.getElementById('note').textContent)`, slow)
	require.NoError(t, err, "step %d after %d, %s; %s", step(), before, text(t, p, "status"), text(t, p, "problem"))
	require.NoError(t, p.Eventually(`Number(document.getElementById('step').textContent) > `+strconv.Itoa(before+10), slow))
	assert.GreaterOrEqual(t, step(), before, "steps are not begun again")
	var loss float64
	require.NoError(t, p.Run(`return Number(document.getElementById('loss').textContent)`, &loss))
	assert.Less(t, loss, 2., "with new weights it would be 2.5")
	assert.Empty(t, text(t, p, "problem"))
	assert.Equal(t, "WEBGPU", text(t, p, "device"))
}
