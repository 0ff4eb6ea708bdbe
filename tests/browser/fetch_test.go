package browser_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
)

// weights serves bytes in the ways that servers do, beside the page.
type weights struct {
	file    []byte
	asked   sync.Map     // how often, by path
	ranges  atomic.Int64 // parts that were asked for
	changed atomic.Bool  // other bytes from now on
	down    atomic.Bool
}

func (s *weights) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, _ := s.asked.LoadOrStore(r.URL.Path, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
	if s.down.Load() {
		panic(http.ErrAbortHandler)
	}
	if r.Header.Get("Range") != "" {
		s.ranges.Add(1)
	}
	file := s.file
	if s.changed.Load() {
		file = append([]byte{1}, file[1:]...)
	}
	switch r.URL.Path {
	case "/weights/parts.bin": // a server with ranges
		http.ServeContent(w, r, "parts.bin", time.Time{}, strings.NewReader(string(file)))
	case "/weights/all.bin": // one without
		w.Write(file)
	case "/weights/odd.bin": // in pieces that end within words
		for at, i := 0, 1; at < len(file); i++ {
			end := min(at+i%7+1+i*13, len(file))
			w.Write(file[at:end])
			w.(http.Flusher).Flush()
			at = end
		}
	case "/weights/broken.bin":
		w.Header().Set("Content-Length", fmt.Sprint(len(file)))
		w.Write(file[:len(file)/2])
		w.(http.Flusher).Flush()
		time.Sleep(50 * time.Millisecond)
		panic(http.ErrAbortHandler)
	case "/weights/slow.bin":
		w.Write(file[:8])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		http.NotFound(w, r)
	}
}

func (s *weights) count(path string) int {
	n, ok := s.asked.Load(path)
	if !ok {
		return 0
	}
	return int(n.(*atomic.Int64).Load())
}

// openWith opens the test page with weights beside it.
func openWith(t *testing.T, s *weights, serve func(folders ...string) *httptest.Server) *browser.Page {
	return openFrom(t, func(folders ...string) *httptest.Server {
		site := serve(folders...)
		t.Cleanup(site.Close)
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			if strings.HasPrefix(r.URL.Path, "/weights/") {
				s.ServeHTTP(w, r)
				return
			}
			site.Config.Handler.ServeHTTP(w, r)
		}))
	})
}

