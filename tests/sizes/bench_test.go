package sizes

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// What a new size costs: attention to a cache that has grown by a row, a training step with sentences of another length, and gradients through a loop of
// another number of steps, and through CTC, a convolutional network for pictures of another height and width, parts of a picture that are resized to one size, and a mask that is
// resized to any size and laid somewhere on a picture. Each round has a size that the round before had not.
//
//	go test ./tests/sizes -run '^$' -bench NewSize -benchtime 40x
func BenchmarkNewSize(b *testing.B) {
	programs := map[string]func(e *engine.Engine) func(i int) []*tensor.Tensor{"cache": growing, "lengths": sentences, "steps": steps, "alignments": alignments, "pictures": pictures, "crops": crops, "pasted": pasted}
	for _, name := range []string{"cache", "lengths", "steps", "alignments", "pictures", "crops", "pasted"} {
		for _, own := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/own=%v", name, own), func(b *testing.B) {
				e, err := engine.Open("CPU", engine.Options{OwnSizes: own, CacheDir: b.TempDir()})
				require.NoError(b, err)
				defer e.Close()
				step := programs[name](e)
				round := func(i int) { require.NoError(b, tensor.Realize(b.Context(), step(i)...)) }
				for i := range 6 { // the first sizes
					round(i)
				}
				for i := 6; b.Loop(); i++ {
					round(i)
				}
			})
		}
	}
}

// What three to eight pictures take, 5.5 in the mean, where no number of them comes so often that it has a plan of its own; and with one for each.
//
//	go test ./tests/sizes -run '^$' -bench Pictures -benchtime 24x
func BenchmarkPictures(b *testing.B) {
	for _, own := range []bool{false, true} {
		b.Run(fmt.Sprintf("own=%v", own), func(b *testing.B) {
			e, err := engine.Open("CPU", engine.Options{OwnSizes: own, CacheDir: b.TempDir()})
			require.NoError(b, err)
			defer e.Close()
			var weights []*tensor.Tensor
			for range 6 {
				weights = append(weights, drawn(e, 64, 64, 3, 3))
			}
			list := make([]float32, 8*64*56*56)
			round := func(n int) {
				list[0]++ // others than before
				x := placed(e, list[:n*64*56*56], n, 64, 56, 56)
				for _, w := range weights {
					x = x.Conv(w, nil, tensor.Conv{Padding: 1}).ReLU()
				}
				require.NoError(b, tensor.Realize(b.Context(), x))
			}
			for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8} {
				round(n)
			}
			for i := 0; b.Loop(); i++ {
				round(3 + i%6)
			}
		})
	}
}

const width = 64

// growing is attention of 64 numbers to all rows so far, whose keys and values are joined.
func growing(e *engine.Engine) func(i int) []*tensor.Tensor {
	draw := func(shape ...int) *tensor.Tensor { return drawn(e, shape...) }
	wq, wk, wv, wo, x := draw(width, width), draw(width, width), draw(width, width), draw(width, width), draw(1, width)
	k, v := draw(1, width), draw(1, width)
	return func(int) []*tensor.Tensor {
		k, v = tensor.Cat(0, k, x.MatMul(wk)), tensor.Cat(0, v, x.MatMul(wv))
		weights := x.MatMul(wq).MatMul(k.T()).Mul(0.125).Softmax(-1)
		x = x.Add(weights.MatMul(v).MatMul(wo)).Tanh()
		return []*tensor.Tensor{k, v, x}
	}
}

// sentences trains a classifier of four sentences of 5 to 60 words, the means of whose vectors it looks at.
func sentences(e *engine.Engine) func(i int) []*tensor.Tensor {
	words, inner, out := drawn(e, 100, width), drawn(e, width, width), drawn(e, width, 10)
	return func(i int) []*tensor.Tensor {
		n := 5 + i*23%56
		ids, classes := make([]int32, 4*n), make([]int32, 4)
		for j := range ids {
			ids[j] = int32((j*31 + i) % 100)
		}
		for j := range classes {
			classes[j] = int32((i + j) % 10)
		}
		rows := words.Embedding(placed(e, ids, 4, n), tensor.EmbeddingOptions{})
		loss := rows.MatMul(inner).Tanh().Mean(1).MatMul(out).CrossEntropy(placed(e, classes, 4))
		out = out.Sub(loss.Grad(out)[0].Mul(0.1)).Detach()
		return []*tensor.Tensor{loss, out}
	}
}

