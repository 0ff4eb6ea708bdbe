package browser_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A browser may keep a module of one build beside scripts of another. That is told as such, whatever would come of it.
func TestModulesOfAnotherBuild(t *testing.T) {
	var got struct{ Module, Worker, Rest string }
	require.NoError(t, building(t))
	inNode(t, `
		const { mkdtempSync, readFileSync, writeFileSync, symlinkSync, readdirSync } = await import('node:fs')
		const { join } = await import('node:path')
		const { tmpdir } = await import('node:os')
		const { pathToFileURL } = await import('node:url')
		const from = `+strconv.Quote(filepath.ToSlash(shared.folder))+`
		// A folder with one file of another build.
		const mixed = (name, change) => {
			const to = mkdtempSync(join(tmpdir(), 'weft-mixed-'))
			for (const f of readdirSync(from)) if (f === name) writeFileSync(join(to, f), change(readFileSync(join(from, f)))); else symlinkSync(join(from, f), join(to, f))
			return to
		}
		const bytes = (at, text) => (data) => { data.write(text, data.length - at, 'latin1'); return data }
		const id = readFileSync(join(from, 'weft.wasm')).subarray(-8).toString('latin1')
		const opened = (name, change) => told(async () => { const w = await weft.open({ device: 'wasm', folder: pathToFileURL(mixed(name, change)) }); try { return await w.ones([2]).fft().list() } finally { w.close() } })
		return {
			module: await opened('weft.wasm', bytes(8, 'ffffffff')), rest: await opened('rest.wasm', bytes(8, 'ffffffff')),
			worker: await opened('worker.js', (data) => data.toString().replaceAll(id, 'ffffffff')),
		}`, &got)
	assert.Regexp(t, `^Error: open: .*/weft\.wasm is of another build than weft\.js and worker\.js; load the page anew, and see to it that all come from one build$`, got.Module)
	assert.Regexp(t, `/rest\.wasm is of another build than weft\.js and worker\.js; load the page anew`, got.Rest)
	assert.Equal(t, "Error: open: worker.js is of another build than weft.js; load the page anew, and see to it that all come from one build", got.Worker)
}
