package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// results are what a function gives for bytes.
func results(t *testing.T, f func(context.Context, options) (*tensor.Captured, error), given []byte, shape ...int) (out [][]float32) {
	engine.Configure(engine.Options{}, "WASM")
	_, err := engine.Use("")
	need.Device(t, "WASM", err)
	c, err := made(t.Context(), f, options{})
	require.NoError(t, err)
	all, err := c.Run(t.Context(), tensor.FromBytes(dtype.U8, shape, given))
	require.NoError(t, err)
	for _, r := range all {
		values, err := tensor.Data[float32](t.Context(), r)
		require.NoError(t, err)
		out = append(out, values)
	}
	return out
}

// A pendulum that swings little has the period 2π√(l/g), and without friction it comes back as far as it was.
func TestSwing(t *testing.T) {
	const length = 0.9
	angles := swing(3, length, 0)
	period := 2 * math.Pi * math.Sqrt(length/9.81)
	for i, a := range angles {
		at := seconds * float64(i) / (moments - 1)
		assert.InDelta(t, 3*math.Cos(2*math.Pi*at/period), a, 0.02, "after %v s", at)
	}
	slowed := swing(120, length, 1.5)
	for _, a := range slowed[moments/2:] {
		assert.Less(t, math.Abs(float64(a)), 90.0)
	}
}

// Each line has one box, however it is bent, and lines that touch at a corner are one.
func TestBoxes(t *testing.T) {
	field := make([]byte, fieldHigh*fieldWide)
	ink := func(top, left, bottom, right int) {
		for y := top; y < bottom; y++ {
			for x := left; x < right; x++ {
				field[y*fieldWide+x] = 255
			}
		}
	}
	ink(2, 3, 20, 5)    // high
	ink(2, 10, 3, 40)   // wide, and an end of it down, and back:
	ink(3, 40, 12, 41)  // touches by a corner
	ink(11, 20, 12, 40) // one with both
	ink(30, 50, 34, 54) // even
	out := results(t, boxes, field, fieldHigh, fieldWide)
	type box struct {
		left, top, right, bottom, kind int
	}
	var got []box
	for i := range fieldHigh * fieldWide {
		b, s := out[0][4*i:], out[1][3*i:]
		for kind := range 3 {
			if s[kind] > 0.5 {
				at := func(v float32, n int) int { return int(math.Round(float64(v) * float64(n))) }
				got = append(got, box{at(b[0], fieldWide), at(b[1], fieldHigh), at(b[2], fieldWide), at(b[3], fieldHigh), kind})
			}
		}
	}
	assert.ElementsMatch(t, []box{{3, 2, 5, 20, 0}, {10, 2, 41, 12, 1}, {50, 30, 54, 34, 2}}, got)
}

// Where a picture is even the paper stays white, and an edge is dark on its dark side.
func TestPencil(t *testing.T) {
	picture := make([]byte, pencilHigh*pencilWide*3)
	for i := range picture {
		picture[i] = 60
		if i/3%pencilWide >= pencilWide/2 {
			picture[i] = 200
		}
	}
	drawing := results(t, pencil, picture, pencilHigh, pencilWide, 3)[0]
	at := func(x int) float32 { return drawing[pencilHigh/2*pencilWide+x] }
	assert.InDelta(t, 1, at(10), 1e-3)
	assert.InDelta(t, 1, at(pencilWide-10), 1e-3)
	assert.Less(t, at(pencilWide/2-1), float32(0.4))
	assert.InDelta(t, 1, at(pencilWide/2), 1e-3)
}

// The picture is written, and of players there is one.
func TestShare(t *testing.T) {
	dir := t.TempDir()
	player := filepath.Join(dir, "one", "player")
	require.NoError(t, os.MkdirAll(player, 0o777))
	for _, name := range []string{"model.js", "model.d.ts", "show.js", "../index.html", "../model.json"} {
		require.NoError(t, os.WriteFile(filepath.Join(player, name), nil, 0o666))
	}
	require.NoError(t, share(dir, filepath.Join(dir, "one")))
	assert.FileExists(t, filepath.Join(dir, "player", "model.js"))
	assert.NoFileExists(t, filepath.Join(dir, "player", "show.js"))
	assert.NoDirExists(t, player)
	assert.FileExists(t, filepath.Join(dir, "one", "model.json"))
	require.NoError(t, writePicture(filepath.Join(dir, "still.jpg")))
}
