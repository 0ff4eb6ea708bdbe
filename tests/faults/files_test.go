//go:build linux || darwin

package faults

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/runtime/codecache"
	"github.com/weft-ml/weft/safetensors"
)

// caches are the devices that keep what they compile, and where within the cache folder.
var caches = map[string]string{"CPU": "", "WASM": "wasm"}

// tidy looks for what does not belong into a cache folder that nobody uses, after somebody has opened it.
func tidy(t *testing.T, dir string) (entries int) {
	t.Helper()
	f, err := codecache.Open(dir)
	require.NoError(t, err)
	f.Close()
	left, err := os.ReadDir(filepath.Join(dir, "tmp"))
	require.NoError(t, err)
	assert.Empty(t, left)
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range all {
		assert.False(t, strings.HasPrefix(e.Name(), "tmp-"), "%s is left over", e.Name())
	}
	return len(all)
}

// killed starts parts and kills each at a moment of its own after it has begun.
func killed(t *testing.T, r *rand.Rand, start func(i int) *exec.Cmd, times int, most time.Duration, look func()) {
	t.Helper()
	for i := range times {
		cmd := start(i)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		said := bufio.NewReader(out)
		line, err := said.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "begun\n", line)
		time.Sleep(time.Duration(r.Int64N(int64(most))))
		_ = cmd.Process.Kill()
		rest, _ := io.ReadAll(said)
		require.ErrorContains(t, cmd.Wait(), "signal: killed", "%s", rest)
		look()
	}
}

func TestKilledWhileWritingCaches(t *testing.T) {
	for device, within := range caches {
		dir := t.TempDir()
		killed(t, rand.New(rand.NewPCG(1, 12)), func(i int) *exec.Cmd {
			return child(t, "kernels", device, dir, fmt.Sprint("WEFT_FAULT_FROM=", 10*i))
		}, 12, 300*time.Millisecond, func() {})
		said, ok := finish(t, child(t, "compute", device, dir))
		require.True(t, ok, said)
		require.Positive(t, tidy(t, filepath.Join(dir, within)))
	}
}

func TestEightProcessesOnOneColdCache(t *testing.T) {
	for device, within := range caches {
		dir := filepath.Join(t.TempDir(), "not", "there")
		said, ok := make([]string, 8), make([]bool, 8)
		var all sync.WaitGroup
		for i := range said {
			cmd := child(t, "compute", device, dir)
			all.Go(func() { said[i], ok[i] = finish(t, cmd) })
		}
		all.Wait()
		for i := range said {
			assert.True(t, ok[i], said[i])
			assert.True(t, strings.HasSuffix(said[i], "right\n"), said[i]) // a busy machine may be told of progress before
		}
		tidy(t, filepath.Join(dir, within))
	}
}

// A file that is being saved when its process is killed is the old one or the new one, and the next save leaves nothing else.
func TestKilledWhileSaving(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	env := "WEFT_FAULT_FILE_NAME=" + path
	whole := 0
	look := func() {
		f, err := safetensors.Open(path)
		if errors.Is(err, fs.ErrNotExist) && whole == 0 {
			return
		}
		require.NoError(t, err)
		defer f.Close()
		whole++
		a, err := f.Bytes(f.Names()[0])
		require.NoError(t, err)
		b, err := f.Bytes(f.Names()[1])
		require.NoError(t, err)
		require.Len(t, a, 4*300*200)
		require.Equal(t, bytes.Repeat(a[:4], 300*200), a)
		require.Equal(t, bytes.Repeat(a[:4], 70_000), b)
	}
	killed(t, rand.New(rand.NewPCG(2, 12)), func(int) *exec.Cmd { return child(t, "save", "INTERP", "", env) },
		20, 80*time.Millisecond, look)
	said, ok := finish(t, child(t, "once", "INTERP", "", env))
	require.True(t, ok, said)
	look()
	require.Positive(t, whole)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "%v", left)
}

// Where nothing more fits into files, what can go on does, and says so once; what cannot says why and leaves the old file.
func TestFullDisk(t *testing.T) {
	const full = "WEFT_FAULT_FILE=600"
	for _, device := range []string{"WASM", "INTERP"} {
		dir := t.TempDir()
		said, ok := finish(t, child(t, "compute", device, dir, full))
		require.True(t, ok, said)
		if device == "WASM" {
			require.Equal(t, 1, strings.Count(said, "compiled kernels are not kept"), said)
			require.Contains(t, said, "file too large")
			tidy(t, filepath.Join(dir, "wasm"))
		}
	}
	dir := t.TempDir()
	said, ok := finish(t, child(t, "compute", "CPU", dir, full))
	require.False(t, ok)
	require.Contains(t, strings.ToLower(said), "file too large")
	tidy(t, dir)

	path := filepath.Join(dir, "m.safetensors")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	said, ok = finish(t, child(t, "once", "INTERP", dir, full, "WEFT_FAULT_FILE_NAME="+path))
	require.False(t, ok)
	require.Contains(t, said, "m.safetensors: cannot write: ")
	require.Contains(t, said, "file too large")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "key"), path, filepath.Join(dir, "plans"), filepath.Join(dir, "tmp")}, left)
	tidy(t, dir)
}

// Without a home, and without a folder for temporary files, what needs none goes on.
func TestNoHome(t *testing.T) {
	nothing := filepath.Join(t.TempDir(), "nothing")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, home := range []string{"", file} {
		env := []string{"HOME=" + home, "XDG_CACHE_HOME="}
		for _, device := range []string{"CPU", "WASM", "INTERP", ""} {
			said, ok := finish(t, child(t, "compute", device, "", env...))
			require.True(t, ok, said)
			if device != "INTERP" {
				require.Equal(t, 1, strings.Count(said, "compiled kernels are not kept"), said)
			}
		}
		env = append(env, "TMPDIR="+nothing)
		for _, device := range []string{"WASM", "INTERP"} {
			said, ok := finish(t, child(t, "compute", device, "", env...))
			require.True(t, ok, said)
		}
		said, ok := finish(t, child(t, "compute", "CPU", "", env...))
		require.False(t, ok)
		require.Contains(t, said, "there is no folder to compile in")
		require.Contains(t, said, nothing)
	}
	said, ok := finish(t, child(t, "compute", "CPU", t.TempDir(), "HOME=", "TMPDIR="+nothing))
	require.True(t, ok, "the cache is enough: %s", said)
}
