//go:build unix

package codecache

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// public makes a folder that others can reach.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(os.TempDir(), "weft-test-*")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestFoldersThatOthersCanWrite(t *testing.T) {
	dir := public(t)
	f := folder(t, dir)
	require.NoError(t, f.Put("a.kernel", []byte("a")))
	for _, mode := range []os.FileMode{0o777, 0o770, 0o702, 0o720} {
		require.NoError(t, os.Chmod(dir, mode))
		for _, named := range []string{dir, ""} {
			t.Setenv("XDG_CACHE_HOME", filepath.Dir(dir))
			t.Setenv("HOME", filepath.Dir(dir))
			if named == "" {
				link := filepath.Join(t.TempDir(), "weft")
				require.NoError(t, os.Symlink(dir, link))
				t.Setenv("XDG_CACHE_HOME", filepath.Dir(link))
				t.Setenv("HOME", filepath.Dir(link))
				if goruntime.GOOS == "darwin" {
					continue // another folder of the home
				}
			}
			_, _, err := Find(named, "")
			var insecure *Insecure
			require.ErrorAs(t, err, &insecure, "%o", mode)
			require.ErrorContains(t, err, "can be written by others")
			require.ErrorContains(t, err, "chmod go-w")
		}
	}
	require.NoError(t, os.Chmod(dir, 0o755))
	_, ok := folder(t, dir).Get("a.kernel")
	require.True(t, ok)

	inner := filepath.Join(dir, "inner")
	require.NoError(t, os.Mkdir(inner, 0o700))
	require.NoError(t, os.Chmod(inner, 0o777))
	_, err := Open(inner)
	require.Error(t, err)
	require.NoError(t, os.Chmod(dir, 0o700))
	folder(t, inner) // nobody else gets there
}

func TestFoldersOfOthers(t *testing.T) {
	dir := "/" // root's, for everybody else
	if os.Geteuid() == 0 {
		dir = public(t)
		require.NoError(t, os.Chown(dir, 12345, 12345))
	}
	_, _, err := Find(dir, "")
	var insecure *Insecure
	require.ErrorAs(t, err, &insecure)
	require.ErrorContains(t, err, "belongs to user")
	require.ErrorContains(t, err, "folder of your own")
}

// What others can write, or have written, is no entry; a key that others can read is no key.
func TestFilesOfOthers(t *testing.T) {
	f := folder(t, public(t))
	path := filepath.Join(f.Path, "a.kernel")
	spoil := map[string]func() error{
		"writable": func() error { return os.Chmod(path, 0o666) },
		"pipe": func() error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return syscall.Mkfifo(path, 0o600)
		},
		"link": func() error {
			if err := os.Rename(path, filepath.Join(f.Path, "elsewhere")); err != nil {
				return err
			}
			return os.Symlink("elsewhere", path)
		},
	}
	if os.Geteuid() == 0 {
		spoil["foreign"] = func() error { return os.Chown(path, 12345, -1) }
	} else {
		spoil["unreadable"] = func() error { return os.Chmod(path, 0) }
	}
	for what, do := range spoil {
		require.NoError(t, f.Put("a.kernel", []byte("a")))
		require.NoError(t, do(), what)
		_, ok := f.Get("a.kernel")
		require.False(t, ok, what)
		require.NoFileExists(t, path, what)
	}
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o606} {
		require.NoError(t, f.Put("a.kernel", []byte("a")))
		require.NoError(t, os.Chmod(filepath.Join(f.Path, keyName), mode))
		f = folder(t, f.Path)
		_, ok := f.Get("a.kernel")
		require.False(t, ok, "%o", mode)
		info, err := os.Stat(filepath.Join(f.Path, keyName))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode())
	}
}

// Whoever moves the folder away and puts another in its place gives an open one nothing to run.
func TestAFolderIsMoved(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("only Linux reaches a folder by its handle")
	}
	top := t.TempDir()
	f := folder(t, filepath.Join(top, "cache"))
	require.NoError(t, f.Put("a.kernel", []byte("mine")))
	require.NoError(t, os.Rename(f.Path, filepath.Join(top, "moved")))
	require.NoError(t, os.Mkdir(f.Path, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(f.Path, "a.kernel"), []byte("theirs"), 0o600))
	text, ok := f.Get("a.kernel")
	require.True(t, ok)
	assert.Equal(t, "mine", string(text))
	require.NoError(t, f.Put("b.kernel", []byte("b")))
	assert.FileExists(t, filepath.Join(top, "moved", "b.kernel"))
}

// A folder that somebody works in stays, however old it looks.
func TestSweptWhileUsed(t *testing.T) {
	f := folder(t, t.TempDir())
	w, err := f.Work()
	require.NoError(t, err)
	long := time.Now().Add(-100 * unusedAge)
	require.NoError(t, os.Chtimes(w.Path, long, long))
	folder(t, f.Path)
	assert.DirExists(t, w.Path, "its process lives")
	w.Remove()
	assert.Equal(t, []string{"key", "tmp"}, list(t, f.Path))
}
