package codecache

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func folder(t *testing.T, path string) *Folder {
	t.Helper()
	f, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	return f
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// damages are what may have happened to a file.
var damages = map[string]func(good []byte) []byte{
	"empty":      func([]byte) []byte { return nil },
	"half":       func(b []byte) []byte { return b[:len(b)/2] },
	"one less":   func(b []byte) []byte { return b[:len(b)-1] },
	"appended":   func(b []byte) []byte { return append(b, 0) },
	"beginning":  func(b []byte) []byte { b[0] ^= 1; return b },
	"hash":       func(b []byte) []byte { b[len(magic)+3] ^= 0x80; return b },
	"middle":     func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
	"end":        func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
	"garbage":    func(b []byte) []byte { return bytes.Repeat([]byte("garbage "), len(b)) },
	"only magic": func([]byte) []byte { return []byte(magic) },
}

func TestEntries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	f := folder(t, dir)
	_, ok := f.Get("a.kernel")
	require.False(t, ok)
	require.NoError(t, f.Put("a.kernel", []byte("the code of a")))
	require.NoError(t, f.Put("b.kernel", nil))
	again := folder(t, dir)
	for _, f := range []*Folder{f, again} {
		text, ok := f.Get("a.kernel")
		require.True(t, ok)
		require.Equal(t, "the code of a", string(text))
		text, ok = f.Get("b.kernel")
		require.True(t, ok)
		require.Empty(t, text)
	}
	for what, damage := range damages {
		require.NoError(t, f.Put("a.kernel", []byte("the code of a")))
		path := filepath.Join(dir, "a.kernel")
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, damage(good), 0o600))
		_, ok := f.Get("a.kernel")
		require.False(t, ok, what)
		require.NoFileExists(t, path, what)
	}
	// An entry under the name of another is not the other.
	require.NoError(t, f.Put("a.kernel", []byte("the code of a")))
	require.NoError(t, os.Rename(filepath.Join(dir, "a.kernel"), filepath.Join(dir, "b.kernel")))
	_, ok = f.Get("b.kernel")
	require.False(t, ok)
	// One of another folder, with another key, is a stranger's.
	other := folder(t, t.TempDir())
	require.NoError(t, other.Put("c.kernel", []byte("the code of a stranger")))
	text, err := os.ReadFile(filepath.Join(other.Path, "c.kernel"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "c.kernel"), text, 0o600))
	_, ok = f.Get("c.kernel")
	require.False(t, ok)
	// A folder in the place of an entry goes too.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "d.kernel", "x"), 0o700))
	_, ok = f.Get("d.kernel")
	require.False(t, ok)
	require.NoError(t, f.Put("d.kernel", []byte("d")))
	require.Equal(t, []string{"d.kernel", "key", "tmp"}, list(t, dir))
}

func TestLibraries(t *testing.T) {
	f := folder(t, t.TempDir())
	w, err := f.Work()
	require.NoError(t, err)
	built := filepath.Join(w.Path, "built")
	require.NoError(t, os.WriteFile(built, []byte("code"), 0o700))
	name, err := f.Adopt(built, ".so")
	require.NoError(t, err)
	w.Remove()
	require.True(t, f.Has(name))
	require.NoError(t, os.WriteFile(filepath.Join(f.Path, name), []byte("Code"), 0o600))
	require.False(t, f.Has(name))
	require.False(t, f.Has(name))
	require.Equal(t, []string{"key", "tmp"}, list(t, f.Path))

	// A folder in its place goes, with what is in it.
	require.NoError(t, os.MkdirAll(filepath.Join(f.Path, name, "within"), 0o700))
	w, err = f.Work()
	require.NoError(t, err)
	built = filepath.Join(w.Path, "built")
	require.NoError(t, os.WriteFile(built, []byte("code"), 0o700))
	again, err := f.Adopt(built, ".so")
	require.NoError(t, err)
	require.Equal(t, name, again)
	w.Remove()
	require.True(t, f.Has(name))

	require.NoError(t, os.MkdirAll(filepath.Join(f.Path, "e.kernel", "within"), 0o700))
	require.NoError(t, f.Put("e.kernel", []byte("code of e")))
	data, ok := f.Get("e.kernel")
	require.True(t, ok)
	require.Equal(t, "code of e", string(data))
}

