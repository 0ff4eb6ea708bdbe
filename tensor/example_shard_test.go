package tensor_test

import (
	"fmt"

	"github.com/weft-ml/weft/tensor"
)

// The pictures of a batch are cut over two devices, and each has all of the weights. The gradient of the weights is a sum over the batch:
// what the devices have of it is copied and added, so that all have it whole.
func ExampleTensor_Shard() {
	devices := []string{"INTERP:0", "INTERP:1"}
	x := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2).Shard(devices, 0)
	w := tensor.Of([]float32{1, -1}, 2, 1).Shard(devices, tensor.Replicated)
	y := x.MatMul(w)
	g := y.Square().Sum().Grad(w)[0]
	fmt.Println(y.ToList(ctx))
	fmt.Println(y.CutAxis())

	view, _ := g.Schedule()
	for i, stage := range view.Stages() {
		for _, m := range stage.Moves {
			fmt.Printf("after stage %d: %d bytes from %s to %s\n", i, m.Bytes, m.From, m.To)
		}
	}
	fmt.Println(g.ToList(ctx))
	// Output:
	// [[-1] [-1] [-1] [-1]] <nil>
	// 0 <nil>
	// after stage 0: 8 bytes from INTERP:1 to INTERP:0
	// after stage 0: 8 bytes from INTERP:0 to INTERP:1
	// [[-32] [-40]] <nil>
}

// Two layers cut in the manner of Megatron-LM: the first by its outputs and the second by its inputs, so that only the sum at the end moves.
func ExampleTensor_ShardTo() {
	devices := []string{"INTERP:0", "INTERP:1"}
	up := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4).ShardTo(devices, 1)
	down := tensor.Of([]float32{1, 0, 0, 1, 1, 1, 0, 2}, 4, 2).ShardTo(devices, 0)
	x := tensor.Of([]float32{1, 1}, 1, 2).Shard(devices, tensor.Replicated)
	h := x.MatMul(up).ReLU()
	fmt.Println(h.CutAxis())
	fmt.Println(h.MatMul(down).ToList(ctx))
	// Output:
	// 1 <nil>
	// [[16 42]] <nil>
}
