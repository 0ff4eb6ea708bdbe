package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	for i, durable := range []bool{Durable, Fast} {
		f, err := Create(dir, ".save-", 0o666)
		require.NoError(t, err)
		_, err = fmt.Fprint(f, "new ", i)
		require.NoError(t, err)
		require.Len(t, names(t, dir), 1+i, "nothing has the name yet")
		require.NoError(t, f.Commit(path, durable))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("new ", i), string(text))
	}
	f, err := Create(dir, ".save-", 0o666)
	require.NoError(t, err)
	require.ErrorIs(t, f.Link(path), fs.ErrExist)
	f.Discard()
	f, err = Create(dir, ".save-", 0o666)
	require.NoError(t, err)
	require.Error(t, f.Commit(filepath.Join(dir, "no", "x"), Durable))
	require.Equal(t, []string{"x"}, names(t, dir))
	_, err = Create(filepath.Join(dir, "no"), ".save-", 0o666)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// What is being written stays, however old; what looks like it and is not ours too.
func TestSweepLeavesTheLiving(t *testing.T) {
	dir := t.TempDir()
	file, err := Create(dir, "p-", 0o600)
	require.NoError(t, err)
	folder, err := Mkdir(dir, "p-")
	require.NoError(t, err)
	foreign := []string{"p-1.tmp", "p-0123456789abcdef", "q-0123456789abcdef.tmp", "p-0123456789abcdeg.tmp", "p-0123456789abcdef.d"}
	for _, n := range foreign {
		require.NoError(t, os.WriteFile(filepath.Join(dir, n), nil, 0o600))
	}
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "p-0123456789abcd00.tmp")))
	orphan := filepath.Join(dir, "p-0123456789abcdef.tmp.d") // of a sweep that was killed
	require.NoError(t, os.Mkdir(orphan, 0o700))
	long := time.Now().Add(-2 * deadAge)
	for _, n := range append(foreign, filepath.Base(file.Name()), filepath.Base(folder.Path)) {
		require.NoError(t, os.Chtimes(filepath.Join(dir, n), long, long))
	}
	Sweep(dir, "p-")
	require.NoDirExists(t, orphan)
	require.FileExists(t, file.Name())
	require.DirExists(t, folder.Path)
	require.Len(t, names(t, dir), len(foreign)+4)
	require.NoError(t, file.Commit(filepath.Join(dir, "done"), Fast))
	folder.Remove()
	require.Len(t, names(t, dir), len(foreign)+2)
}

// TestMain is also the writer that TestKilledWriters kills.
func TestMain(m *testing.M) {
	dir := os.Getenv("WEFT_TEST_WRITER")
	if dir == "" {
		os.Exit(m.Run())
	}
	for i := byte('a'); ; i++ {
		err := func() error {
			Sweep(dir, "w-")
			f, err := Create(dir, "w-", 0o600)
			if err != nil {
				return err
			}
			for range 64 {
				if _, err := f.Write(bytes.Repeat([]byte{i}, 4096)); err != nil {
					return err
				}
			}
			if d, err := Mkdir(dir, "w-"); err != nil {
				return err
			} else if err := os.WriteFile(filepath.Join(d.Path, "x"), []byte("x"), 0o600); err != nil {
				return fmt.Errorf("a folder went while it was used: %w", err)
			} else {
				defer d.Remove()
			}
			return f.Commit(filepath.Join(dir, "whole"), Fast)
		}()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// Writers that are killed at any moment leave the old file or the new one, and nothing that the next does not remove, while
// others write beside them undisturbed.
func TestKilledWriters(t *testing.T) {
	dir := t.TempDir()
	writer := func() (*exec.Cmd, *bytes.Buffer) {
		cmd, said := exec.Command(os.Args[0]), new(bytes.Buffer)
		cmd.Env = append(os.Environ(), "WEFT_TEST_WRITER="+dir)
		cmd.Stdout = said
		require.NoError(t, cmd.Start())
		return cmd, said
	}
	living, said := writer()
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		cmd, _ := writer()
		time.Sleep(time.Duration(5+r.IntN(30)) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		text, err := os.ReadFile(filepath.Join(dir, "whole"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // not one write yet
		}
		require.NoError(t, err)
		require.Len(t, text, 64*4096)
		require.Equal(t, bytes.Repeat(text[:1], len(text)), text)
	}
	require.NoError(t, living.Process.Kill())
	err := living.Wait()
	assert.Empty(t, said.String(), "the one beside them: %v", err)
	Sweep(dir, "w-")
	left := names(t, dir)
	assert.Subset(t, []string{"whole"}, left)
	if renamesOpen {
		assert.Equal(t, []string{"whole"}, left)
	}
}
