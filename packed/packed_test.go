package packed

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/weights/gguf"
)

var ctx = context.Background()

var devices = []string{"CPU", "INTERP", "WASM", "REF"}

// scalesAt are the bytes of a block in which its scales of float16 begin.
var scalesAt = map[string][]int{"Q4_0": {0}, "Q8_0": {0}, "Q4_K": {0, 2}, "Q6_K": {208}}

// random are blocks of any bits with scales that are small numbers.
func random(name string, blocks int, r *rand.Rand) []byte {
	f := forms[name]
	raw := make([]byte, blocks*f.bytes)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	for i := range blocks {
		for _, at := range scalesAt[name] {
			binary.LittleEndian.PutUint16(raw[i*f.bytes+at:], dtype.ToF16(r.NormFloat64()*0.01))
		}
	}
	return raw
}

func floats(t *testing.T, x *tensor.Tensor) []float32 {
	out, err := tensor.Data[float32](ctx, x)
	require.NoError(t, err)
	return out
}

// A packed matrix is to the bit what package gguf unpacks, a product with it what one with that is, and an embedding is its rows: with one
// row of activations and with several, for sizes that no vector divides.
func TestMatrix(t *testing.T) {
	for _, device := range devices {
		_, err := engine.Use(device)
		need.Device(t, device, err)
		for _, name := range Names() {
			t.Run(device+" "+name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				for _, size := range [][2]int{{1, 1}, {7, 3}, {33, 2}, {64, 1}} {
					rows, cols := size[0], size[1]*forms[name].block
					raw := random(name, rows*size[1], r)
					want := make([]float32, rows*cols)
					require.NoError(t, gguf.Unpack(name, want, raw))
					m, err := New(name, rows, cols, raw, device)
					require.NoError(t, err)
					require.NoError(t, tensor.Realize(ctx, m.Parts()...))
					assert.Equal(t, want, floats(t, m.Unpack()))
					for _, n := range []int{1, 3} {
						x := make([]float32, n*cols)
						for i := range x {
							x[i] = float32(r.NormFloat64())
						}
						y := m.Linear(tensor.From(x).Reshape(n, 1, cols).On(device))
						require.Equal(t, []int{n, 1, rows}, y.Shape())
						product(t, floats(t, y), x, want, n, rows, cols)
					}
					ids := []int32{int32(rows - 1), 0, int32(rows / 2)}
					got := floats(t, m.Embedding(tensor.From(ids).On(device)))
					for i, id := range ids {
						assert.Equal(t, want[int(id)*cols:][:cols], got[i*cols:][:cols])
					}
				}
			})
		}
	}
}

// product compares x·wᵀ with what it is in float64.
func product(t *testing.T, got, x, w []float32, n, rows, cols int) {
	require.Len(t, got, n*rows)
	for i := range n {
		for j := range rows {
			sum, size := 0.0, 0.0
			for k := range cols {
				p := float64(x[i*cols+k]) * float64(w[j*cols+k])
				sum, size = sum+p, size+math.Abs(p)
			}
			require.True(t, math.Abs(float64(got[i*rows+j])-sum) <= 1e-5*size, "%d %d: %v, want %v", i, j, got[i*rows+j], sum)
		}
	}
}

// Infinity and NaN in activations and scales come through.
func TestNotFinite(t *testing.T) {
	raw := random("Q4_0", 2, rand.New(rand.NewPCG(3, 4)))
	raw[2] = 0xff // the first element is 7, not 0
	m, err := New("Q4_0", 2, 32, raw, "INTERP")
	require.NoError(t, err)
	x := make([]float32, 32)
	x[0] = float32(math.Inf(1))
	y := floats(t, m.Linear(tensor.From(x).On("INTERP")))
	assert.True(t, math.IsInf(float64(y[0]), 0) || math.IsNaN(float64(y[0])), y)
	binary.LittleEndian.PutUint16(raw[18:], 0x7e00)
	m, err = New("Q4_0", 2, 32, raw, "INTERP")
	require.NoError(t, err)
	y = floats(t, m.Linear(tensor.Ones(32).On("INTERP")))
	assert.False(t, math.IsNaN(float64(y[0])), y)
	assert.True(t, math.IsNaN(float64(y[1])), y)
}