// Whoever opens a new folder at once has the same key.
func TestOneKey(t *testing.T) {
	dir := t.TempDir()
	keys := make([][32]byte, 16)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			f, err := Open(dir)
			if assert.NoError(t, err) {
				keys[i] = f.key
				f.Close()
			}
		})
	}
	all.Wait()
	assert.Len(t, slices.Compact(keys), 1)
	assert.Equal(t, []string{"key", "tmp"}, list(t, dir))
}

// A key that is damaged is replaced; what was signed with it is a stranger's then.
func TestDamagedKey(t *testing.T) {
	for what, damage := range damages {
		dir := t.TempDir()
		f := folder(t, dir)
		require.NoError(t, f.Put("a.kernel", []byte("a")))
		good, err := os.ReadFile(filepath.Join(dir, "key"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "key"), damage(bytes.Clone(good)), 0o600))
		f = folder(t, dir)
		_, ok := f.Get("a.kernel")
		require.False(t, ok, what)
		require.NoError(t, f.Put("a.kernel", []byte("a")))
		_, ok = folder(t, dir).Get("a.kernel")
		require.True(t, ok, what)
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "key"), 0o700))
	_, err := Open(dir)
	require.ErrorContains(t, err, "cannot be replaced")
	require.ErrorContains(t, err, "remove it")
}

func TestFind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "sub")} {
		f, why, err := Find(dir, "")
		require.Nil(t, f)
		require.NoError(t, why)
		require.ErrorContains(t, err, dir)
		require.ErrorContains(t, err, "WEFT_CACHE")
	}
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} { // of one system or another
		t.Setenv(name, "")
	}
	f, why, err := Find("", "wasm")
	require.Nil(t, f)
	require.Error(t, why)
	require.NoError(t, err)
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, filepath.Join(file, "nothing"))
	}
	f, why, err = Find("", "wasm")
	require.Nil(t, f)
	require.ErrorContains(t, why, file)
	require.NoError(t, err)
	dir := t.TempDir()
	f, why, err = Find(dir, "wasm")
	require.NoError(t, err)
	require.NoError(t, why)
	require.Equal(t, filepath.Join(dir, "wasm"), f.Path)
	f.Close()
}

func TestUnusedIsSwept(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, age time.Duration) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		when := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(path, when, when))
	}
	for _, ending := range []string{"so", "dll", "kernel", "module"} {
		put("old."+ending, 2*unusedAge)
		put("young."+ending, unusedAge/2)
	}
	put("mine.txt", 2*unusedAge)
	put("wazero-1", 2*unusedAge)
	put("tmp-0123456789abcdef.tmp", 0) // its writer is dead
	folder(t, dir)
	left := list(t, dir)
	if !slices.Contains(left, "tmp-0123456789abcdef.tmp") { // where there are no locks it stays for a day
		left = append(left, "tmp-0123456789abcdef.tmp")
	}
	slices.Sort(left)
	assert.Equal(t, fmt.Sprint([]string{"key", "mine.txt", "tmp", "tmp-0123456789abcdef.tmp", "young.dll", "young.kernel", "young.module", "young.so"}), fmt.Sprint(left))
}

// Opening does not look at each entry: a folder has tens of thousands in time.
func TestSweptOnceADay(t *testing.T) {
	dir := t.TempDir()
	folder(t, dir)
	old := filepath.Join(dir, "old.kernel")
	age := func(path string, by time.Duration) {
		when := time.Now().Add(-by)
		require.NoError(t, os.Chtimes(path, when, when))
	}
	require.NoError(t, os.WriteFile(old, nil, 0o600))
	age(old, 2*unusedAge)
	folder(t, dir)
	require.FileExists(t, old)
	age(filepath.Join(dir, "key"), sweepEvery+time.Minute)
	folder(t, dir)
	require.NoFileExists(t, old)
	require.NoError(t, os.WriteFile(old, nil, 0o600))
	age(old, 2*unusedAge)
	folder(t, dir)
	require.FileExists(t, old)
	age(filepath.Join(dir, "key"), -2*sweepEvery) // a clock that was wrong
	folder(t, dir)
	require.NoFileExists(t, old)
}
