package introduction

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// addSeven is a kernel: what is computed for each i of 0 … 3, in no order. Parameters carry the type and
// sizes of their buffer; there is no pointer type.
func addSeven() *codegen.Spec {
	t := uop.NewArena()
	i := t.Range(0, 4, "")
	x := t.Load(t.Param(1, 4, dtype.I32), t.True(), i)
	return &codegen.Spec{
		Home:   t,
		Params: []codegen.Param{{DType: dtype.I32, Dims: []int{4}, Write: true}, {DType: dtype.I32, Dims: []int{4}}},
		Outs:   []codegen.Out{{Param: 0, Axes: []*uop.UOp{i}, Index: []*uop.UOp{i}, Value: x.Add(t.Int(dtype.I32, 7))}},
	}
}

// lowered makes statements of a kernel for a processor with vectors of 16 bytes.
func lowered(m c.Machine) *codegen.Program {
	spec, target := addSeven(), c.Target(m)
	prog, err := lower.Lower(spec, model.Choose(spec, target), target)
	if err != nil {
		panic(err)
	}
	return prog
}

// source is the kernel in C from its signature on, the hash in its name left out.
func source(p *codegen.Program) string {
	k, err := c.Render(p)
	if err != nil {
		panic(err)
	}
	text := k.Source[strings.Index(k.Source, "void "):]
	return strings.Replace(text, k.Entry, "kernel", 1)
}

// A kernel becomes a tree of statements: loops, loads, stores.
func Example_statements() {
	fmt.Print(codegen.Dump(lowered(c.Machine{NoOpt: true})))
	// Output:
	// E_4 s threads 1 scratch 0
	//    0 loop r0 4 s copies 4
	//    1   load.i32 p1 true r0
	//    2   add.i32 %1 7
	//    3   store p0 r0 %2
}

// In C without any optimisation it is a counted loop.
func Example_plainLoop() {
	fmt.Print(source(lowered(c.Machine{NoOpt: true})))
	// Output:
	// void kernel(char *const *buf, const int32_t *var, char *scratch, int32_t lo, int32_t hi) {
	// 	int32_t *restrict p0 = (int32_t *)buf[0];
	// 	const int32_t *restrict p1 = (const int32_t *)buf[1];
	// 	for (int64_t i0 = 0; i0 < 4; i0++) {
	// 		p0[i0] = (p1[i0] + 7);
	// 	}
	// }
}

// With the directives that are chosen by default it is one load and one store of four numbers.
func Example_vectors() {
	p := lowered(c.Machine{})
	fmt.Println(p.Name, p.Kinds, "directives:", p.Directives)
	fmt.Print(source(p))
	// Output:
	// E_4 v directives: vector a0; order a0
	// void kernel(char *const *buf, const int32_t *var, char *scratch, int32_t lo, int32_t hi) {
	// 	int32_t *restrict p0 = (int32_t *)buf[0];
	// 	const int32_t *restrict p1 = (const int32_t *)buf[1];
	// 	{
	// 		*(i32x4u *)(p0 + 0) = (((i32x4)*(const i32x4u *)(p1 + 0)) + sp_i32x4(7));
	// 	}
	// }
}

// The name of a kernel says what it is: E for elementwise, r for a reduction, then the sizes of its axes, each in the
// colour of how it runs. On a terminal DEBUG=2 prints a line for each kernel, DEBUG=4 the code.
func Example_colours() {
	k, err := c.Render(lowered(c.Machine{}))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%q\n", engine.Colored(&k))
	for _, axis := range []struct{ kind, what string }{{"g", "workgroup"}, {"t", "thread pool"}, {"l", "invocation"}, {"r", "reduction"}, {"v", "vector lanes"}, {"u", "registers"}, {"s", "loop"}} {
		k.Name, k.Kinds = "E_4", axis.kind
		fmt.Printf("%-12s %q\n", axis.what, engine.Colored(&k))
	}
	// Output:
	// "E_\x1b[33m4\x1b[0m"
	// workgroup    "E_\x1b[34m4\x1b[0m"
	// thread pool  "E_\x1b[94m4\x1b[0m"
	// invocation   "E_\x1b[36m4\x1b[0m"
	// reduction    "E_\x1b[31m4\x1b[0m"
	// vector lanes "E_\x1b[33m4\x1b[0m"
	// registers    "E_\x1b[33m4\x1b[0m"
	// loop         "E_\x1b[37m4\x1b[0m"
}

// Options.Debug prints what happens to a writer: plans, launches, schedules, code.
func Example_debug() {
	var log strings.Builder
	e, err := engine.Open("NULL", engine.Options{Debug: 1, Log: &log}) // compiles, and runs nothing
	if err != nil {
		panic(err)
	}
	defer e.Close()
	u, err := e.FromBytes(dtype.I32, []int{4}, make([]byte, 16))
	if err != nil {
		panic(err)
	}
	if err := tensor.FromNode(u, e).Add(7).Realize(ctx); err != nil {
		panic(err)
	}
	fmt.Print(log.String())
	// Output:
	// NULL plan: 1 kernels, 1 steps, arena 0.00 MB, 0.000 GFLOP, 0.00 MB moved
}
