package tensor_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// written is counted bytes that note what was written.
type written struct {
	counted
	wrote  []int64 // first byte and how many, alternating
	full   int64   // the byte that there is no room for any more; 0: any number
	synced int
}

func (w *written) WriteAt(p []byte, at int64) (int, error) {
	if w.full > 0 && at+int64(len(p)) > w.full {
		n := max(0, int(w.full-at))
		copy(w.data[at:], p[:n])
		return n, errors.New("no space left")
	}
	w.wrote = append(w.wrote, at, int64(len(p)))
	return copy(w.data[at:], p), nil
}

func (w *written) Sync() error { w.synced++; return nil }

func (w *written) took() []int64 { v := w.wrote; w.wrote, w.read = nil, 0; return v }

func open(t *testing.T, n int, shape ...int) (*written, *tensor.File, *tensor.Tensor) {
	t.Helper()
	w := &written{counted: *table(n)}
	f := tensor.OpenReadWriter("table", w, int64(len(w.data)))
	x, err := f.Tensor(dtype.F32, 8, shape...)
	require.NoError(t, err)
	return w, f, x
}

// An assignment to a slice of a file writes its bytes, and reads none.
func TestFileWritesWhatIsAssigned(t *testing.T) {
	w, f, x := open(t, 24, 4, 6)
	x.SetAt(tensor.Of([]float32{-1, -2, -3, -4, -5, -6}, 6), 2)
	assert.Equal(t, []int64{8 + 4*12, 24}, w.took(), "a row")
	x.SetAt(100, 3, tensor.R(1, 4))
	assert.Equal(t, []int64{8 + 4*19, 12}, w.took(), "a part of one")
	x.SetAt(7, tensor.R(0, 2))
	assert.Equal(t, []int64{8, 48}, w.took(), "rows lie together")
	assert.Zero(t, w.read)
	x.SetAt(tensor.Of([]float32{50, 60}, 2, 1), tensor.R(0, 2), tensor.R(5, 6))
	assert.Equal(t, []int64{8 + 20, 4, 8 + 44, 4}, w.took(), "a column does not")
	x.SetAt(tensor.Of([]float32{1, 2}, 2), 0, tensor.RS(4, 0, -2))
	assert.Equal(t, []int64{8 + 16, 4, 8 + 8, 4}, w.took(), "every other, backwards")
	x.SetAt(9, tensor.R(1, 1))
	assert.Empty(t, w.took(), "nothing")
	want := []float64{7, 7, 2, 7, 1, 50, 7, 7, 7, 7, 7, 60, -1, -2, -3, -4, -5, -6, 18, 100, 100, 100, 22, 23}
	same(t, want, x)
	again, err := f.Tensor(dtype.F32, 8, 24)
	require.NoError(t, err)
	same(t, want, again)
	w.took()
	x.SetAt(x.At(1).Add(1), 0) // made of itself
	assert.Equal(t, []int64{8, 24}, w.took())
	same(t, []float64{8, 8, 8, 8, 8, 61}, x.At(0))
	x.AddAssign(1)
	assert.Equal(t, []int64{8, 96}, w.took())
	same(t, []float64{9, 9, 9, 9, 9, 62}, x.At(0))
	x.AssignBytes(make([]byte, 96))
	same(t, make([]float64, 24), x)
	require.NoError(t, f.Flush())
	assert.Equal(t, 1, w.synced)
	require.NoError(t, f.Close())
	assert.Equal(t, 2, w.synced)
	assert.Equal(t, uint64(0), binary.LittleEndian.Uint64(w.data))
}

