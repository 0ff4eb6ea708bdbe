package tensor_test

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// print shows tensors as lists.
func print(ts ...*tensor.Tensor) {
	for _, t := range ts {
		list, err := t.ToList(context.Background())
		if err != nil {
			panic(err)
		}
		fmt.Println(list)
	}
}

func Example() {
	x := tensor.Of([]float32{1, 2, 3, 4}, 2, 2)
	y := x.MatMul(x).Add(1).ReLU() // a graph: nothing is computed yet
	print(y)
	// Output: [[8 11] [16 23]]
}

func ExampleFrom() {
	print(tensor.From([][]int{{1, 2}, {3, 4}}), tensor.From(2.5))
	fmt.Println(tensor.From([]float32{1}).DType(), tensor.From([]int{1}).DType(), tensor.From([]bool{true}).DType())
	// Output:
	// [[1 2] [3 4]]
	// 2.5
	// float32 int32 bool
}

func ExampleTensor_Add() {
	column, row := tensor.From([][]int{{10}, {20}}), tensor.From([]int{1, 2, 3})
	print(column.Add(row), row.Add(0.5)) // a Go number takes the tensor's type; a float makes integers float32
	// Output:
	// [[11 12 13] [21 22 23]]
	// [1.5 2.5 3.5]
}

func ExampleTensor_At() {
	x := tensor.Arange(12).Reshape(3, 4)
	print(x.At(1), x.At(-1, 0), x.At(tensor.R(0, 2), tensor.RS(0, -1, 2)), x.At(tensor.From([]int{2, 0})))
	// Output:
	// [4 5 6 7]
	// 8
	// [[0 2] [4 6]]
	// [[8 9 10 11] [0 1 2 3]]
}

func ExampleTensor_Sum() {
	x := tensor.Arange(6).Reshape(2, 3)
	print(x.Sum(), x.Sum(0), x.SumKeep(-1), x.Max(1), x.ArgMax(1))
	// Output:
	// 15
	// [3 5 7]
	// [[3] [12]]
	// [2 5]
	// [2 2]
}

func ExampleTensor_Conv2D() {
	image, filter := tensor.Ones(1, 1, 4, 4), tensor.Ones(1, 1, 3, 3)
	print(image.Conv2D(filter, nil, tensor.Conv{Padding: 1}).At(0, 0))
	// Output: [[4 6 6 4] [6 9 9 6] [6 9 9 6] [4 6 6 4]]
}

func ExampleTensor_Grad() {
	w, x := tensor.Of([]float32{2, -1}), tensor.Of([]float32{3, 4})
	loss := w.Mul(x).Sum().Square()
	print(loss.Grad(w, x)...)
	// Output:
	// [12 16]
	// [8 -4]
}

func ExampleTensor_Assign() {
	counter := tensor.Of([]int32{1, 2, 3})
	counter.Assign(counter.Add(10))
	print(counter)
	// Output: [11 12 13]
}

func ExampleTensor_To() {
	x := tensor.Of([]float32{1.7, -2.5, 300})
	print(x.To(dtype.I32), x.To(dtype.U8), x.To(dtype.Bool)) // toward zero; saturating; not zero
	// Output:
	// [1 -2 300]
	// [1 0 255]
	// [true true true]
}

func ExampleTry() {
	err := tensor.Try(func() { tensor.Zeros(2, 3).Reshape(4) })
	fmt.Println(err != nil)
	// Output: true
}

func ExampleCaptured_RunInto() {
	ctx := context.Background()
	x := tensor.Of([]float32{1, 2, 3}).On("INTERP")
	f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{in[0].Mul(in[0]), in[0].Sum()}
	}, x)
	if err != nil {
		panic(err)
	}
	results := make([]*tensor.Tensor, 2) // the first run makes them, the others write into their memory
	for i := range 3 {
		if results, err = f.RunInto(ctx, results, x.Add(i)); err != nil {
			panic(err)
		}
		print(results...)
	}
	// Output:
	// [1 4 9]
	// 6
	// [4 9 16]
	// 9
	// [9 16 25]
	// 12
}

// Compound interest at rates that change, and what the end gains by each of them.
func ExampleScan() {
	rates := tensor.Of([]float32{0.5, 0, 1, 0.5}, 4)
	balances, interest := tensor.Scan(func(carried, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		gain := carried[0].Mul(in[0])
		return []*tensor.Tensor{carried[0].Add(gain)}, []*tensor.Tensor{gain}
	}, []*tensor.Tensor{tensor.Full(8, dtype.F32)}, []*tensor.Tensor{rates}, tensor.ScanOptions{})
	print(balances[0], interest[0], balances[0].Select(0, 3).Grad(rates)[0])
	// Output:
	// [12 12 24 36]
	// [4 0 12 12]
	// [24 36 18 24]
}
