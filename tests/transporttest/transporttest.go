// Package transporttest has the tests that every native transport of WEBGPU passes, whatever its GPU library. It refuses to
// know which one it is: the test opens it.
package transporttest

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/runtime/webgpu"
)

// Twice doubles a word of its buffer after n rounds of something slow.
const Twice = `@group(0) @binding(0) var<uniform> u: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> p: array<u32>;
@compute @workgroup_size(1) fn twice() {
	var x = p[0];
	for (var i = 0u; i < u.x; i++) { x = x * 1664525u + 1013904223u; }
	p[0] = select(p[0], p[0] * 2u, x != p[0]);
}`

// Binds are its bindings.
var Binds = []webgpu.Bind{webgpu.BindUniform, webgpu.BindReadWrite}

// twice is a run of Twice over a buffer, of 60,000 rounds, and what it uses.
func twice(t *testing.T, g webgpu.Transport, b webgpu.Buffer) (run webgpu.Command, used []interface{ Release() }) {
	u, err := g.Buffer(16, webgpu.Uniform)
	require.NoError(t, err)
	require.NoError(t, g.Write(u, 0, append(binary.LittleEndian.AppendUint32(nil, 60000), make([]byte, 12)...)))
	p, err := g.Pipeline(Twice, "twice", Binds)
	require.NoError(t, err)
	group, err := g.Group(p, []webgpu.Entry{{Buffer: u, Size: 16}, {Buffer: b, Size: 256}})
	require.NoError(t, err)
	return webgpu.Command{Pipeline: p, Group: group, Grid: [3]uint32{1, 1, 1}}, []interface{ Release() }{group, p, u}
}

// ReleasedWhileRunning: what was submitted runs although everything that it uses was given back meanwhile.
func ReleasedWhileRunning(t *testing.T, g webgpu.Transport) {
	b, err := g.Buffer(256, webgpu.Storage)
	require.NoError(t, err)
	out, err := g.Buffer(256, webgpu.Storage)
	require.NoError(t, err)
	require.NoError(t, g.Write(b, 0, binary.LittleEndian.AppendUint32(nil, 21)))
	func() {
		run, used := twice(t, g, b)
		require.NoError(t, g.Submit([]webgpu.Command{run, run, {To: out, From: b, Bytes: 256}}))
		for _, o := range append(used, b) {
			o.Release()
		}
	}()
	for range 3 {
		runtime.GC()
	}
	more, err := g.Buffer(256, webgpu.Storage) // perhaps in the place of what was given back
	require.NoError(t, err)
	require.NoError(t, g.Write(more, 0, make([]byte, 256)))
	got := make([]byte, 4)
	require.NoError(t, g.Read(context.Background(), got, out, 0))
	assert.Equal(t, uint32(84), binary.LittleEndian.Uint32(got))
}

// Waits: a wait that a context can end goes on until all work is done, so that another one after it has nothing to wait for.
func Waits(t *testing.T, g webgpu.Transport) {
	b, err := g.Buffer(256, webgpu.Storage)
	require.NoError(t, err)
	run, _ := twice(t, g, b)
	require.NoError(t, g.Submit(slices.Repeat([]webgpu.Command{run}, 500))) // a tenth of a second on any machine
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	start := time.Now()
	require.NoError(t, g.Wait(ctx))
	first := time.Since(start)
	require.NoError(t, g.Wait(context.Background()))
	assert.Less(t, time.Since(start)-first, first, "the second wait, which should find nothing to wait for")
}

// Refused: a shader, a layout and a size that cannot be are errors in words, after which the device goes on.
func Refused(t *testing.T, g webgpu.Transport) {
	_, err := g.Pipeline("@compute @workgroup_size(1)\nfn main() {\n\tlet x: f32 = 1u;\n}", "main", Binds)
	assert.ErrorContains(t, err, "the type of `x` is expected to be `f32`")
	assert.ErrorContains(t, err, "wgsl:3:")
	_, err = g.Pipeline(Twice, "twice", Binds[:1])
	assert.ErrorContains(t, err, "binding: 1", "a buffer that the layout has not")
	_, err = g.Buffer(1<<40, webgpu.Storage)
	assert.ErrorContains(t, err, "1099511627776")
	assert.NoError(t, g.Lost())
	_, err = g.Pipeline(Twice, "twice", Binds)
	assert.NoError(t, err, "it goes on")
}

// Flat submits and reads a thousand times: nothing of that may stay, in the program or in the driver.
func Flat(t *testing.T, g webgpu.Transport) {
	t.Helper()
	b, err := g.Buffer(256, webgpu.Storage)
	require.NoError(t, err)
	out, err := g.Buffer(256, webgpu.Storage)
	require.NoError(t, err)
	work := func(times int) {
		got := make([]byte, 256)
		for range times {
			require.NoError(t, g.Submit([]webgpu.Command{{To: out, From: b, Bytes: 256}}))
			require.NoError(t, g.Wait(t.Context()))
			require.NoError(t, g.Read(t.Context(), got, out, 0))
		}
	}
	work(100)
	before := resident(t)
	work(1000)
	assert.Less(t, resident(t)-before, int64(96<<20), "bytes; a command buffer of llvmpipe takes 93 kB, and each round has two")
}

// resident is how many bytes of memory this process has, without what Go has not collected.
func resident(t *testing.T) int64 {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var size, pages int64
	_, err = fmt.Sscan(string(text), &size, &pages)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}
