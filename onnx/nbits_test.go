package onnx

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// MatMulNBits is the product with what the blocks stand for, also where the last block is not full; one row of it is two launches at most, of which
// one reads the packed weights.
func TestMatMulNBits(t *testing.T) {
	const n, block = 7, 32
	for _, bits := range []int{2, 4, 8} {
		for _, k := range []int{64, 75} {
			for _, zeros := range []bool{false, true} {
				r := rand.New(rand.NewPCG(uint64(bits), uint64(k)))
				blocks := (k + block - 1) / block
				q := make([]byte, n*blocks*block*bits/8)
				for i := range q {
					q[i] = byte(r.Uint32())
				}
				scale := make([]float32, n*blocks)
				for i := range scale {
					scale[i] = float32(r.NormFloat64())
				}
				zeroBytes := (blocks*bits + 7) / 8
				zero := make([]byte, n*zeroBytes)
				for i := range zero {
					zero[i] = byte(r.Uint32())
				}
				in, inits := list("x", "w", "s"), msgs(tensorMsg("w", Uint8, q, n, int64(blocks), int64(block*bits/8)), floatsMsg("s", scale...))
				if zeros {
					in, inits = append(in, "z"), append(inits, tensorMsg("z", Uint8, zero, int64(len(zero))))
				}
				node := inDomain(nodeMsg("MatMulNBits", in, list("y"), intAttr("K", int64(k)), intAttr("N", n), intAttr("bits", int64(bits)),
					intAttr("block_size", block)), "com.microsoft")
				m := read(t, modelMsg(graphMsg(msgs(node), inits, msgs(portMsg("x", Float32, -1, int64(k))), msgs(portMsg("y", Float32, -1, n)))))
				number := func(bytes []byte, i int) int { return int(bytes[i*bits/8]>>(i*bits%8)) & (1<<bits - 1) }
				for _, rows := range []int{1, 3} {
					x := make([]float32, rows*k)
					for i := range x {
						x[i] = float32(r.NormFloat64())
					}
					feed := map[string]*tensor.Tensor{"x": on(tensor.From(x).Reshape(rows, k))}
					got := run(t, m, feed)
					require.Len(t, got, rows*n)
					for i := range got {
						want := 0.0
						for j := range k {
							row, z := i%n, 1<<bits/2
							if zeros {
								z = number(zero[row*zeroBytes:], j/block)
							}
							w := float64(number(q[row*blocks*block*bits/8:], j)-z) * float64(scale[row*blocks+j/block])
							want += w * float64(x[i/n*k+j])
						}
						require.InDelta(t, want, got[i], 1e-2, "%d bits, %d steps, zero points %v, %d", bits, k, zeros, i)
					}
					run(t, m, feed)
				}
				assert.LessOrEqual(t, m.whole().plans[0].plan.Launches(), 2)
			}
		}
	}
}
