//go:build !js

package wasm

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/runtime"
	need "github.com/weft-ml/weft/tests/require"
)

// The key of what is kept names the engine's version, which is not known otherwise in the binaries of tests.
func TestVersionOfTheEngine(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(need.Root(t), "go.mod"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "github.com/tetratelabs/wazero "+wazeroVersion+"\n")
}

// run plays a kernel on a device of its own, as a new process would, and returns how many were compiled and found.
func run(t *testing.T, o Options) (compiled, fromDisk int) {
	t.Helper()
	o.Threads = 2
	dev, err := Open(o)
	require.NoError(t, err)
	d := dev.(*Device)
	defer func() { require.NoError(t, d.Close()) }()
	out, err := play(t, d, one("mark", mark, 16))
	require.NoError(t, err)
	require.Equal(t, byte(15), out[60])
	return d.Stats().Compiled, d.Stats().FromDisk
}

func listed(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if !e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all
}

// Whatever happens to a file of the cache, it is compiled again, and found the next time.
func TestDamagedCache(t *testing.T) {
	dir := t.TempDir()
	compiled, _ := run(t, Options{CacheDir: dir})
	require.Equal(t, 1, compiled)
	compiled, fromDisk := run(t, Options{CacheDir: dir})
	require.Equal(t, []int{0, 1}, []int{compiled, fromDisk})
	for what, damage := range map[string]func(b []byte) []byte{
		"empty":    func([]byte) []byte { return nil },
		"half":     func(b []byte) []byte { return b[:len(b)/2] },
		"start":    func(b []byte) []byte { b[0] ^= 1; return b },
		"middle":   func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"end":      func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"garbage":  func([]byte) []byte { return bytes.Repeat([]byte("garbage\n"), 1000) },
		"appended": func(b []byte) []byte { return append(b, "x"...) },
		"gone":     nil,
	} {
		for _, ending := range []string{moduleExt, "key"} {
			files, err := filepath.Glob(filepath.Join(dir, "wasm", "*"+ending))
			require.NoError(t, err)
			require.NotEmpty(t, files)
			for _, file := range files { // of the kernels and of the memory
				if damage == nil {
					require.NoError(t, os.Remove(file))
					continue
				}
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(file, damage(text), 0o600))
			}
			compiled, fromDisk := run(t, Options{CacheDir: dir})
			require.Equal(t, []int{1, 0}, []int{compiled, fromDisk}, "%s %s", what, ending)
			compiled, fromDisk = run(t, Options{CacheDir: dir})
			require.Equal(t, []int{0, 1}, []int{compiled, fromDisk}, "%s %s", what, ending)
		}
	}
	for _, n := range listed(t, filepath.Join(dir, "wasm")) {
		assert.True(t, n == "key" || strings.HasSuffix(n, moduleExt), "%s is left over", n)
	}
	left, err := os.ReadDir(filepath.Join(dir, "wasm", "tmp"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Code that somebody else compiled is not run, under the right name or not, nor what the engine would take for its own.
func TestForeignCache(t *testing.T) {
	mine, theirs := filepath.Join(t.TempDir(), "mine"), filepath.Join(t.TempDir(), "theirs")
	run(t, Options{CacheDir: mine})
	run(t, Options{CacheDir: theirs})
	for _, n := range listed(t, filepath.Join(theirs, "wasm")) {
		if n != "key" {
			text, err := os.ReadFile(filepath.Join(theirs, "wasm", n))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(mine, "wasm", n), text, 0o600))
		}
	}
	compiled, fromDisk := run(t, Options{CacheDir: mine})
	require.Equal(t, []int{1, 0}, []int{compiled, fromDisk})
}

// What the engine finds wrong with a file that is this user's own costs a compile, and not the device.
func TestEntryThatTheEngineRefuses(t *testing.T) {
	dir := t.TempDir()
	run(t, Options{CacheDir: dir})
	d := openIn(t, dir)
	for _, n := range listed(t, filepath.Join(dir, "wasm")) {
		if strings.HasSuffix(n, moduleExt) {
			data, ok := d.cache.folder.Get(n)
			require.True(t, ok)
			require.NoError(t, d.cache.folder.Put(n, data[:nameLength+5]))
		}
	}
	require.NoError(t, d.Close())
	var said []string
	o := Options{CacheDir: dir, Log: func(line string) { said = append(said, line) }}
	compiled, fromDisk := run(t, o)
	require.Equal(t, []int{1, 0}, []int{compiled, fromDisk})
	compiled, fromDisk = run(t, o)
	require.Equal(t, []int{0, 1}, []int{compiled, fromDisk})
	require.Empty(t, said)
}

func openIn(t *testing.T, dir string) *Device {
	t.Helper()
	d, err := Open(Options{CacheDir: dir, Threads: 2})
	require.NoError(t, err)
	return d.(*Device)
}

// Without a folder to keep modules in the device works and says so once; with one that is wrong it does not.
func TestNothingIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, home := range []string{"", file, filepath.Join(file, "x")} {
		for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
			t.Setenv(name, home)
		}
		var said []string
		compiled, _ := run(t, Options{Log: func(line string) { said = append(said, line) }})
		require.Equal(t, 1, compiled)
		require.Len(t, said, 1)
		require.Contains(t, said[0], "WASM: compiled kernels are not kept")
	}
	_, err := Open(Options{CacheDir: file})
	require.ErrorAs(t, err, new(*runtime.Misconfigured))
	require.ErrorContains(t, err, file)
	require.ErrorContains(t, err, "WEFT_CACHE")
}

// The folder that the engine writes to may go, or fill, at any time.
func TestCacheThatGoes(t *testing.T) {
	dir := t.TempDir()
	var said []string
	dev, err := Open(Options{CacheDir: dir, Threads: 2, Log: func(line string) { said = append(said, line) }})
	require.NoError(t, err)
	defer dev.Close()
	d := dev.(*Device)
	require.NoError(t, os.RemoveAll(dir))
	for _, name := range []string{"a", "b", "c"} {
		out, err := play(t, d, one(name, mark, 16))
		require.NoError(t, err)
		require.Equal(t, byte(15), out[60])
	}
	require.Len(t, said, 1)
}

// Compiling ends with the context, and what was not compiled is the next time.
func TestCancelledCompile(t *testing.T) {
	d := openIn(t, t.TempDir())
	defer d.Close()
	p := one("cancel", mark, 16)
	ctx := &countdown{Context: context.Background()}
	cancelled := 0
	for ; ; cancelled++ {
		ctx.left = cancelled
		l, err := d.Load(ctx, p)
		if err == nil {
			l.Free()
			break
		}
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Positive(t, cancelled)
	out, err := play(t, d, p)
	require.NoError(t, err)
	require.Equal(t, byte(15), out[60])
}

// countdown is a context that ends when it was asked so often.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
