//go:build !wasm

package native

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/spare"
)

func TestOutOfMemory(t *testing.T) {
	d := open(t, Options{MemoryLimit: 8 << 20})
	big, err := d.Alloc(6 << 20)
	require.NoError(t, err)
	_, err = d.Alloc(3 << 20)
	var oom *runtime.OutOfMemory
	require.ErrorAs(t, err, &oom)
	assert.Equal(t, runtime.OutOfMemory{Device: "CPU", Asked: 3 << 20, Live: 6 << 20, Max: 8 << 20}, *oom)
	big.Free()
	assert.Equal(t, int64(6<<20), d.Stats().Cached)
	m, err := d.Alloc(3 << 20) // kept memory makes room
	require.NoError(t, err)
	m.Free()
	assert.LessOrEqual(t, d.Stats().Cached, int64(8<<20))
	for _, n := range []int64{math.MaxInt64, 1 << 45} {
		_, err = d.Alloc(n)
		assert.ErrorAs(t, err, &oom)
	}
	_, err = d.Alloc(-1)
	assert.ErrorContains(t, err, "-1")

	p := chainPlan()
	p.Memory[0].Bytes = 9 << 20
	args := []runtime.Mem{alloc(t, d, 64), alloc(t, d, 64), alloc(t, d, 64)}
	assert.ErrorAs(t, d.Play(load(t, d, p), args, []int32{1}), &oom)
	p = chainPlan()
	p.Kernels[0].Scratch = 9 << 20
	_, err = d.Load(context.Background(), p)
	assert.ErrorAs(t, err, &oom)

	unlimited := open(t, Options{})
	_, err = unlimited.Alloc(1 << 45) // the system refuses
	assert.ErrorAs(t, err, &oom)
}

func TestSpans(t *testing.T) {
	d := open(t, Options{Poison: true})
	m := alloc(t, d, 10)
	assert.NoError(t, d.Write(m, 7, []byte{1, 2, 3}))
	assert.NoError(t, d.Write(m, 10, nil))
	b := make([]byte, 10)
	require.NoError(t, d.Read(context.Background(), b, m, 0))
	assert.Equal(t, []byte{0xA7, 0xA7, 0xA7, 0xA7, 0xA7, 0xA7, 0xA7, 1, 2, 3}, b)
	assert.ErrorContains(t, d.Write(m, 8, []byte{1, 2, 3}), "3 bytes at 8 of a buffer of 10")
	assert.ErrorContains(t, d.Write(m, -1, nil), "at -1")
	assert.ErrorContains(t, d.Read(context.Background(), b, m, math.MaxInt64), "read 10 bytes")
	empty := alloc(t, d, 0)
	assert.Zero(t, empty.Bytes())
	assert.NotZero(t, empty.(*mem).addr())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, d.Read(ctx, b, m, 0), context.Canceled)
}

// Blocks never overlap, are aligned, are reused, and the counts add up, from many goroutines.
func TestMemoryChurn(t *testing.T) {
	y := &memory{}
	y.init(nil, 64<<20, false)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			var held []*mem
			for range 3000 {
				if len(held) > 20 {
					i := r.IntN(len(held))
					m := held[i]
					for _, x := range m.data {
						if x != byte(g) {
							t.Error("somebody else wrote here")
							return
						}
					}
					m.Free()
					held = append(held[:i], held[i+1:]...)
				}
				m, err := y.alloc(int64(math.Exp(r.Float64() * 13)))
				if err != nil {
					t.Error(err)
					return
				}
				if m.addr()%align != 0 {
					t.Error("not aligned")
				}
				for i := range m.data {
					m.data[i] = byte(g)
				}
				held = append(held, m)
			}
			for _, m := range held {
				m.Free()
			}
		})
	}
	wg.Wait()
	assert.Zero(t, y.live)
	assert.LessOrEqual(t, y.cached(), y.limit)
	assert.Less(t, len(y.chunks), 16, "small blocks are reused")
	m, err := y.alloc(10)
	require.NoError(t, err)
	y.close()
	m.Free()
	assert.Zero(t, int64(len(y.chunks))+y.cached())
}

// Freed memory is used again, and goes back to the system when nobody wants it.
func TestFreedMemoryGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := &memory{}
		y.init(nil, 0, false)
		var held []*mem
		for range 6 {
			m, err := y.alloc(64 << 20)
			require.NoError(t, err)
			held = append(held, m)
		}
		at := held[5].addr()
		for _, m := range held {
			m.Free()
		}
		assert.Equal(t, int64(384<<20), y.cached(), "what was needed at once")
		m, err := y.alloc(60 << 20)
		require.NoError(t, err)
		assert.Equal(t, at, m.addr(), "the last one that fits")
		time.Sleep(spare.Age)
		synctest.Wait()
		y.Lock()
		assert.Zero(t, y.cached())
		y.Unlock()
		assert.Equal(t, int64(64<<20), y.live)
		for i := range m.data {
			m.data[i] = 1 // it is still there
		}
		m.Free()
		y.close()
		assert.Zero(t, y.cached())
	})
}

func TestBlockSize(t *testing.T) {
	for n := int64(1); n <= smallMax+5000; n++ {
		size := blockSize(n)
		require.True(t, size >= n && size%align == 0 && (size-n <= n/4 || size-n < align) || n > smallMax && size-n < 4096, "%d: %d", n, size)
	}
}
