//go:build linux && cgo && (amd64 || arm64)

package wgpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/runtime/webgpu"
	need "github.com/weft-ml/weft/tests/require"
)

var ctx = context.Background()

func opened(t *testing.T) webgpu.Transport {
	g, err := Open(Options{})
	need.Device(t, "WEBGPU", err)
	t.Cleanup(g.Close)
	return g
}

// twice doubles a word of its buffer after n rounds of something slow.
const twice = `@group(0) @binding(0) var<uniform> u: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> p: array<u32>;
@compute @workgroup_size(1) fn twice() {
	var x = p[0];
	for (var i = 0u; i < u.x; i++) { x = x * 1664525u + 1013904223u; }
	p[0] = select(p[0], p[0] * 2u, x != p[0]);
}`

var binds = []webgpu.Bind{webgpu.BindUniform, webgpu.BindReadWrite}

// What was submitted runs although everything that it uses was given back meanwhile.
func TestReleasedWhileRunning(t *testing.T) {
	g := opened(t)
	b, err := g.Buffer(256, webgpu.Storage)
	require.NoError(t, err)
	out, err := g.Buffer(256, webgpu.Storage)
	require.NoError(t, err)
	require.NoError(t, g.Write(b, 0, binary.LittleEndian.AppendUint32(nil, 21)))
	func() {
		u, err := g.Buffer(16, webgpu.Uniform)
		require.NoError(t, err)
		require.NoError(t, g.Write(u, 0, append(binary.LittleEndian.AppendUint32(nil, 60000), make([]byte, 12)...)))
		p, err := g.Pipeline(twice, "twice", binds)
		require.NoError(t, err)
		group, err := g.Group(p, []webgpu.Entry{{Buffer: u, Size: 16}, {Buffer: b, Size: 256}})
		require.NoError(t, err)
		run := webgpu.Command{Pipeline: p, Group: group, Grid: [3]uint32{1, 1, 1}}
		require.NoError(t, g.Submit([]webgpu.Command{run, run, {To: out, From: b, Bytes: 256}}))
		for _, o := range []interface{ Release() }{group, p, u, b} {
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
	require.NoError(t, g.Read(ctx, got, out, 0))
	assert.Equal(t, uint32(84), binary.LittleEndian.Uint32(got))
}

func TestRefused(t *testing.T) {
	g := opened(t)
	_, err := g.Pipeline("@compute @workgroup_size(1)\nfn main() {\n\tlet x: f32 = 1u;\n}", "main", binds)
	assert.ErrorContains(t, err, "the type of `x` is expected to be `f32`")
	assert.ErrorContains(t, err, "wgsl:3:")
	_, err = g.Pipeline(twice, "twice", binds[:1])
	assert.ErrorContains(t, err, "binding: 1", "a buffer that the layout has not")
	_, err = g.Buffer(1<<40, webgpu.Storage)
	assert.ErrorContains(t, err, "1099511627776")
	assert.NoError(t, g.Lost())
	_, err = g.Pipeline(twice, "twice", binds)
	assert.NoError(t, err, "it goes on")
}

func TestLost(t *testing.T) {
	g := opened(t)
	b, err := g.Buffer(1024, webgpu.Storage)
	require.NoError(t, err)
	u, err := g.Buffer(16, webgpu.Uniform)
	require.NoError(t, err)
	p, err := g.Pipeline(twice, "twice", binds)
	require.NoError(t, err)
	group, err := g.Group(p, []webgpu.Entry{{Buffer: u, Size: 16}, {Buffer: b, Size: 1024}})
	require.NoError(t, err)
	require.NoError(t, g.Submit([]webgpu.Command{{Pipeline: p, Group: group, Grid: [3]uint32{1, 1, 1}}}))
	require.NoError(t, g.Lost())
	Destroy(g)
	require.Error(t, g.Wait(ctx), "waiting says that there is nothing to wait for")
	require.ErrorContains(t, g.Lost(), "lost")
	assert.Error(t, g.Write(b, 0, make([]byte, 16)))
	assert.Error(t, g.Read(ctx, make([]byte, 16), b, 0))
	assert.Error(t, g.Submit(nil))
	_, err = g.Buffer(16, webgpu.Storage)
	assert.Error(t, err)
	_, err = g.Pipeline(twice, "twice", binds)
	assert.Error(t, err)
	_, err = g.Group(p, []webgpu.Entry{{Buffer: u, Size: 16}, {Buffer: b, Size: 1024}})
	assert.Error(t, err)

	again := opened(t)
	b, err = again.Buffer(1024, webgpu.Storage)
	require.NoError(t, err)
	require.NoError(t, again.Read(ctx, make([]byte, 16), b, 0), "another device of the same adapter works")
}

// Each of these calls may be the first to notice.
func TestLostNoticed(t *testing.T) {
	for _, call := range []func(g webgpu.Transport, b webgpu.Buffer) error{
		func(g webgpu.Transport, b webgpu.Buffer) error { return g.Write(b, 0, make([]byte, 16)) },
		func(g webgpu.Transport, b webgpu.Buffer) error { return g.Read(ctx, make([]byte, 16), b, 0) },
		func(g webgpu.Transport, b webgpu.Buffer) error { _, err := g.Buffer(16, webgpu.Storage); return err },
		func(g webgpu.Transport, b webgpu.Buffer) error {
			_, err := g.Pipeline(twice, "twice", binds)
			return err
		},
		func(g webgpu.Transport, b webgpu.Buffer) error {
			return g.Submit([]webgpu.Command{{To: b, From: b, ToAt: 16, Bytes: 16}})
		},
	} {
		g := opened(t)
		b, err := g.Buffer(1024, webgpu.Storage)
		require.NoError(t, err)
		Destroy(g)
		require.Error(t, call(g, b))
		require.Error(t, g.Lost())
	}
}

// elsewhere runs the test of this name in another process, which the shell prepares.
func elsewhere(t *testing.T, prepare, name string, env ...string) string {
	cmd := exec.Command("sh", "-c", prepare+` exec "$0" -test.run="^$1\$" -test.v`, os.Args[0], name)
	cmd.Env = append(os.Environ(), append(env, "WEFT_ELSEWHERE="+name)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestNoAdapter(t *testing.T) {
	if os.Getenv("WEFT_ELSEWHERE") != t.Name() {
		said := elsewhere(t, "", t.Name(), "VK_ICD_FILENAMES=/nothing.json", "VK_DRIVER_FILES=/nothing.json")
		assert.Contains(t, said, "no graphics adapter found: install a Vulkan driver (on Debian, with or without a GPU: apt-get install mesa-vulkan-drivers libvulkan1)")
		return
	}
	_, err := Open(Options{})
	fmt.Println(err)
}

// Memory that is used up is an error, and what is there goes on.
func TestOutOfMemory(t *testing.T) {
	if os.Getenv("WEFT_ELSEWHERE") != t.Name() {
		opened(t)
		assert.Contains(t, elsewhere(t, "ulimit -v 8000000;", t.Name()), "out of memory, and on")
		return
	}
	g := opened(t)
	small, err := g.Buffer(1024, webgpu.Storage)
	require.NoError(t, err)
	for range 64 {
		if _, err = g.Buffer(1<<30, webgpu.Storage); err != nil {
			break
		}
	}
	require.ErrorContains(t, err, "memory")
	require.NoError(t, g.Read(ctx, make([]byte, 16), small, 0))
	fmt.Println("out of memory, and on")
}
