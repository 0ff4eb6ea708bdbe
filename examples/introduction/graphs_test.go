package introduction

import (
	"fmt"
	"regexp"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// show prints a graph. Buffers are numbered in the order in which a process makes them, so the numbers are left out.
func show(roots ...*uop.UOp) {
	fmt.Print("graph\n" + regexp.MustCompile(`#\d+`).ReplaceAllString(uop.Print(roots...), "#"))
}

// Behind a tensor is a graph of nodes: op, type, shape, operands. A list that was copied to the device is a buffer; what
// is not computed yet is what it would be computed by.
func Example_graph() {
	t := tensor.From([]int{1, 2, 3, 4})
	show(t.Node())
	fmt.Println()
	show(t.Mul(2).Node())
	// Output:
	// graph
	//    0 buffer     i32   [4] # v0 on INTERP
	//
	// graph
	//    0 buffer     i32   [4] # v0 on INTERP
	//    1 const      i32   2
	//    2 mul        i32   [4]  <- %0 %1
}

// Scalars meet arrays of any shape. Arrays of different shapes are brought to one by reshaping and expanding, which
// move no data.
func Example_broadcasting() {
	row, column := tensor.From([]int{1, 2, 3}), tensor.From([][]int{{10}, {20}})
	show(row.Add(column).Node())
	list, _ := row.Add(column).ToList(ctx)
	fmt.Println(list)
	// Output:
	// graph
	//    0 buffer     i32   [3] # v0 on INTERP
	//    1 reshape    i32   [1 3]  <- %0
	//    2 expand     i32   [2 3]  <- %1
	//    3 buffer     i32   [2] # v0 on INTERP
	//    4 reshape    i32   [2 1]  <- %3
	//    5 expand     i32   [2 3]  <- %4
	//    6 add        i32   [2 3]  <- %2 %5
	// [[11 12 13] [21 22 23]]
}

// Both additions stand in the graph: building it simplifies nothing.
func Example_twoAdditions() {
	show(tensor.From([]int{1, 2, 3, 4}).Add(3).Add(4).Node())
	// Output:
	// graph
	//    0 buffer     i32   [4] # v0 on INTERP
	//    1 const      i32   3
	//    2 add        i32   [4]  <- %0 %1
	//    3 const      i32   4
	//    4 add        i32   [4]  <- %2 %3
}

// Equal nodes are one node: two tensors, one graph.
func Example_sameNode() {
	t := tensor.From([]int{1, 2, 3, 4})
	a, b := t.Mul(4), t.Mul(4)
	fmt.Println(a == b, a.Node() == b.Node())

	// When one of them is realized, so is the other: reading it computes nothing.
	if err := a.Realize(ctx); err != nil {
		panic(err)
	}
	plays := a.Engine().Stats().Plays
	fmt.Println(b.IsRealized(), b.Node().Realized() == a.Node())
	list, _ := b.ToList(ctx)
	fmt.Println(list, a.Engine().Stats().Plays-plays)
	// Output:
	// false true
	// true true
	// [4 8 12 16] 0
}

// Scheduling groups nodes into kernels, here into one, and says why. The constants have become one: 3 + 4 is 7.
func Example_schedule() {
	t := tensor.From([]int{1, 2, 3, 4}).Add(3).Add(4)
	view, err := t.Schedule()
	if err != nil {
		panic(err)
	}
	fmt.Print("schedule\n", view.Schedule)
	for _, o := range view.Schedule.Steps[0].Spec.Outs {
		fmt.Print("kernel\n" + uop.Print(o.Value))
	}
	// Output:
	// schedule
	//   0 kernel =out0.i32[4] in0.i32[4]
	//     store  add.i32[4]: output
	// kernel
	//    0 param      i32   [4] p1
	//    1 const      b1    true
	//    2 range      idx   r0 0..3
	//    3 load       i32    <- %0 %1 %2
	//    4 const      i32   7
	//    5 add        i32    <- %3 %4
}

// Two nodes for the same constant are the same object, and adding it to itself names it twice.
func Example_nodes() {
	t := uop.NewArena()
	two, again := t.Index(2), t.Index(2)
	fmt.Println(two == again)
	fmt.Print(uop.Print(two.Add(again)))
	// Output:
	// true
	//    0 const      idx   2
	//    1 add        idx    <- %0 %0
}
