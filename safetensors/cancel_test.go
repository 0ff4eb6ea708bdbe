package safetensors

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

// Whenever a save is cancelled, the old file is as it was and nothing lies beside it.
func TestCancelledWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.safetensors")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	big := []Entry{
		{"w", "U8", []int64{2*piece + 1}, make([]byte, 2*piece+1)},
		{"b", "U8", []int64{3}, []byte{1, 2, 3}},
	}
	cancelled := 0
	for ; ; cancelled++ {
		err := WriteContext(&countdown{context.Background(), cancelled}, path, big, nil)
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, path)
		raw, _ := os.ReadFile(path)
		require.Equal(t, "old", string(raw))
		left, _ := os.ReadDir(dir)
		require.Len(t, left, 1)
	}
	assert.Equal(t, 5, cancelled, "four pieces and the end")
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	b, err := f.Bytes("b")
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 2, 3}, b)
}
