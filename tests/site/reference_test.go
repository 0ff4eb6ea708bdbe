package site

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every example of the reference runs, and gives something.
func TestExamplesOfTheReference(t *testing.T) {
	p := open(t, "reference/")
	var got struct {
		N      int
		Failed []string
	}
	require.NoError(t, p.Run(`
		const { groups } = await import('./groups.js')
		const { told } = await import('./told.js')
		const { open } = await import('../weft.js')
		const w = await open({ device: 'wasm' })
		const failed = []
		let n = 0
		for (const g of groups) {
			for (const m of (await import('./groups/' + g.id + '.js')).methods) {
				if (!m.run) continue
				n++
				try {
					if (!(await told(w, m)).length) failed.push(m.name + ': nothing')
				} catch (err) {
					failed.push(m.name + ': ' + err.message)
				}
			}
		}
		w.close()
		return { N: n, Failed: failed }`, &got))
	assert.Empty(t, got.Failed)
	assert.Greater(t, got.N, 350)
	t.Logf("%d examples", got.N)
}

// A group is shown, another one chosen, a method searched for, and its example run by its button.
func TestReference(t *testing.T) {
	p := open(t, "reference/")
	require.NoError(t, p.Eventually(`document.querySelectorAll('.method').length > 20`, slow))
	shots(t, p, "reference")
	longer, err := p.Tasks()
	require.NoError(t, err)
	require.NoError(t, p.Run(`location.hash = '#losses'`, nil))
	require.NoError(t, p.Eventually(`document.getElementById('title').textContent === 'Losses' && document.querySelectorAll('.method').length > 5`, slow))
	require.NoError(t, p.Run(`const e = document.getElementById('search'); e.value = 'softm'; e.dispatchEvent(new Event('input'))`, nil))
	require.NoError(t, p.Eventually(`document.querySelector('.method')?.id === 'softmax' && document.querySelectorAll('.method').length > 1`, slow))
	require.NoError(t, p.Click(`#softmax button`))
	calm(t, longer)
	require.NoError(t, p.Eventually(`/^Float32Array \[3, 8\]/.test(document.querySelector('#softmax output').textContent)`, slow), text(t, p, "softmax"))
	require.NoError(t, p.Run(`const e = document.getElementById('search'); e.value = 'nothing that there is'; e.dispatchEvent(new Event('input'))`, nil))
	require.NoError(t, p.Eventually(`/^No method/.test(document.getElementById('status').textContent)`, slow))
}
