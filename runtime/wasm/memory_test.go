//go:build linux

package wasm

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/runtime/spare"
)

// Pages that nobody used for a while go back to the system, and only those: on Linux they come again as zeros.
func TestFreedPagesGoBack(t *testing.T) {
	of, err := Open(Options{CacheDir: t.TempDir()})
	require.NoError(t, err)
	defer of.Close()
	d := of.(*Device)
	synctest.Test(t, func(t *testing.T) {
		const size = 8 << 20
		var held []*mem
		for range 4 {
			m, err := d.memory.alloc(size)
			require.NoError(t, err)
			fill := m.data()
			for i := range fill {
				fill[i] = 1
			}
			held = append(held, m)
		}
		wait := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		ones := func(m *mem) (n int) {
			for _, x := range m.data() {
				n += int(x)
			}
			return n
		}
		again := func() *mem {
			m, err := d.memory.alloc(size)
			require.NoError(t, err)
			return m
		}
		held[0].Free()
		wait(spare.Age / 2)
		held[2].Free()
		wait(spare.Age - time.Second)
		b := again() // the first of two that fit
		require.Equal(t, held[0].block.at, b.block.at)
		assert.LessOrEqual(t, ones(b), 2*os.Getpagesize(), "old: what is left are the edges")
		c := again()
		require.Equal(t, held[2].block.at, c.block.at)
		assert.Equal(t, size, ones(c), "not old yet")
		assert.Equal(t, size, ones(held[1]), "in use")

		c.Free()
		held[1].Free() // one block now, as old as its youngest part
		wait(spare.Age)
		assert.Equal(t, size, ones(held[3]), "in use")
		joined, err := d.memory.alloc(2 * size)
		require.NoError(t, err)
		require.Equal(t, held[1].block.at, joined.block.at)
		assert.LessOrEqual(t, ones(joined), 2*os.Getpagesize())
		joined.Free()
		b.Free()
		held[3].Free()
		wait(2 * spare.Age)
		assert.Zero(t, d.memory.live)
		assert.Nil(t, d.memory.timer)
	})
}
