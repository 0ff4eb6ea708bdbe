package tensor_test

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// counted is bytes that know how many of them were read.
type counted struct {
	data []byte
	read int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n := copy(p, c.data[at:])
	c.read += n
	return n, nil
}

// table is a file of n float32 in rows: 0, 1, 2 …, behind 8 bytes of something else.
func table(n int) *counted {
	c := &counted{data: make([]byte, 8, 8+4*n)}
	for i := range n {
		c.data = binary.LittleEndian.AppendUint32(c.data, math.Float32bits(float32(i)))
	}
	return c
}

// What is computed from a part of a file reads that part, once.
func TestFileReadsWhatIsUsed(t *testing.T) {
	ctx := context.Background()
	c := table(1000)
	f := tensor.OpenReader("table", c, int64(len(c.data)))
	x, err := f.Tensor(dtype.F32, 8, 100, 10)
	require.NoError(t, err)
	assert.Equal(t, []int{100, 10}, x.Shape())
	assert.Zero(t, c.read, "nothing is read before it is used")

	same(t, []float64{504, 505, 506}, x.Narrow(0, 50, 2).Select(0, 0).Narrow(0, 4, 3))
	assert.Equal(t, 12, c.read, "a part of a row")
	c.read = 0
	rows := x.Narrow(0, 20, 3)
	same(t, []float64{200 + 210 + 220, 201 + 211 + 221}, rows.Sum(0).Narrow(0, 0, 2))
	assert.Equal(t, 120, c.read, "three rows")
	same(t, []float64{2045, 2145, 2245}, rows.Sum(1))
	assert.Equal(t, 120, c.read, "which are there now")
	c.read = 0
	same(t, []float64{99*10 + 9}, x.Reshape(10, 100).Select(0, 9).Narrow(0, 99, 1))
	assert.Equal(t, 4, c.read, "through another shape")
	c.read = 0
	same(t, []float64{3, 13}, x.Narrow(1, 3, 1).Narrow(0, 0, 2).Reshape(2))
	assert.Equal(t, 4000, c.read, "a column is read with all rows")
	same(t, []float64{499500}, x.Sum())
	assert.Equal(t, 4000, c.read, "which are there now")
	_, err = x.Bytes(ctx)
	require.NoError(t, err)
	assert.Equal(t, 4000, c.read)
}

func TestFileErrors(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "data.bin")
	require.NoError(t, os.WriteFile(path, table(4).data, 0o600))
	f, err := tensor.Open(path)
	require.NoError(t, err)
	assert.Equal(t, int64(24), f.Size())
	all, err := f.Bytes()
	require.NoError(t, err)
	assert.Equal(t, []int{24}, all.Shape())
	_, err = f.Tensor(dtype.F32, 12, 4)
	require.ErrorContains(t, err, "data.bin, byte 12: float32 [4] takes 16 bytes, and the file has 24 in all")
	_, err = f.Tensor(dtype.F32, -1, 1)
	require.ErrorContains(t, err, "before")
	_, err = f.Tensor(dtype.F64, math.MaxInt64, 1)
	require.ErrorContains(t, err, "in all")
	_, err = f.Tensor(dtype.F64, 0, -3)
	require.Error(t, err)

	x, err := f.Tensor(dtype.F32, 8, 4)
	require.NoError(t, err)
	y, err := f.Tensor(dtype.Bool, 8, 8)
	require.NoError(t, err)
	_, err = y.Bytes(ctx)
	require.ErrorContains(t, err, "byte 14: a bool is 0 or 1, not 128")
	require.NoError(t, os.Truncate(path, 15))
	_, err = x.Bytes(ctx)
	require.ErrorContains(t, err, "it ends after 7 more bytes of 16")
	require.NoError(t, os.WriteFile(path, table(4).data, 0o600))
	same(t, []float64{6}, x.Sum()) // what failed may be tried again
	require.NoError(t, f.Close())
	same(t, []float64{0, 1, 2, 3}, x)
	var failed *tensor.FileError
	require.ErrorAs(t, tensor.Realize(ctx, all), &failed)
	require.ErrorContains(t, failed, "closed before")

	_, err = tensor.Open(t.TempDir())
	require.ErrorContains(t, err, "no regular file")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if goruntime.GOOS != "windows" { // opening it would wait for someone who writes
		require.NoError(t, exec.Command("mkfifo", pipe).Run())
		_, err = tensor.Open(pipe)
		require.ErrorContains(t, err, "no regular file")
	}
	_, err = tensor.Open(path + ".none")
	require.ErrorIs(t, err, os.ErrNotExist)
}
