// Package introduction is the first tour of Weft as examples: tensors, graphs, kernels, rules. Each prints what its
// Output says; go test checks them.
//
//	go test -v ./examples/introduction
package introduction

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

var ctx = context.Background()

// The tour runs on the interpreter, which every machine has. Leave this out, and it runs on the best device.
func TestMain(m *testing.M) {
	engine.Configure(engine.Options{}, "INTERP")
	os.Exit(m.Run())
}

// A tensor is made from a list. Printing says what it is and computes nothing.
func Example_create() {
	t := tensor.From([]int{1, 2, 3, 4})
	fmt.Println(t)
	fmt.Println(t.Mul(2))
	// Output:
	// <Tensor [4] int32 (buffer) on INTERP, grad none>
	// <Tensor [4] int32 (mul) on INTERP, grad none>
}

// A value is computed when it is asked for.
func Example_compute() {
	t := tensor.From([]int{1, 2, 3, 4})
	double, _ := t.Mul(2).ToList(ctx)
	fmt.Println(double)
	more, _ := t.Add(3).Add(4).ToList(ctx)
	fmt.Println(more)
	// Output:
	// [2 4 6 8]
	// [8 9 10 11]
}

// A tensor lies on a device, has a type and a shape.
func Example_properties() {
	t := tensor.From([]int{1, 2, 3, 4})
	e, _ := engine.Use("") // the default device
	fmt.Println(t.Device() == e.Name(), t.DType() == dtype.I32, t.Shape())
	// Output: true true [4]
}

// Devices have names. The default one is the best that works; a program may choose another before it begins, and a
// tensor can be moved. Code does not change with the device.
func Example_devices() {
	fmt.Println(slices.Contains(engine.Names(), "CPU"), slices.Contains(engine.Names(), "INTERP"))
	t := tensor.From([]int{1, 2, 3, 4})
	there := t.Add(3).On("REF")
	list, _ := there.ToList(ctx)
	fmt.Println(t.Device(), there.Device(), list)
	_, err := engine.Use("METAL")
	fmt.Println(err != nil)
	// Output:
	// true true
	// INTERP REF [4 5 6 7]
	// true
}

// Realize computes; afterwards the tensor is a buffer, and how it came about is forgotten.
func Example_realize() {
	t := tensor.From([]int{1, 2, 3, 4}).Add(7)
	fmt.Println(t, t.IsRealized())
	if err := t.Realize(ctx); err != nil {
		panic(err)
	}
	fmt.Println(t, t.IsRealized())
	// Output:
	// <Tensor [4] int32 (add) on INTERP, grad none> false
	// <Tensor [4] int32 (buffer) on INTERP, grad none> true
}

// The derivative of x² + 3x + 1 at 2 is 7.
func Example_gradient() {
	x := tensor.From([]float32{2})
	y := x.Square().Add(x.Mul(3)).Add(1).Sum()
	value, _ := y.Item(ctx)
	slope, _ := y.Grad(x)[0].Item(ctx)
	fmt.Println(value, slope)
	// Output: 11 7
}

// The derivative of log(x² + 1) at 2 is 0.8 by the chain rule.
func Example_chainRule() {
	x := tensor.From([]float32{2})
	y := x.Square().Add(1).Log().Sum()
	y.Backward(x) // adds to x's gradient, for those who prefer to collect
	value, _ := y.Item(ctx)
	slope, _ := x.Gradient().Item(ctx)
	fmt.Printf("%.5f %.5f\n", value, slope)
	// Output: 1.60944 0.80000
}

// Wrong shapes panic with an error that names the operation, the shapes and the line; Try gives it back.
func Example_errors() {
	err := tensor.Try(func() { tensor.Ones(2, 3).MatMul(tensor.Ones(4, 5)) })
	text, _, _ := strings.Cut(err.Error(), " (") // then file and line
	fmt.Println(text)
	// Output: tensor: MatMul [2 3] [4 5]: inner sizes 3 and 4 differ
}
