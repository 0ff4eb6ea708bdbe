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
	"github.com/weft-ml/weft/runtime"
)

// filler fills with floats; during is called while others may use the device.
type filler struct {
	values []float32
	times  int
	during func(time int) error
}

func (f *filler) fill(d runtime.Device, m runtime.Mem) (func(context.Context) error, error) {
	f.times++
	return func(context.Context) error {
		if f.during != nil {
			if err := f.during(f.times); err != nil {
				return err
			}
		}
		var raw []byte
		for _, v := range f.values {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
		return d.Write(m, 0, raw)
	}, nil
}

// What was filled comes back after a loss by filling again, and nothing of it is kept on the host.
func TestFillsComeBack(t *testing.T) {
	ctx := context.Background()
	s := &slot{}
	var told []*engine.Recovery
	e, err := engine.New(s.backend(), engine.Options{Recovered: func(r *engine.Recovery) { told = append(told, r) }})
	require.NoError(t, err)
	defer e.Close()
	f := &filler{values: make([]float32, 10_000)}
	f.values[7] = 3
	x, err := e.Fill(ctx, dtype.F32, []int{100, 100}, f.fill)
	require.NoError(t, err)
	assert.Less(t, e.Stats().Journal, int64(1000))
	y := x.Add(x)
	require.NoError(t, e.Realize(ctx, y))

	s.lose = func(int) bool { return s.opened == 1 }
	assert.Equal(t, float32(6), read(t, e, y)[7])
	assert.Equal(t, f.values, read(t, e, x))
	assert.Equal(t, 2, f.times)
	require.Len(t, told, 1)
	assert.Equal(t, [2]int{1, 1}, [2]int{told[0].Writes, told[0].Plays})

	s.lose = func(int) bool { return s.opened == 2 }
	f.during = func(int) error { return errors.New("no network") }
	_, err = e.FromBytes(dtype.F32, []int{1}, make([]byte, 4))
	assert.ErrorContains(t, err, "bring back what was on a lost device: no network")
	f.during = nil
	assert.Equal(t, f.values, read(t, e, x), "the next call tries once more")
}

// A device that is lost while an array is filled, as others notice or as the filling does, has it filled again.
func TestLostWhileFilling(t *testing.T) {
	ctx := context.Background()
	for _, who := range []string{"others", "others, with no device for a while", "the filling"} {
		s := &slot{}
		e, err := engine.New(s.backend(), engine.Options{})
		require.NoError(t, err)
		other := floats(t, e, []float32{1, 2}, 2)
		f := &filler{values: []float32{4, 5, 6}}
		f.during = func(time int) error {
			if time > 1 {
				s.refuse = nil
				return nil
			}
			s.lose = func(int) bool { return s.opened == 1 }
			if who == "the filling" {
				return nil // the write is lost
			}
			if who != "others" {
				s.refuse = errors.New("no adapter")
				require.ErrorContains(t, e.Sync(ctx), "no adapter")
				s.refuse = nil
				return nil
			}
			assert.Equal(t, []float32{1, 2}, read(t, e, other))
			return nil
		}
		x, err := e.Fill(ctx, dtype.F32, []int{3}, f.fill)
		require.NoError(t, err, who)
		assert.Equal(t, f.values, read(t, e, x), who)
		assert.Equal(t, []float32{1, 2}, read(t, e, other), who)
		assert.Equal(t, 2, f.times, who)
		require.NoError(t, e.Close())
	}
}

func TestFillFails(t *testing.T) {
	ctx := context.Background()
	e, err := engine.Open("INTERP", engine.Options{MemoryLimit: 1 << 20})
	require.NoError(t, err)
	defer e.Close()
	no := errors.New("no")
	_, err = e.Fill(ctx, dtype.U8, []int{3}, func(runtime.Device, runtime.Mem) (func(context.Context) error, error) { return nil, no })
	assert.ErrorIs(t, err, no)
	f := &filler{during: func(int) error { return no }}
	_, err = e.Fill(ctx, dtype.U8, []int{3}, f.fill)
	assert.ErrorIs(t, err, no)
	_, err = e.Fill(ctx, dtype.F32, []int{1 << 20}, f.fill)
	assert.ErrorContains(t, err, "out of memory")
	assert.Equal(t, 1, f.times, "it is asked only when there is memory")
}
