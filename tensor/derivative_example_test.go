package tensor_test

import (
	"fmt"

	"github.com/weft-ml/weft/tensor"
)

func ExampleVmap() {
	w, xs := tensor.Of([]float32{1, 2}), tensor.Of([]float32{1, 1, 2, 0, 0, 3}, 3, 2)
	loss := func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(w).Sum().Square() }
	perExample := tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor { return loss(in[0]).Grad(w) }, tensor.VmapOptions{})
	fmt.Println(perExample(xs)[0].ToList(ctx))
	// Output: [[6 6] [8 0] [0 36]] <nil>
}

func ExampleJVP() {
	x, v := tensor.Of([]float32{1, 2, 3}), tensor.Of([]float32{1, 0, -1})
	cube := func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Mul(in[0]).Mul(in[0])} }
	y, moved := tensor.JVP(cube, []*tensor.Tensor{x}, []*tensor.Tensor{v})
	fmt.Println(y[0].ToList(ctx))
	fmt.Println(moved[0].ToList(ctx))
	// Output:
	// [1 8 27] <nil>
	// [3 0 -27] <nil>
}

func ExampleCustom() {
	x := tensor.Of([]float32{1, 2, 3, 4})
	mean := tensor.Custom("neighbours", []int{4}, func(k *tensor.Kernel) *tensor.Tensor {
		j := k.Range(3)
		return k.Sum(k.Load(0, k.At(0).Add(j).Sub(1)), j)
	}, []*tensor.Tensor{x}, tensor.CustomOptions{})
	fmt.Println(mean.ToList(ctx))
	// Output: [3 6 9 7] <nil>
}
