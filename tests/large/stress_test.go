package large

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// ints are whole numbers from −3 to 3.
func ints(seed uint64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 3))
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(r.IntN(7) - 3)
	}
	return out
}

// stresses are programs of one unusual measure, with what they give.
var stresses = []struct {
	name string
	run  func(leaf func(shape ...int) (T, []float64)) (got []T, want [][]float64)
}{
	{"a long chain", func(leaf func(...int) (T, []float64)) ([]T, [][]float64) {
		x, v := leaf(9)
		y := x
		for range 4000 {
			y = y.Add(x).Clamp(-5, 5)
		}
		for i := range v {
			a := v[i]
			for range 4000 {
				a = min(max(a+v[i], -5), 5)
			}
			v[i] = a
		}
		return []T{y}, [][]float64{v}
	}},
	{"many results", func(leaf func(...int) (T, []float64)) ([]T, [][]float64) {
		x, v := leaf(17)
		var ts []T
		var want [][]float64
		for i := range 500 {
			ts = append(ts, x.Mul(i%9).Add(i))
			w := make([]float64, len(v))
			for k := range v {
				w[k] = v[k]*float64(i%9) + float64(i)
			}
			want = append(want, w)
		}
		return ts, want
	}},
	{"many arrays", func(leaf func(...int) (T, []float64)) ([]T, [][]float64) {
		var sum T
		want := make([]float64, 5)
		for i := range 1000 {
			x, v := leaf(5)
			if i == 0 {
				sum = x
			} else {
				sum = sum.Add(x)
			}
			for k := range want {
				want[k] += v[k]
			}
		}
		return []T{sum}, [][]float64{want}
	}},
	{"many arrays joined", func(leaf func(...int) (T, []float64)) ([]T, [][]float64) {
		var ts []T
		var want []float64
		for i := range 300 {
			x, v := leaf(1+i%5, 3)
			ts, want = append(ts, x), append(want, v...)
		}
		return []T{tensor.Cat(0, ts...)}, [][]float64{want}
	}},
	{"a large sum", func(leaf func(...int) (T, []float64)) ([]T, [][]float64) {
		x, v := leaf(1023, 1025)
		s, cols := 0., make([]float64, 1025)
		for i, a := range v {
			s += a
			cols[i%1025] += a
		}
		return []T{x.Sum(), x.Sum(0)}, [][]float64{{s}, cols}
	}},
	{"eight axes", func(leaf func(...int) (T, []float64)) ([]T, [][]float64) {
		x, v := leaf(3, 1, 2, 1, 5, 1, 3, 1)
		y, w := leaf(1, 2, 1, 3, 1, 2, 1, 7)
		z := x.Mul(y)
		want, sum := make([]float64, z.Numel()), 0.
		at := make([]int, 8)
		for i := range want {
			n := i
			for a := 7; a >= 0; a-- {
				at[a], n = n%z.Dim(a), n/z.Dim(a)
			}
			want[i] = v[((at[0]*2+at[2])*5+at[4])*3+at[6]] * w[((at[1]*3+at[3])*2+at[5])*7+at[7]]
			sum += want[i]
		}
		return []T{z, z.Sum(0, 2, 3, 5, 7).Sum()}, [][]float64{want, {sum}}
	}},
}

func TestStress(t *testing.T) {
	ctx := context.Background()
	j := open(t, *devices)
	for _, s := range stresses {
		t.Run(s.name, func(t *testing.T) {
			seed := *first
			got, want := s.run(func(shape ...int) (T, []float64) {
				n := 1
				for _, k := range shape {
					n *= k
				}
				seed++
				v := ints(seed, n)
				return on(j.engine)(v, dtype.F32, shape), v
			})
			require.NoError(t, tensor.Realize(ctx, got...))
			out, err := read(ctx, got)
			require.NoError(t, err)
			for i := range want {
				require.Equal(t, want[i], out[i], "result %d", i)
			}
		})
	}
}

// Many goroutines build, realize, capture and replay at once; some of their contexts end meanwhile.
func TestAtOnce(t *testing.T) {
	j := open(t, *devices)
	var group sync.WaitGroup
	shared := on(j.engine)(ints(1, 33*17), dtype.F32, []int{33, 17})
	f, err := tensor.Capture(context.Background(), func(in ...T) []T { return []T{in[0].MatMul(shared), in[0].Sum(1), tensor.Ones(3)} },
		on(j.engine)(ints(2, 9*33), dtype.F32, []int{9, 33}))
	require.NoError(t, err)
	for g := range 16 {
		group.Go(func() {
			for k := range count(6) {
				seed := uint64(g*1000 + k)
				ctx, stop := context.Background(), func() {}
				if k%3 == 2 {
					c, cancel := context.WithTimeout(ctx, time.Duration(g)*time.Millisecond)
					ctx, stop = c, cancel
				}
				assert.NoError(t, j.atOnce(ctx, f, shared, seed))
				stop()
			}
		})
	}
	group.Wait()
}

func (j *judge) atOnce(ctx context.Context, f *tensor.Captured, shared T, seed uint64) error {
	v := ints(seed, 9*33)
	x := on(j.engine)(v, dtype.F32, []int{9, 33})
	var got []T
	var err error
	switch seed % 3 {
	case 0:
		got, err = f.Run(ctx, x)
	case 1:
		got = []T{x.MatMul(shared), x.Sum(1), tensor.Ones(3)}
		err = tensor.Realize(ctx, got...)
	default:
		var own *tensor.Captured
		own, err = tensor.Capture(ctx, func(in ...T) []T { return []T{in[0].MatMul(shared), in[0].Sum(1), tensor.Ones(3)} }, x)
		if err == nil {
			got, err = own.Run(ctx, x)
		}
	}
	if ended(ctx, err) {
		return nil
	}
	if err != nil {
		return err
	}
	out, err := read(ctx, got)
	if ended(ctx, err) {
		return nil
	}
	if err != nil {
		return err
	}
	w := ints(1, 33*17)
	for i := range 9 {
		sum := 0.
		for k := range 33 {
			sum += v[i*33+k]
		}
		if out[1][i] != sum {
			return fmt.Errorf("sum %d: %v, want %v", i, out[1][i], sum)
		}
		for n := range 17 {
			dot := 0.
			for k := range 33 {
				dot += v[i*33+k] * w[k*17+n]
			}
			if out[0][i*17+n] != dot {
				return fmt.Errorf("product %d %d: %v, want %v", i, n, out[0][i*17+n], dot)
			}
		}
	}
	if out[2][0] != 1 || math.Abs(out[2][2]-1) != 0 {
		return fmt.Errorf("ones: %v", out[2])
	}
	return nil
}

func ended(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
}
