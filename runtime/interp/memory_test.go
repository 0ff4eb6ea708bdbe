package interp

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/runtime/spare"
)

// Freed memory is used again within the limit, never beyond what was asked for, and let go when nobody wants it.
func TestFreedMemoryIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mb = 1 << 20
		y := &memory{}
		y.init(nil, 8*mb, true)
		alloc := func(n int64) *mem {
			t.Helper()
			m, err := y.alloc(n)
			require.NoError(t, err)
			require.Len(t, m.data, int(n))
			require.Equal(t, int(n), cap(m.data), "nothing behind it")
			require.Equal(t, byte(0xA7), m.data[n-1])
			return m
		}
		a, b := alloc(4*mb), alloc(2*mb)
		at := &a.data[0]
		clear(a.data)
		a.Free()
		assert.True(t, a.Freed())
		c := alloc(4*mb - 5)
		assert.Same(t, at, &c.data[0])
		c.Free()
		_, err := y.alloc(7 * mb)
		require.Error(t, err, "2 MB are live")
		assert.Equal(t, int64(4*mb), y.spare.Bytes())
		d := alloc(6 * mb) // kept memory makes room
		assert.Zero(t, y.spare.Bytes())
		d.Free()
		b.Free()
		assert.Equal(t, int64(8*mb), y.spare.Bytes())
		alloc(100).Free() // what is kept counts against the limit, and this is too small to be kept
		assert.Equal(t, int64(2*mb), y.spare.Bytes())
		time.Sleep(spare.Age)
		synctest.Wait()
		y.Lock()
		defer y.Unlock()
		assert.Zero(t, y.spare.Bytes())
		assert.Zero(t, y.live)
	})
}
