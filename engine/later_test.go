package engine_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
)

// What lies in a source comes to the device when it is used, whichever call loses the device, and again after a loss: the journal keeps
// none of it.
func TestSourcesComeAgain(t *testing.T) {
	ctx := context.Background()
	var raw []byte
	for i := range 10_000 {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(i)))
	}
	for at := 0; at < 12; at++ {
		s := &slot{}
		e, err := engine.New(s.backend(), engine.Options{})
		require.NoError(t, err)
		reads, fails := 0, true
		from := engine.ReaderSource{Read: func(p []byte, offset int64) error {
			if reads++; fails {
				return errors.New("the disk is gone")
			}
			copy(p, raw[offset:])
			return nil
		}}
		x, err := e.Later(dtype.F32, []int{100, 100}, from, 0)
		require.NoError(t, err)
		assert.Zero(t, e.Stats().LiveBytes)
		y := x.Shrink([]int{3, 0}, []int{5, 100})
		y = y.Add(y)
		require.ErrorContains(t, e.Realize(ctx, y), "the disk is gone")
		fails = false
		s.lose = func(c int) bool { return s.opened == 1 && c >= at }
		require.NoError(t, e.Realize(ctx, y))
		assert.Equal(t, float32(2*301), read(t, e, y)[1])
		assert.Less(t, e.Stats().LiveBytes, int64(2000))
		assert.Less(t, e.Stats().Journal, int64(2000))
		assert.EqualValues(t, 1, e.Waiting(), "all of it was not asked for yet")
		assert.Equal(t, float32(9999), read(t, e, x)[9999])
		assert.Zero(t, e.Waiting(), "and graphs are not looked through any more")
		require.NoError(t, e.Close())
	}
}