// What was built before is not silently something else; what was computed stays.
func TestFileWrittenUnderAnExpression(t *testing.T) {
	_, _, x := open(t, 6, 2, 3)
	before, done := x.Mul(2), x.Sum(1)
	same(t, []float64{3, 12}, done)
	x.SetAt(0, 1)
	var stale *engine.StaleError
	require.ErrorAs(t, tensor.Realize(context.Background(), before), &stale)
	require.ErrorContains(t, stale, "filewrite_test.go")
	same(t, []float64{3, 12}, done)
	same(t, []float64{3, 0}, x.Sum(1))
	y := x.Add(0).Own() // a copy is memory
	y.SetAt(5, 0)
	same(t, []float64{0, 1, 2, 0, 0, 0}, x)
	x.Replace(tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3)) // no file any more
	x.SetAt(0, 0)
	same(t, []float64{0, 0, 0, 4, 5, 6}, x)
}

func TestFileWritingErrors(t *testing.T) {
	ctx := context.Background()
	w, f, x := open(t, 24, 4, 6)
	require.ErrorContains(t, tensor.Try(func() { x.SetAt(1, tensor.Of([]int32{0, 2}, 2)) }), "named by ints and ranges")
	require.ErrorContains(t, tensor.Try(func() { x.SetAt(1, []int{0, 2}) }), "named by ints and ranges")
	require.ErrorContains(t, tensor.Try(func() { x.SetAt(1, x.Gt(0)) }), "index 0 is a tensor (bool [4 6])")
	require.ErrorContains(t, tensor.Try(func() { x.SetAt(tensor.Of([]float32{1, 2}, 2), 0) }), "do not broadcast")
	require.Error(t, tensor.Try(func() { x.SetAt(1, 4) }))
	require.Error(t, tensor.Try(func() { x.Assign(tensor.Of([]int32{1}, 1)) }))
	_, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		x.SetAt(1, 0)
		return []*tensor.Tensor{in[0].Add(1)}
	}, tensor.Of([]float32{1}, 1).On("INTERP"))
	require.ErrorContains(t, err, "inside a captured function")
	require.Empty(t, w.took())
	w.full = 8 + 40
	err = tensor.Try(func() { x.SetAt(1, 1) })
	var failed *tensor.FileError
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, "file table, byte 48: after 16 of 24 bytes: no space left")
	same(t, []float64{1, 1, 1, 1, 10, 11}, x.At(1)) // it is what is there
	w.full = 0
	require.NoError(t, f.Close())
	require.ErrorContains(t, tensor.Try(func() { x.SetAt(1, 0) }), "was closed before the tensor was assigned")

	dir := t.TempDir()
	path := filepath.Join(dir, "new.bin")
	_, err = tensor.OpenWritable(path, 0)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = tensor.OpenWritable(path, -1)
	require.ErrorContains(t, err, "-1 bytes")
	_, err = tensor.OpenWritable(dir, 8)
	require.Error(t, err)
	_, err = tensor.OpenWritable(path, math.MaxInt64)
	require.ErrorContains(t, err, "grow to 9223372036854775807 bytes")
	g, err := tensor.OpenWritable(path, 16)
	require.NoError(t, err)
	y, err := g.Tensor(dtype.I16, 4, 2, 3)
	require.NoError(t, err)
	same(t, make([]float64, 6), y.To(dtype.F32))
	y.SetAt(-1, tensor.R(0, 2), 1)
	require.NoError(t, g.Close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0, 255, 255, 0, 0}, raw)
	g, err = tensor.OpenWritable(path, 8) // no file is cut
	require.NoError(t, err)
	assert.Equal(t, int64(16), g.Size())
	require.NoError(t, g.Close())
	require.NoError(t, os.Chmod(path, 0o400))
	_, err = tensor.OpenWritable(path, 16)
	require.ErrorContains(t, err, "it is read-only")

	// A file that is opened to be read stays as it is, whatever is assigned to its tensors.
	h, err := tensor.Open(path)
	require.NoError(t, err)
	z, err := h.Tensor(dtype.I16, 4, 6)
	require.NoError(t, err)
	z.SetAt(3, 0)
	same(t, []float64{3, -1, 0, 0, -1, 0}, z.To(dtype.F32))
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, raw, again)
	require.NoError(t, h.Close())
}
