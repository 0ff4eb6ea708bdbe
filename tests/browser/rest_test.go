package browser_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A first result, and a small network captured, come before the rest of the engine: here it is held back until they are there.
func TestFirstResultNeedsNoRest(t *testing.T) {
	there := make(chan struct{})
	p := between(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/there":
			close(there)
			return true
		case "/rest.wasm":
			select {
			case <-there:
			case <-time.After(time.Minute):
				http.Error(w, "the first result is not there", http.StatusInternalServerError)
				return true
			}
		}
		return false
	})
	var got []float64
	require.NoError(t, p.Run(`
		const w = await weft.open()
		const x = w.tensor([[1, 2], [3, 4]])
		const sum = await x.matmul(x).relu().sum().item()
		const model = w.nn.linear(2, 2)
		const f = w.capture((x) => model.forward(x).softmax())
		const likely = await (await f.run(x)).sum().item()
		await fetch('/there')
		const [values] = w.tensor([[2, 1], [1, 2]]).eigh()
		const eigen = [...await values.data()]
		w.close()
		return [sum, likely, ...eigen]`, &got))
	require.Len(t, got, 4)
	assert.InDeltaSlice(t, []float64{54, 2, 1, 3}, got, 1e-5)
}

// What is in the rest is there when it is called, whether the rest has come before or not, and the browser remembers that somebody waited for it.
func TestRestComesWhenItIsCalled(t *testing.T) {
	var asked atomic.Int32
	p := between(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/rest.wasm" {
			asked.Add(1)
		}
		return false
	})
	const calls = `
		const w = await weft.open({device: 'wasm'})
		const x = w.tensor([[1, 0], [2, 0], [3, 0], [4, 0]])
		const spectrum = [...await x.fft().data()]
		const [values] = w.tensor([[2, 1], [1, 2]]).eigh()
		const why = await w.tensor([[1, 2], [2, 4]]).inv().data().then(String, (e) => e.message)
		const out = {spectrum, values: [...await values.data()], why, kept: localStorage.getItem('weft.rest')}
		w.close()
		return out`
	for range 2 {
		var got struct {
			Spectrum, Values []float64
			Why, Kept        string
		}
		require.NoError(t, p.Run(calls, &got))
		assert.InDeltaSlice(t, []float64{10, 0, -2, 2, -2, 0, -2, -2}, got.Spectrum, 1e-5)
		assert.InDeltaSlice(t, []float64{1, 3}, got.Values, 1e-5)
		assert.Regexp(t, "^inv: .*singular", got.Why)
		assert.Equal(t, "1", got.Kept)
		assert.Positive(t, asked.Load())
	}
}

// A rest that cannot be had ends the engine, in words that say which file is wrong and why; what was computed before was right.
func TestRestThatIsNotThere(t *testing.T) {
	var kind atomic.Value
	kind.Store("missing")
	p := between(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/rest.wasm" {
			return false
		}
		w.Header().Set("Cache-Control", "no-store")
		if kind.Load() == "missing" {
			http.NotFound(w, r)
			return true
		}
		rest, err := os.ReadFile(filepath.Join(shared.folder, "rest.wasm"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return true
		}
		id := regexp.MustCompile(`first\x10([0-9a-f]{16})`).FindSubmatch(rest)
		w.Header().Set("Content-Type", "application/wasm")
		_, _ = w.Write(bytes.Replace(rest, id[1], []byte("0123456789abcdef"), 1))
		return true
	})
	for _, c := range []struct{ kind, says string }{
		{"missing", `/rest\.wasm cannot be loaded: 404 Not Found`}, {"other", `/rest\.wasm is of another build than weft\.wasm`},
	} {
		kind.Store(c.kind)
		var got []string
		require.NoError(t, p.Run(`
			localStorage.removeItem('weft.rest')
			const w = await weft.open({device: 'wasm'})
			const x = w.tensor([[1, 2], [3, 4]])
			const sum = await x.matmul(x).sum().item()
			const said = (e) => e.message
			const why = await x.fft().data().then(String, said)
			const then = await (async () => x.sum().item())().then(String, said)
			w.close()
			return [String(sum), why, then]`, &got))
		require.Len(t, got, 3, c.kind)
		assert.Equal(t, "54", got[0])
		assert.Regexp(t, c.says, got[1])
		assert.Regexp(t, c.says, got[2])
	}
}
