// Package huge asks every device for arrays that no machine holds, and for sums over arrays that need no memory. It refuses to
// know how sizes are computed.
package huge

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	. "github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

var devices = []string{"CPU", "WASM", "INTERP", "WEBGPU", "REF"}

func four() *Tensor { return Of([]float32{1, 2, 3, 4}, 4) }

// one is 10, and no constant.
func one() *Tensor { return four().Sum() }

// shapeless have shapes that no array can have: that is told where they are built.
var shapeless = map[string]func() *Tensor{
	"Expand":           func() *Tensor { return four().Reshape(4, 1, 1).Expand(4, 1<<34, 1<<34) },
	"Expand to 2^64":   func() *Tensor { return four().Reshape(4, 1, 1).Expand(4, 1<<31, 1<<31) },
	"Expand beside 0":  func() *Tensor { return Zeros(0, 1, 1).Expand(0, 1<<34, 1<<34) },
	"Repeat":           func() *Tensor { return four().Repeat(1 << 62) },
	"Repeat in two":    func() *Tensor { return four().Repeat(1<<40, 1<<40) },
	"RepeatInterleave": func() *Tensor { return four().RepeatInterleave(1<<62, 0) },
	"MatMul":           func() *Tensor { return Zeros(1<<40, 1).Add(one()).MatMul(Ones(1, 1<<40)) },
	"Arange":           func() *Tensor { return Arange(1 << 62) },
	"Linspace":         func() *Tensor { return Linspace(0, 1, 1<<62) },
	"Zeros":            func() *Tensor { return Zeros(1<<40, 1<<40) },
	"Eye":              func() *Tensor { return Eye(1 << 40) },
	"Rand":             func() *Tensor { return Rand(1<<32, 1<<32) },
	"Empty":            func() *Tensor { return Empty(dtype.F32, 1<<31, 1<<31) },
	"FromBytes":        func() *Tensor { return FromBytes(dtype.F32, []int{1 << 32, 1 << 32}, nil) },
	"FromBytes below":  func() *Tensor { return FromBytes(dtype.F32, []int{-1, -4}, make([]byte, 16)) },
	"Pad":              func() *Tensor { return four().Pad([]int{math.MaxInt}, []int{math.MaxInt}) },
	"Conv2D": func() *Tensor {
		return Zeros(1, 1, 1<<20, 1<<20).Add(one()).Conv2D(Ones(1<<20, 1, 1, 1), nil, Conv{})
	},
	"Conv2D padding":  func() *Tensor { return Zeros(1, 1, 4, 4).Conv2D(Ones(1, 1, 3, 3), nil, Conv{Padding: math.MaxInt}) },
	"Conv2D dilation": func() *Tensor { return Zeros(1, 1, 4, 4).Conv2D(Ones(1, 1, 3, 3), nil, Conv{Dilation: 1 << 62}) },
	"Cat": func() *Tensor {
		x := Zeros(1 << 53)
		return Cat(0, x, x)
	},
	"Stack": func() *Tensor {
		x := Zeros(1 << 53)
		return Stack(0, x, x)
	},
	"Bitcast": func() *Tensor { return Zeros(1 << 53).Bitcast(dtype.U8) },
	"Reshape": func() *Tensor { return four().Reshape(1<<62, 1<<2, 1<<2) },
}

func TestShapesThatNoArrayCanHave(t *testing.T) {
	engine.Configure(engine.Options{}, "INTERP")
	for name, f := range shapeless {
		err := Try(func() { f() })
		var shape *ShapeError
		var arg *ArgumentError
		if !assert.Error(t, err, name) {
			continue
		}
		assert.Regexp(t, `larger than any|do not become|negative|do not fit`, err.Error(), name)
		assert.Regexp(t, `\(huge_test\.go:\d+\)$`, err.Error(), name)
		assert.True(t, errors.As(err, &shape) || errors.As(err, &arg), "%s: %T", name, err)
	}
}