// steps goes through 8 rows of 128 numbers, of 40 to 124 steps.
func steps(e *engine.Engine) func(i int) []*tensor.Tensor {
	w, first := drawn(e, 192, 128), drawn(e, 8, 128)
	return func(i int) []*tensor.Tensor {
		states, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return []*tensor.Tensor{tensor.Cat(1, s[0], in[0]).MatMul(w).Tanh()}, nil
		}, []*tensor.Tensor{first}, []*tensor.Tensor{drawn(e, 40+i*37%85, 8, 64)}, tensor.ScanOptions{})
		return states[0].Select(0, -1).Sum().Grad(w)
	}
}

// alignments are four targets of 5 to 16 of 30 labels, in 40 to 124 steps.
func alignments(e *engine.Engine) func(i int) []*tensor.Tensor {
	return func(i int) []*tensor.Tensor {
		time, length := 40+i*37%85, 5+i*7%12
		labels := make([]int32, 4*length)
		for j := range labels {
			labels[j] = 1 + int32(j*5%29)
		}
		all := func(n int32) *tensor.Tensor { return placed(e, []int32{n, n, n - 1, n}, 4) }
		x := drawn(e, time, 4, 30)
		loss, err := x.LogSoftmax(-1).CTC(context.Background(), placed(e, labels, 4, length), all(int32(time)), all(int32(length)), tensor.CTCOptions{})
		if err != nil {
			panic(err)
		}
		return loss.Sum().Grad(x)
	}
}

// pictures are of 64 to 120 by 64 to 112 pixels, an eighth of which is left in between.
func pictures(e *engine.Engine) func(i int) []*tensor.Tensor {
	first, second, third, back := drawn(e, 16, 3, 3, 3), drawn(e, 32, 16, 3, 3), drawn(e, 32, 32, 3, 3), drawn(e, 32, 16, 2, 2)
	return func(i int) []*tensor.Tensor {
		x := drawn(e, 1, 3, 64+8*(i%8), 64+8*(i/8%7))
		half := x.Conv(first, nil, tensor.Conv{Stride: 2, Padding: 1}).ReLU()
		quarter := half.MaxPool(tensor.Pool{Size: []int{2}}).Conv(second, nil, tensor.Conv{Padding: 1}).ReLU()
		eighth := quarter.Conv(third, nil, tensor.Conv{Stride: 2, Padding: 1}).ReLU()
		up := eighth.ConvTranspose(back, nil, tensor.Conv{Stride: 2})
		return []*tensor.Tensor{up, quarter.Add(eighth.Resize([]int{quarter.Dim(2), quarter.Dim(3)}, tensor.Resize{}))}
	}
}

func drawn(e *engine.Engine, shape ...int) *tensor.Tensor {
	list := make([]float32, uop.Shape(shape).Numel())
	for i := range list {
		list[i] = 0.1 * float32(math.Sin(float64(i*i)))
	}
	return placed(e, list, shape...)
}

func placed[E tensor.Element](e *engine.Engine, list []E, shape ...int) *tensor.Tensor {
	t := tensor.Of(list, shape...)
	raw, err := t.Bytes(context.Background())
	if err != nil {
		panic(err)
	}
	u, err := e.FromBytes(t.DType(), shape, raw)
	if err != nil {
		panic(err)
	}
	return tensor.FromNode(u, e)
}

// crops are parts of a picture at other places, of 20 to 119 by 20 to 149 pixels, which are resized to 64 by 64.
func crops(e *engine.Engine) func(i int) []*tensor.Tensor {
	picture := drawn(e, 3, 240, 320)
	return func(i int) []*tensor.Tensor {
		h, w := 20+i*37%100, 20+i*53%130
		part := picture.Narrow(1, i*29%120, h).Narrow(2, i*31%170, w)
		return []*tensor.Tensor{part.Resize([]int{64, 64}, tensor.Resize{Mode: tensor.ResizeLinear})}
	}
}

// pasted are masks of 28 by 28 that are resized to sizes likewise, with zeros around them.
func pasted(e *engine.Engine) func(i int) []*tensor.Tensor {
	mask := drawn(e, 28, 28)
	return func(i int) []*tensor.Tensor {
		h, w, y, x := 20+i*37%100, 20+i*53%130, 1+i*29%119, 1+i*31%169
		part := mask.Resize([]int{h, w}, tensor.Resize{Mode: tensor.ResizeLinear})
		return []*tensor.Tensor{part.Pad([]int{y, x}, []int{240 - y - h, 320 - x - w})}
	}
}
