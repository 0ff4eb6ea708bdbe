package tensor_test

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/tensor"
)

// A cache grows by a row in each run of one captured function.
func ExampleVariable() {
	ctx := context.Background()
	n := tensor.NewVariable("n", 0, 7)
	cache := tensor.Zeros(8, 2).On("INTERP").Own()
	if err := cache.Realize(ctx); err != nil {
		fmt.Println(err)
		return
	}
	row := tensor.Of([]float32{1, 10}).On("INTERP")
	step, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		cache.SetAt(in[0], n)
		return []*tensor.Tensor{cache.Narrow(0, 0, n.Plus(1)).Mean(0)}
	}, row)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 3 {
		outs, err := step.With(tensor.Values{n: i}).Run(ctx, row.Mul(i+1))
		if err != nil {
			fmt.Println(err)
			return
		}
		v, _ := outs[0].ToList(ctx)
		fmt.Println(v)
	}
	// Output:
	// [1 10]
	// [1.5 15]
	// [2 20]
}
