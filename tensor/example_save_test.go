package tensor_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/weft-ml/weft/tensor"
)

// A function that has assigned a tensor goes on where it stood, in another process as in this one.
func ExampleCaptured_Save() {
	ctx := context.Background()
	total := tensor.Zeros(2).On("INTERP").Own()
	if err := tensor.Realize(ctx, total); err != nil {
		panic(err)
	}
	add, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		total.Assign(total.Add(in[0]))
		return []*tensor.Tensor{total}
	}, tensor.Zeros(2).On("INTERP"))
	if err != nil {
		panic(err)
	}
	x := tensor.Of([]float32{1, 2}).On("INTERP")
	if _, err := add.Run(ctx, x); err != nil {
		panic(err)
	}
	var file bytes.Buffer
	if err := add.Named([]string{"x"}, []string{"total"}).Save(ctx, &file); err != nil {
		panic(err)
	}
	loaded, err := tensor.LoadCaptured(ctx, &file, "INTERP")
	if err != nil {
		panic(err)
	}
	out, err := loaded.Run(ctx, x)
	if err != nil {
		panic(err)
	}
	values, err := out[0].ToList(ctx)
	fmt.Println(loaded.InputName(0), loaded.ResultName(0), values, err)
	// Output: x total [2 4] <nil>
}
