package backends

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
)

func TestChoicesAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	s, err := openChoices(engine.Options{CacheDir: dir})
	require.NoError(t, err)
	text, err := s.Load()
	require.NoError(t, err)
	require.Empty(t, text)
	require.NoError(t, s.Save("a"))
	require.NoError(t, s.Save("b"))
	text, err = s.Load()
	require.NoError(t, err)
	require.Equal(t, "b", text)
	files, err := os.ReadDir(filepath.Join(dir, "tmp"))
	require.NoError(t, err)
	require.Empty(t, files, "nothing is left over")

	require.NoError(t, os.Mkdir(filepath.Join(dir, "x"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "x", "devices.txt"), 0o700))
	s, err = openChoices(engine.Options{CacheDir: filepath.Join(dir, "x")})
	require.NoError(t, err)
	_, err = s.Load()
	require.Error(t, err)
	require.Error(t, s.Save("c"))
}
