package browser_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
	need "github.com/weft-ml/weft/tests/require"
)

// breaking serves a file and breaks connections. An answer has piece bytes at most, though it promises all.
type breaking struct {
	file, other []byte
	down        atomic.Bool
	asked       atomic.Int64
}

func (s *breaking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch name {
	case "down", "up":
		s.down.Store(name == "down")
		return
	case "asked":
		fmt.Fprint(w, s.asked.Swap(0))
		return
	}
	n := s.asked.Add(1)
	if s.down.Load() {
		panic(http.ErrAbortHandler)
	}
	file, tag, piece := s.file, `"first"`, 10000
	switch name {
	case "whole.onnx":
		piece = len(file)
	case "changes.onnx": // after the first answer it is another file
		if n > 1 {
			file, tag, piece = s.other, `"second"`, len(s.other)
		}
	case "no-ranges.onnx": // and the first answer breaks
		r.Header.Del("Range")
		if n > 1 {
			piece = len(file)
		}
	}
	w.Header().Set("ETag", tag)
	http.ServeContent(&short{w, piece}, r, name, time.Time{}, bytes.NewReader(file))
}

// short is an answer whose connection breaks.
type short struct {
	http.ResponseWriter
	left int
}

func (s *short) Write(b []byte) (int, error) {
	n := min(len(b), s.left)
	s.left -= n
	if m, err := s.ResponseWriter.Write(b[:n]); err != nil || n == len(b) {
		return m, err
	}
	s.ResponseWriter.(http.Flusher).Flush()
	time.Sleep(50 * time.Millisecond) // for what was sent to arrive
	panic(http.ErrAbortHandler)
}

// A model from an address goes on where its connection broke; what is kept does not come again, has a size, and can be cleared.
func TestKeptModels(t *testing.T) {
	file, err := os.ReadFile(need.Data(t, "models", "mnist-8", "model.onnx"))
	require.NoError(t, err)
	s := &breaking{file: file, other: append(bytes.Clone(file), 0x7a, 1, 'x')} // with a field that nobody knows
	p := openFrom(t, func(folders ...string) *httptest.Server {
		site := browser.Serve(folders...)
		t.Cleanup(site.Close)
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/breaking/") {
				s.ServeHTTP(w, r)
				return
			}
			site.Config.Handler.ServeHTTP(w, r)
		}))
	})
	sum := fmt.Sprintf("%x", sha256.Sum256(file))
	type keeps struct {
		Bytes int
		Files []struct {
			Address string
			Bytes   int
			Whole   bool
		}
	}
	var got struct {
		Asked    map[string]int
		Sums     []float64
		Loaded   []int
		Messages []string
		Kept     []keeps
	}
	require.NoError(t, p.Run(fmt.Sprintf(`
		const w = await weft.open({device: 'wasm', models: true})
		await w.clearKept()
		const sha256 = %q, out = {asked: {}, sums: [], loaded: [], messages: [], kept: []}
		const told = async (name) => Number(await (await fetch('breaking/' + name)).text())
		const picture = new Float32Array(784).fill(100)
		const read = async (step, file, options) => {
			await told('asked')
			try {
				const m = await w.onnx('breaking/' + file, options)
				const {Plus214_Output_0: y} = await m.run({Input3: picture})
				out.sums.push(await y.sum().item())
				m.close()
			} catch (e) { out.messages.push(e.message) }
			out.asked[step] = await told('asked')
			out.kept.push(await w.kept())
		}
		await read('goes on', 'breaks.onnx', {sha256: sha256.toUpperCase(), onprogress: (p) => out.loaded.push(p.loaded)})
		await read('changes', 'changes.onnx')
		await read('no ranges', 'no-ranges.onnx', {cache: true, sha256: {'no-ranges.onnx': sha256}})
		await w.clearKept('breaking/no-ranges.onnx')
		const half = w.onnx('breaking/breaks.onnx', {cache: true, onprogress: (p) => fetch('breaking/down')})
		await half.catch((e) => out.messages.push(e.message))
		out.kept.push(await w.kept())
		await told('up')
		await read('later', 'breaks.onnx', {cache: true, sha256})
		await told('down')
		await read('kept', 'breaks.onnx', {cache: true})
		await told('up')
		await read('wrong', 'whole.onnx', {cache: true, sha256: sha256.replaceAll('a', 'b')})
		await read('no hash', 'whole.onnx', {sha256: 'abc'})
		await w.clearKept()
		out.kept.push(await w.kept())
		await told('asked')
		await read('thrown', 'whole.onnx', {onprogress: () => { throw new Error('of the page') }})
		out.kept.pop()
		for (const f of [() => w.onnx(new Blob(['x']), {cache: true}), () => w.onnx(['a', 'b'], {sha256})]) await f().catch((e) => out.messages.push(e.message))
		w.close()
		return out`, sum), &got))
	p.Problems() // the browser's own words about what it could not load
	n := len(file)
	require.Len(t, got.Sums, 5, "%v", got.Messages)
	for _, v := range got.Sums {
		assert.Equal(t, got.Sums[0], v)
	}
	assert.Equal(t, 3, got.Asked["goes on"], "of %d bytes 10000 come at once", n)
	assert.Equal(t, n, got.Loaded[len(got.Loaded)-1])
	assert.IsIncreasing(t, got.Loaded, "nothing comes twice")
	assert.Equal(t, []int{2, 2, 0, 1}, []int{got.Asked["changes"], got.Asked["no ranges"], got.Asked["kept"], got.Asked["thrown"]})
	assert.Less(t, got.Asked["later"], 3)
	require.Len(t, got.Kept, 9)
	assert.Equal(t, []int{0, 0, n}, []int{got.Kept[0].Bytes, got.Kept[1].Bytes, got.Kept[2].Bytes})
	part := got.Kept[3]
	require.Len(t, part.Files, 1)
	assert.False(t, part.Files[0].Whole)
	assert.Contains(t, part.Files[0].Address, "/breaking/breaks.onnx")
	assert.True(t, part.Bytes >= 10000 && part.Bytes < n, "%d", part.Bytes)
	require.Len(t, got.Kept[4].Files, 1)
	assert.True(t, got.Kept[4].Files[0].Whole)
	assert.Equal(t, n, got.Kept[4].Bytes)
	assert.Equal(t, n, got.Kept[6].Bytes, "a file with the wrong hash is not kept")
	assert.Zero(t, got.Kept[8].Bytes)
	require.Len(t, got.Messages, 6)
	for i, want := range []string{"goes on from there", "has the SHA-256 " + sum, "64 hexadecimal digits", "onprogress has thrown: of the page", "leave out cache", "a sha256 each"} {
		assert.Contains(t, got.Messages[i], want)
	}
}
