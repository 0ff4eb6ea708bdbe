package engine_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

const large = 16 << 20 // elements of four bytes: 64 MB

// null gives an engine whose arrays take no memory.
func null(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open("NULL", engine.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// doubled captures the sum of an array and itself.
func doubled(t *testing.T, e *engine.Engine, n int) (*engine.Captured, *uop.UOp) {
	t.Helper()
	x, err := e.Empty(dtype.F32, []int{n})
	require.NoError(t, err)
	in, err := e.StandIn(dtype.F32, []int{n})
	require.NoError(t, err)
	c, err := e.Capture(context.Background(), []*uop.UOp{in}, func() ([]*uop.UOp, error) { return []*uop.UOp{in.Add(in)}, nil })
	require.NoError(t, err)
	return c, x
}

// A result that is dropped is found before the next one is made, however much else is live.
func TestDroppedResultsMakeRoom(t *testing.T) {
	for _, others := range []int{0, 20} {
		e := null(t)
		c, x := doubled(t, e, large)
		var kept []*uop.UOp
		for range others {
			u, err := e.Empty(dtype.F32, []int{large})
			require.NoError(t, err)
			kept = append(kept, u)
		}
		settle := 4 // the first may come from before a collection that was in vain
		for i := range 30 {
			_, err := c.Run(t.Context(), x)
			require.NoError(t, err)
			most := int64(1+others+1) * 4 * large
			if i < settle {
				most += int64(settle) * 4 * large
			}
			require.LessOrEqual(t, e.Stats().LiveBytes, most, "run %d beside %d others", i, others)
		}
		runtime.KeepAlive(kept)
	}
}

// Where everything stays, collections become rare: a program that loads weights does not pay for each array.
func TestCollectionsInVainAreFew(t *testing.T) {
	e := null(t)
	var kept []*uop.UOp
	for range 400 { // 25 GB
		u, err := e.Empty(dtype.F32, []int{large})
		require.NoError(t, err)
		kept = append(kept, u)
	}
	assert.Less(t, e.Stats().Collections, 60)
	runtime.KeepAlive(kept)
}

func TestMayWait(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		live, scan int64
		inVain     bool
		want       int64
	}{
		{0, 0, false, 64 * mb},
		{100 * mb, mb, false, 64 * mb},
		{100 * mb, 8 * mb, false, 128 * mb},    // a large heap of Go's costs more to collect
		{100 * mb, 1000 * mb, false, 256 * mb}, // but not any memory
		{8000 * mb, mb, false, 64 * mb},        // what is live costs nothing
		{8000 * mb, 1000 * mb, false, 1000 * mb},
		{8000 * mb, mb, true, 1000 * mb},
		{100 * mb, mb, true, 64 * mb},
	} {
		assert.Equal(t, c.want, engine.MayWait(c.live, c.scan, c.inVain), "%+v", c)
	}
}

// What stands for an input has no memory.
func TestStandInsTakeNoMemory(t *testing.T) {
	e := null(t)
	_, err := e.StandIn(dtype.F32, []int{large})
	require.NoError(t, err)
	assert.Zero(t, e.Stats().LiveBytes)
	_, err = e.StandIn(dtype.F32, []int{1 << 40, 1 << 40})
	assert.Error(t, err)
}

// A program that computes no more gives back what it dropped.
func TestAPauseGivesMemoryBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.Open("NULL", engine.Options{})
		require.NoError(t, err)
		defer e.Close()
		c, x := doubled(t, e, large/8)
		for range 3 {
			_, err := c.Run(t.Context(), x)
			require.NoError(t, err)
		}
		require.Equal(t, int64(4*4*large/8), e.Stats().LiveBytes)
		time.Sleep(5 * time.Second)
		_, err = c.Run(t.Context(), x)
		require.NoError(t, err)
		time.Sleep(6 * time.Second) // since the first, but not since the last
		require.Zero(t, e.Stats().Collections)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		assert.Equal(t, 1, e.Stats().Collections)
		assert.Equal(t, int64(4*large/8), e.Stats().LiveBytes, "the input")
		time.Sleep(time.Hour)
		assert.Equal(t, 1, e.Stats().Collections)
		runtime.KeepAlive(x)
	})
}
