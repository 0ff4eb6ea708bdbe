//go:build linux && cgo && (amd64 || arm64)

package wgpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/runtime/webgpu"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tests/transporttest"
)

var ctx = context.Background()

func opened(t *testing.T) webgpu.Transport {
	g, err := Open(Options{Headless: true})
	need.Device(t, "WEBGPU", err)
	t.Cleanup(g.Close)
	return g
}

func TestReleasedWhileRunning(t *testing.T) { transporttest.ReleasedWhileRunning(t, opened(t)) }

func TestWaits(t *testing.T) { transporttest.Waits(t, opened(t)) }

func TestRefused(t *testing.T) { transporttest.Refused(t, opened(t)) }

func TestFlat(t *testing.T) { transporttest.Flat(t, opened(t)) }

// Every command has its time, also where there are more than a set has stamps, and all take no longer than the whole.
func TestTimed(t *testing.T) {
	g := opened(t)
	timer := g.(webgpu.Timer)
	if !timer.Times() {
		need.Device(t, "WEBGPU", fmt.Errorf("%s has no clock that can be asked", g.Adapter().Name))
	}
	b, err := g.Buffer(256, webgpu.Storage)
	require.NoError(t, err)
	out, err := g.Buffer(256, webgpu.Storage)
	require.NoError(t, err)
	u, err := g.Buffer(16, webgpu.Uniform)
	require.NoError(t, err)
	require.NoError(t, g.Write(b, 0, []byte{3, 0, 0, 0}))
	require.NoError(t, g.Write(u, 0, append(binary.LittleEndian.AppendUint32(nil, 60000), make([]byte, 12)...)))
	p, err := g.Pipeline(transporttest.Twice, "twice", transporttest.Binds)
	require.NoError(t, err)
	group, err := g.Group(p, []webgpu.Entry{{Buffer: u, Size: 16}, {Buffer: b, Size: 256}})
	require.NoError(t, err)
	run, move := webgpu.Command{Pipeline: p, Group: group, Grid: [3]uint32{1, 1, 1}}, webgpu.Command{To: out, From: b, Bytes: 256}
	start := time.Now()
	took, err := timer.Timed([]webgpu.Command{run, move, run})
	require.NoError(t, err)
	require.Len(t, took, 3)
	wall := time.Since(start)
	t.Log(took, "of", wall)
	assert.Greater(t, took[0], 10*time.Microsecond, "60000 rounds")
	assert.GreaterOrEqual(t, took[1], time.Duration(0))
	assert.LessOrEqual(t, took[0]+took[1]+took[2], wall)
	got := make([]byte, 4)
	require.NoError(t, g.Read(ctx, got, out, 0))
	assert.Equal(t, []byte{6, 0, 0, 0}, got, "commands are in order")
	require.NoError(t, g.Read(ctx, got, b, 0))
	assert.Equal(t, []byte{12, 0, 0, 0}, got)

	require.NoError(t, g.Write(u, 0, make([]byte, 16)))
	took, err = timer.Timed(slices.Repeat([]webgpu.Command{run}, 2500))
	require.NoError(t, err)
	assert.Len(t, took, 2500)
	Destroy(g)
	_, err = timer.Timed([]webgpu.Command{run})
	assert.Error(t, err)
}

func TestLost(t *testing.T) {
	g := opened(t)
	b, err := g.Buffer(1024, webgpu.Storage)
	require.NoError(t, err)
	u, err := g.Buffer(16, webgpu.Uniform)
	require.NoError(t, err)
	p, err := g.Pipeline(transporttest.Twice, "twice", transporttest.Binds)
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
	_, err = g.Pipeline(transporttest.Twice, "twice", transporttest.Binds)
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
			_, err := g.Pipeline(transporttest.Twice, "twice", transporttest.Binds)
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
	_, err := Open(Options{Headless: true})
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