// One row of activations makes one kernel that reads the packed bytes, and no more than a tenth beside them.
func TestBytesMoved(t *testing.T) {
	_, err := engine.Use("CPU")
	need.Device(t, "CPU", err)
	for _, name := range Names() {
		raw := random(name, 256*6, rand.New(rand.NewPCG(5, 6)))
		m, err := New(name, 256, 6*forms[name].block, raw, "CPU")
		require.NoError(t, err)
		x := tensor.Ones(1, m.Cols).On("CPU")
		require.NoError(t, tensor.Realize(ctx, append(m.Parts(), x)...))
		f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{m.Linear(in[0])} }, x)
		require.NoError(t, err)
		assert.Equal(t, 1, f.Launches(), name)
		assert.LessOrEqual(t, float64(m.Bytes()), 1.03*float64(len(raw)), name)
		moved := int64(0) // all arrays that the launch is given: it reads none of them twice
		p := f.Schedule().Plan
		for _, step := range p.Steps {
			for _, slot := range step.Slots {
				moved += p.Slots[slot].Bytes
			}
		}
		assert.GreaterOrEqual(t, moved, m.Bytes(), name)
		assert.LessOrEqual(t, float64(moved), 1.1*float64(len(raw)), name)
		assert.Nil(t, f.Schedule().Once, name)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name       string
		rows, cols int
		bytes      int
		says       string
	}{
		{"Q5_0", 1, 32, 22, "is not multiplied as it is"},
		{"Q4_0", 1, 33, 18, "rows of Q4_0 are blocks of 32"},
		{"Q4_0", 0, 32, 0, "a matrix of 0×32"},
		{"Q4_0", 2, 32, 18, "18 bytes of Q4_0 are not the blocks of 2×32"},
		{"Q4_0", 1, 32, 37, "37 bytes of Q4_0 are not"},
		{"Q4_0", 1 << 62, 32, 18, "are not the blocks of"},
	} {
		_, err := New(test.name, test.rows, test.cols, make([]byte, test.bytes), "")
		assert.ErrorContains(t, err, test.says)
	}
}

// Words of all widths, with zero points and without, are what they stand for.
func TestWords(t *testing.T) {
	for _, device := range []string{"CPU", "WASM", "REF"} {
		_, err := engine.Use(device)
		need.Device(t, device, err)
		for _, bits := range []int{1, 2, 4, 8} {
			for _, with := range []bool{false, true} {
				const rows, blocks, bytes = 5, 3, 6
				r := rand.New(rand.NewPCG(7, uint64(bits)))
				q, zero := make([]uint8, rows*blocks*bytes), make([]uint8, rows*blocks)
				scale := make([]float32, rows*blocks)
				for i := range q {
					q[i] = uint8(r.Uint32())
				}
				for i := range scale {
					scale[i], zero[i] = float32(r.NormFloat64()), uint8(r.Uint32())>>(8-bits)
				}
				block := bytes * 8 / bits
				cols := blocks * block
				want := make([]float32, rows*cols)
				for i := range want {
					b := i / block
					z := 1 << bits / 2
					if with {
						z = int(zero[b])
					}
					at := i % block
					v := int(q[b*bytes+at*bits/8]>>(at*bits%8)) & (1<<bits - 1)
					want[i] = float32(v-z) * scale[b]
				}
				var z *tensor.Tensor
				if with {
					z = tensor.From(zero).Reshape(rows, blocks).On(device)
				}
				m, err := Words(bits, tensor.From(q).Reshape(rows, blocks, bytes).On(device), tensor.From(scale).Reshape(rows, blocks).On(device), z)
				require.NoError(t, err)
				assert.Equal(t, want, floats(t, m.Unpack()), "%d bits", bits)
				for _, n := range []int{1, 4} {
					x := make([]float32, n*cols)
					for i := range x {
						x[i] = float32(r.NormFloat64())
					}
					product(t, floats(t, m.Linear(tensor.From(x).Reshape(n, cols).On(device))), x, want, n, rows, cols)
				}
			}
		}
	}
	q := tensor.Zeros(2, 3, 4).To(dtype.U8)
	_, err := Words(3, q, tensor.Zeros(2, 3), nil)
	assert.ErrorContains(t, err, "words of 3 bits")
	_, err = Words(4, tensor.Zeros(2, 3, 4), tensor.Zeros(2, 3), nil)
	assert.ErrorContains(t, err, "in uint8")
	_, err = Words(4, q, tensor.Zeros(3, 2), nil)
	assert.ErrorContains(t, err, "scales or zero points [3 2] of 2 rows of 3 blocks")
}
