package devicetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// attentionForms are attentions as programs write them, of queries, keys and values for heads of d.
var attentionForms = []struct {
	name   string
	groups int // heads that share keys
	mask   bool
	attend func(q, k, v, mask *tensor.Tensor) *tensor.Tensor
}{
	{"plain", 1, false, func(q, k, v, _ *tensor.Tensor) *tensor.Tensor {
		return tensor.ScaledDotProduct(q, k, v, tensor.Attention{})
	}},
	{"causal", 1, false, func(q, k, v, _ *tensor.Tensor) *tensor.Tensor {
		return tensor.ScaledDotProduct(q, k, v, tensor.Attention{Causal: true})
	}},
	{"added", 1, true, func(q, k, v, mask *tensor.Tensor) *tensor.Tensor {
		return tensor.ScaledDotProduct(q, k, v, tensor.Attention{Mask: mask})
	}},
	{"groups", 4, false, func(q, k, v, _ *tensor.Tensor) *tensor.Tensor {
		return tensor.ScaledDotProduct(q, k, v, tensor.Attention{Grouped: true})
	}},
	{"by hand", 1, false, func(q, k, v, _ *tensor.Tensor) *tensor.Tensor {
		return q.MatMul(k.T()).Mul(0.2).Softmax(-1).MatMul(v)
	}},
}

// Training attention stores no scores: where these are many times what caches hold, no array has as many elements as a head's, and what is alive
// at a time is a small part of one array of them. CPU has all forms, each other device every other one, or all with WEFT_EACH=1.
func TestAttentionTrainsWithoutScores(t *testing.T) {
	const heads, n, d = 8, 4096, 64
	for k, device := range []string{"CPU", "INTERP", "WASM", "WEBGPU"} {
		t.Run(device, func(t *testing.T) {
			e := opened(t, device, engine.Options{})
			empty := func(shape ...int) *tensor.Tensor {
				u, err := e.Empty(dtype.F32, shape)
				require.NoError(t, err)
				return tensor.FromNode(u, e)
			}
			for i, f := range attentionForms {
				if k > 0 && (i+k)%need.Each(2) != 0 {
					t.Logf("%s: not here; WEFT_EACH=1 has it", f.name)
					continue
				}
				q, keys, v := empty(heads, n, d), empty(heads/f.groups, n, d), empty(heads/f.groups, n, d)
				y := f.attend(q, keys, v, empty(n, n))
				plan, err := tensor.Schedule(append(y.Mul(y).Sum().Grad(q, keys, v), y)...)
				require.NoError(t, err)
				for _, x := range plan.Schedule.Bufs {
					assert.False(t, x.Kind == schedule.TempBuf && x.N >= n*n, "%s: an array of %d elements", f.name, x.N)
				}
				assert.Less(t, plan.Plan.Peak, int64(4*heads*n*n/2), f.name)
				t.Logf("%s: %d MB, %d launches", f.name, plan.Plan.Peak>>20, len(plan.Launches()))
			}
		})
	}
}

// Gradients that are computed in chunks, also of gradients, are those that REF gives, and the same bits for any number of threads. The schedule
// says what a chunk is: CPU runs all forms, more threads and each other device some, so that each form is on one more. WEFT_EACH=1 runs all everywhere.
func TestChunksOfAttention(t *testing.T) {
	const n, d = 66, 5
	small := func(g *schedule.Graph, c schedule.Config) (*schedule.Result, error) {
		c.Large = 4 * n * n
		return schedule.New(g, c), nil
	}
	others, left := need.Each(3), 0
	defer func() {
		t.Logf("beside CPU with a thread: one in %d of the forms; WEFT_EACH=1 runs all, %d were left out", others, left)
	}()
	for i, f := range attentionForms {
		var want [][]float32
		var bits string
		for k, o := range []struct {
			device string
			engine.Options
		}{
			{"REF", engine.Options{}}, {"CPU", engine.Options{Threads: 1, Schedule: small}}, {"CPU", engine.Options{Threads: 3, Fence: true, Schedule: small}},
			{"INTERP", engine.Options{Schedule: small}}, {"WASM", engine.Options{Schedule: small}}, {"WEBGPU", engine.Options{Schedule: small}},
		} {
			if k > 1 && (i+k)%others != 0 {
				left++
				continue
			}
			t.Run(fmt.Sprintf("%s on %s %d", f.name, o.device, o.Threads), func(t *testing.T) {
				e := opened(t, o.device, o.Options)
				r := rand.New(rand.NewPCG(1, 2))
				floats := func(shape ...int) *tensor.Tensor {
					var raw []byte
					for range uop.Shape(shape).Numel() {
						raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(2*r.Float32()-1))
					}
					u, err := e.FromBytes(dtype.F32, shape, raw)
					require.NoError(t, err)
					return tensor.FromNode(u, e)
				}
				const heads = 4
				q, k, v := floats(heads, n, d), floats(heads/f.groups, n, d), floats(heads/f.groups, n, d)
				y := f.attend(q, k, v, floats(n, n))
				first := y.Mul(y).Sum().Grad(q, k, v)
				all := append(slices.Clone(first), y)
				if o.device != "REF" {
					plan, err := tensor.Schedule(all...)
					require.NoError(t, err)
					for _, x := range plan.Schedule.Bufs {
						assert.False(t, x.Kind == schedule.TempBuf && x.N >= heads*n*n, "an array of %d elements", x.N)
					}
				}
				all = append(all, first[0].Square().Sum().Grad(q, k)...)
				require.NoError(t, tensor.Realize(context.Background(), all...))
				var got [][]float32
				for _, x := range all {
					data, err := tensor.Data[float32](context.Background(), x)
					require.NoError(t, err)
					got = append(got, data)
				}
				if o.device == "REF" {
					want = got
					return
				}
				for i := range want {
					for j := range want[i] {
						require.LessOrEqual(t, math.Abs(float64(want[i][j]-got[i][j])), 1e-4*(1+math.Abs(float64(want[i][j]))), "result %d, element %d: %g, not %g", i, j, got[i][j], want[i][j])
					}
				}
				if o.Threads == 1 {
					bits = fmt.Sprint(got)
				} else if o.Threads > 1 {
					require.Equal(t, bits, fmt.Sprint(got))
				}
			})
		}
	}
}

func opened(t *testing.T, device string, o engine.Options) *engine.Engine {
	e, err := engine.Open(device, o)
	need.Device(t, device, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}