// unstorable can be written and cannot be held: that is told when they are computed, and the device goes on.
var unstorable = map[string]func() *Tensor{
	"Expand":         func() *Tensor { return four().Reshape(4, 1, 1).Expand(4, 1<<20, 1<<20).Add(1) },
	"Expand a lot":   func() *Tensor { return four().Reshape(4, 1, 1).Expand(4, 1<<25, 1<<25).Add(1) },
	"Repeat":         func() *Tensor { return four().Repeat(1 << 40).Add(1) },
	"MatMul":         func() *Tensor { return Zeros(1<<20, 1).Add(one()).MatMul(Ones(1, 1<<20)) },
	"Arange":         func() *Tensor { return Arange(1 << 39).Add(one()) },
	"Zeros":          func() *Tensor { return Zeros(1 << 40).Add(one()) },
	"Conv2D":         func() *Tensor { return Zeros(1, 1, 1<<18, 1<<18).Add(one()).Conv2D(Ones(4, 1, 3, 3), nil, Conv{}) },
	"rows of a sum":  func() *Tensor { return four().Reshape(1, 4).Expand(1<<38, 4).Sum(1) },
	"CumSum":         func() *Tensor { return four().Reshape(4, 1).Expand(4, 1<<40).CumSum(1) },
	"Sort":           func() *Tensor { v, _ := four().Reshape(4, 1).Expand(4, 1<<40).Sort(1, false); return v },
	"stored between": func() *Tensor { return four().Reshape(4, 1, 1).Expand(4, 1<<20, 1<<20).Mul(2).Contiguous().Sum() },
	"argument":       func() *Tensor { return Empty(dtype.F32, 1<<50) },
	"constant":       func() *Tensor { return Full(1, dtype.I8, 1<<49) },
}

func TestArraysThatNoMemoryHolds(t *testing.T) {
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			engine.Configure(engine.Options{MemoryLimit: 256 << 20}, device)
			_, err := engine.Use(device)
			need.Device(t, device, err)
			for name, f := range unstorable {
				err := computed(f)
				assert.Error(t, err, name)
				if err != nil {
					assert.Regexp(t, `larger than|out of memory|counts to|makes arrays of|iterations of loops|int32`, err.Error(), name)
					assert.NotContains(t, err.Error(), "make no sense")
				}
			}
			v, err := Data[float32](context.Background(), four().Add(1))
			require.NoError(t, err)
			require.Equal(t, []float32{2, 3, 4, 5}, v)
		})
	}
}

// computed builds and computes; what the device has no memory for may be told at either.
func computed(f func() *Tensor) (err error) {
	if failed := Try(func() { err = Realize(context.Background(), f()) }); failed != nil {
		return failed
	}
	return err
}

// A sum over more elements than 32 bits count, none of which is in memory, is right or an error in words.
func TestSumsWithoutMemory(t *testing.T) {
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			engine.Configure(engine.Options{MemoryLimit: 256 << 20}, device)
			_, err := engine.Use(device)
			need.Device(t, device, err)
			for _, shape := range [][]int{{4, 1 << 30}, {4, 1 << 15, 1 << 15}} {
				in := make([]int, len(shape))
				for i := range in {
					in[i] = 1
				}
				in[0] = 4
				v, err := Data[int64](context.Background(), Of([]int64{1, 2, 3, 4}, in...).Expand(shape...).Sum())
				if device == "WEBGPU" || device == "REF" {
					require.Error(t, err)
					require.Regexp(t, `iterations of loops|makes arrays of`, err.Error())
					continue
				}
				require.NoError(t, err)
				require.Equal(t, []int64{10 << 30}, v)
			}
		})
	}
}

func TestMost(t *testing.T) {
	require.Empty(t, uop.Shape{1 << 26, 1 << 27}.TooMany())
	require.Contains(t, uop.Shape{1 << 26, 1 << 28}.TooMany(), "67108864×268435456 = 1.8e+16 elements is larger than any memory")
	require.NotEmpty(t, uop.Shape{0, math.MaxInt, math.MaxInt}.TooMany())
}
