package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func says(s string) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// The file that a link names is replaced and keeps its permissions; where writing fails it is as it was, and nothing is left beside it.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	require.NoError(t, Replace(path, ".t-", says("one")))
	require.NoError(t, os.Chmod(path, 0o640))
	require.NoError(t, os.Symlink("real", link))
	require.NoError(t, Replace(link, ".t-", says("two")))
	failure := errors.New("no more")
	require.ErrorIs(t, Replace(link, ".t-", func(w io.Writer) error { return errors.Join(says("half")(w), failure) }), failure)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "two", string(text))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&fs.ModeSymlink)
	if info, err = os.Stat(path); assert.NoError(t, err) && filepath.Separator == '/' {
		assert.Equal(t, fs.FileMode(0o640), info.Mode().Perm())
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 2)

	require.ErrorContains(t, Replace(dir, ".t-", says("")), "not a regular file")
	require.ErrorContains(t, Replace(filepath.Join(dir, "none", "x"), ".t-", says("")), "check that the folder exists")
	require.NoError(t, os.Chmod(path, 0o400))
	require.ErrorContains(t, Replace(path, ".t-", says("")), "read-only")
}