// counting is a file of little-endian int32: 0, 1, 2, …
func counting(n int) []byte {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

// Bytes arrive whole in whichever pieces, from servers with ranges and without, as any type, several at once.
func TestFetch(t *testing.T) {
	s := &weights{file: counting(300_001)}
	for device, serve := range map[string]func(...string) *httptest.Server{"wasm": browser.ServeIsolated, "webgpu": browser.Serve} {
		p := openWith(t, s, serve) // threads share the memory that is written to
		before := s.ranges.Load()
		var got struct {
			Wrong  []string
			Told   [][2]int
			Sum    float64
			Double string
			Types  map[string][]float64
		}
		require.NoError(t, p.Run(fmt.Sprintf(`
			const w = await weft.open({device: %q})
			const wrong = [], told = []
			const check = async (name, x, from) => {
				const data = await x.data()
				for (let i = 0; i < data.length; i++) if (data[i] !== from + i) { wrong.push(name + ' at ' + i + ': ' + data[i]); return }
			}
			const n = 300001, dtype = 'i32'
			const onprogress = ({loaded, total}) => told.push([loaded, total])
			const list = await Promise.all([
				w.fetch('weights/parts.bin', [n], {dtype, onprogress}), w.fetch(new URL('weights/odd.bin', location), [3, 5], {dtype, offset: 12}),
				w.fetch('weights/odd.bin', [n], {dtype}), w.fetch('weights/parts.bin', [100, 1000], {dtype, offset: 4000}),
				w.fetch('weights/all.bin', [1001], {dtype, offset: 1196000}), w.fetch('weights/all.bin', [0], {dtype, offset: 7}),
			])
			const froms = [0, 3, 0, 1000, 299000, 0]
			for (const [i, x] of list.entries()) await check('fetch ' + i, x, froms[i])
			const sum = await list[3].to('f32').mean().item()
			const types = {}
			for (const [dtype, shape, offset] of [['u8', [7], 5], ['i64', [3], 8], ['f16', [5], 4], ['bool', [4], 4], ['f64', [2], 4], ['u16', [3], 2]])
				types[dtype] = Array.from(await (await w.fetch('weights/parts.bin', shape, {dtype, offset})).data(), Number)
			types.half = Array.from(await (await w.fetch('weights/parts.bin', [3], {dtype: 'u8', offset: 5})).add(1).data(), Number)
			types.long = Array.from(await (await w.fetch('weights/parts.bin', [2], {dtype: 'i64', offset: 8})).add(1).data(), Number)
			const double = await (await w.fetch('weights/parts.bin', [2], {dtype: 'f64', offset: 4})).add(1).data().then(String, (e) => e.message)
			w.close()
			return {wrong, told, sum, types, double}`, device), &got))
		assert.Empty(t, got.Wrong, device)
		require.NotEmpty(t, got.Told, device)
		for i, news := range got.Told {
			assert.Equal(t, 1200004, news[1])
			if i > 0 {
				assert.Greater(t, news[0], got.Told[i-1][0], device)
			}
		}
		assert.Equal(t, 1200004, got.Told[len(got.Told)-1][0])
		assert.Equal(t, 1000+99999/2., got.Sum, device)
		assert.Equal(t, []float64{0, 0, 0, 2, 0, 0, 0}, got.Types["u8"], device)
		assert.Equal(t, []float64{2 + 3<<32, 4 + 5<<32, 6 + 7<<32}, got.Types["i64"], device)
		assert.Equal(t, []float64{1.0 / (1 << 24), 0, 2.0 / (1 << 24), 0, 3.0 / (1 << 24)}, got.Types["f16"], device)
		assert.Equal(t, []float64{1, 0, 0, 0}, got.Types["bool"], device)
		assert.Len(t, got.Types["f64"], 2, device)
		assert.Equal(t, []float64{0, 1, 0}, got.Types["u16"], device)
		assert.Equal(t, []float64{1, 1, 1}, got.Types["half"], device)
		assert.Equal(t, []float64{3 + 3<<32, 5 + 5<<32}, got.Types["long"], device)
		assert.Equal(t, device == "webgpu", strings.Contains(got.Double, "float64"), got.Double)
		assert.EqualValues(t, 12, s.ranges.Load()-before, "parts that were asked for")
	}
}

// What goes wrong is said in words, with the address and the numbers of bytes; and whoever ends a fetch has its reason.
func TestFetchFails(t *testing.T) {
	s := &weights{file: counting(10)}
	p := openWith(t, s, browser.Serve)
	for _, device := range []string{"wasm", "webgpu"} {
		var got map[string]string
		require.NoError(t, p.Run(fmt.Sprintf(`
			const w = await weft.open({device: %q})
			const said = async (name, shape, options) => { try { return 'no error: ' + await (await w.fetch('weights/' + name, shape, options)).data() } catch (e) { return e.message } }
			const slow = new AbortController(), none = new AbortController()
			none.abort(new Error('not wanted at all'))
			const out = {
				missing: await said('missing.bin', [3]), few: await said('all.bin', [11]), many: await said('all.bin', [9]),
				beyond: await said('parts.bin', [3], {offset: 1000}), over: await said('parts.bin', [3], {offset: 32}), overAll: await said('all.bin', [3], {offset: 32}),
				broken: await said('broken.bin', [10]), type: await said('all.bin', [10], {dtype: 'f23'}), order: await said('all.bin', [10], {dtype: '>f4'}),
				shape: await said('all.bin', [-1]), offset: await said('all.bin', [1], {offset: -4}), option: await said('all.bin', [1], {from: 4}),
				huge: await said('all.bin', [1 << 20, 1 << 20, 1 << 20]), large: await said('all.bin', [1 << 18, 1 << 18]), truth: await said('all.bin', [40], {dtype: 'bool'}),
				none: await said('all.bin', [10], {signal: none.signal}), address: await w.fetch('http://127.0.0.1:1/x', [1]).catch((e) => e.message),
			}
			out.slow = await said('slow.bin', [10], {signal: slow.signal, onprogress: () => slow.abort(new Error('enough'))})
			out.after = await said('all.bin', [10], {dtype: 'i32'})
			w.close()
			return out`, device), &got))
		p.Problems() // the browser's own words about what it could not load
		for name, want := range map[string][]string{
			"missing": {"/weights/missing.bin: 12 bytes are expected; the server answers 404 Not Found"},
			"few":     {"/weights/all.bin: 44 bytes are expected; 40 arrived"},
			"many":    {"/weights/all.bin: 36 bytes are expected; more arrive (content-length: 40); give offset"},
			"beyond":  {"/weights/parts.bin: 12 bytes from 1000 on are expected; the server answers 416", "bytes */40"},
			"over":    {"/weights/parts.bin: 12 bytes from 32 on are expected; 8 arrived"},
			"overAll": {"/weights/all.bin: 12 bytes from 32 on are expected; 8 arrived"},
			"broken":  {"/weights/broken.bin: 40 bytes are expected; it broke off after 20"},
			"type":    {`there is no element type "f23"`},
			"order":   {"/weights/all.bin: elements are read as little-endian"},
			"shape":   {"axis 0 has the negative size -1"},
			"offset":  {"/weights/all.bin: the offset is -4"},
			"option":  {`there is no option "from"`},
			"huge":    {"larger than any memory"},
			"large":   {map[string]string{"wasm": "WASM: out of memory: asked for 274877906944 bytes", "webgpu": "274877906944 bytes"}[device]},
			"truth":   {"/weights/all.bin: 40 bytes are expected; some are neither 0 nor 1"},
			"none":    {"not wanted at all"},
			"address": {"it cannot be reached"},
			"slow":    {"enough"},
			"after":   {"no error: 0,1,2,3,4,5,6,7,8,9"},
		} {
			for _, part := range want {
				assert.Contains(t, got[name], part, "%s: %s", device, name)
			}
		}
	}
}

// What was fetched comes back after a loss, though nobody kept it: it is fetched again. A loss while it arrives does no harm
// either, and bytes that are others now, or nowhere, are not taken for those of before.
func TestFetchedComesBack(t *testing.T) {
	s := &weights{file: counting(1 << 20)}
	p := openWith(t, s, browser.Serve)
	var got struct {
		Before, After, During float64
		First, Wrong          int
		Changed, Down, Later  string
	}
	require.NoError(t, p.Run(losable+`
		globalThis.w = await opened()
		globalThis.lost = lose
		globalThis.x = await w.fetch('weights/all.bin', [1 << 20], {dtype: 'i32'})
		globalThis.y = x.to('f32').mul(2)
		const before = await y.mean().item()
		await lose(200)
		const after = await y.mean().item()
		const data = await x.data()
		let wrong = 0
		for (let i = 0; i < data.length; i++) if (data[i] !== i) wrong++
		let losses = 0
		const many = Array.from({length: 4}, () => w.fetch('weights/odd.bin', [1 << 20], {dtype: 'i32', onprogress: () => { if (losses++ < 2) lose(0) }}))
		const sums = await Promise.all(many.map(async (f) => (await f).to('f32').mean().item()))
		return {before, after, wrong, first: data[5], during: sums.reduce((a, b) => a + b) / 4}`, &got))
	assert.Equal(t, got.Before, got.After)
	assert.Equal(t, 5, got.First)
	assert.Zero(t, got.Wrong)
	assert.InEpsilon(t, float64(1<<20-1)/2, got.During, 1e-6)
	assert.GreaterOrEqual(t, s.count("/weights/all.bin"), 2)

	said := `
		const said = async () => { try { return 'mean ' + await y.mean().item() } catch (e) { return e.message } }
		await lost(200)
`
	s.changed.Store(true)
	require.NoError(t, p.Run(said+`return {changed: await said()}`, &got))
	assert.Contains(t, got.Changed, "/weights/all.bin: it has other bytes than before")
	s.changed.Store(false)
	s.down.Store(true)
	require.NoError(t, p.Run(said+`return {down: await said()}`, &got))
	assert.Contains(t, got.Down, "/weights/all.bin: 4194304 bytes are expected; it cannot be reached")
	s.down.Store(false)
	require.NoError(t, p.Run(said+`const later = await said(); w.close(); return {later}`, &got))
	assert.Equal(t, fmt.Sprintf("mean %.1f", got.Before), got.Later)
	p.Problems() // the browser's own words about what it could not load
}
