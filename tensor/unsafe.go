package tensor

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// UnsafeSource is a kernel as text in the language of one kind of device.
type UnsafeSource struct {
	// Text defines a function kernel and whatever it needs besides.
	//
	// In C, of device CPU: void kernel(const T *in0, …, T *out0, …, int32_t lo, int32_t hi), which does iterations lo to hi−1 of
	// Threads; several threads call it at once, each with its share. T are float, double and the types of <stdint.h>; bool is uint8_t,
	// and the 16-bit and 8-bit floats are their bits.
	//
	// In WGSL, of device WEBGPU: fn kernel(group: u32, lane: u32), which is called by each invocation, lane, of each of Threads
	// workgroups. in0, …, out0, … are arrays of f32, i32, u32 or, of 64-bit integers, vec2<u32>; narrower types share words of u32,
	// the first in the lowest bits. Names that begin with weft_ are taken.
	Text    string
	Threads int // iterations in C, workgroups in WGSL
	Group   int // invocations of a workgroup, in WGSL; 0: 64
}

// UnsafeOptions say what CustomUnsafe runs where, and what is known of it.
type UnsafeOptions struct {
	C, WGSL UnsafeSource // one at least; without Text there is none

	// Same is the same in operations of tensors: devices of other kinds run it, files of captured functions keep it, and derivatives and Vmap
	// come from it. nil: on devices without a text the kernel is an error when it is computed.
	Same func(in ...*Tensor) []*Tensor

	// Gradient states the gradients of the arguments, as in FunctionOptions. nil: those of Same.
	Gradient func(in, out, seeds []*Tensor) []*Tensor
}

// UnsafeResult is what a kernel gives.
type UnsafeResult struct {
	DType dtype.DType
	Shape []int
}

// CustomUnsafe is a kernel that is given as text in the language of a device. Its arguments and its results are whole arrays, row-major, that
// overlap nowhere; it is scheduled like other kernels and nothing is fused with it. All elements of all results are to be written.
//
// It is unsafe: of every kernel that Weft writes it proves that nothing is read or written outside of arrays, and of foreign text it can
// prove nothing. In C such an access may end the program or change other tensors unseen, and the text can do whatever the
// program may do; give it no text from outside. WEBGPU keeps accesses within arrays. Whether results depend on the number of threads is
// the text's affair, too. Custom writes kernels in Go without these dangers, for all devices.
//
// A text that its compiler refuses is an error with the compiler's words, when the kernel is computed; lines are counted within Text. On
// several devices each runs it, on arguments that are whole on each. Sizes do not vary (Variable).
func CustomUnsafe(name string, results []UnsafeResult, in []*Tensor, o UnsafeOptions) []*Tensor {
	a := unsafeKernel(name, results, in, o)
	f := func(in ...*Tensor) []*Tensor {
		args := nodes(in)
		var same []*Tensor
		if o.Same != nil {
			if same = o.Same(in...); len(same) != len(results) {
				failArg(name, "what is the same gives %d results, and the kernel gives %d", len(same), len(results))
			}
		}
		e := commonEngine(name, in...)
		outs := make([]*Tensor, len(results))
		for i, r := range results {
			src := args[:len(args):len(args)]
			if same != nil {
				y := same[i]
				if y == nil || y.DType() != r.DType || !y.shape().Equal(r.Shape) {
					failArg(name, "result %d of what is the same is to be %v %v, as the kernel's", i, r.DType, r.Shape)
				}
				src = append(src, y.node())
			}
			a.Result = i
			outs[i] = newTensor(uop.NewIota(1).Home().Make(uop.Foreign, r.DType, a, src...), e)
		}
		return outs
	}
	return Function(name, f, FunctionOptions{Gradient: o.Gradient})(in...)
}

// unsafeKernel checks what a kernel is said to be.
func unsafeKernel(name string, results []UnsafeResult, in []*Tensor, o UnsafeOptions) uop.ForeignArg {
	if len(results) == 0 {
		failArg(name, "the kernel gives nothing")
	}
	var list []uop.ForeignResult
	for i, r := range results {
		checkStored(name, r.DType)
		checkSizes(name, r.Shape)
		if uop.Shape(r.Shape).Numel() == 0 {
			fail(name, shapes(r.Shape), "result %d has no elements, which no kernel is launched for", i)
		}
		list = append(list, uop.ForeignResult{DType: r.DType, Shape: r.Shape})
	}
	for i, x := range in {
		if x.Numel() == 0 {
			fail(name, shapesOf(x), "argument %d has no elements, which no kernel is launched for", i)
		}
	}
	a := uop.ForeignArg{Name: name, Args: len(in), Results: uop.ForeignResults(list...), Texts: [2]uop.ForeignText{
		unsafeText(name, "c", o.C, 1), unsafeText(name, "wgsl", o.WGSL, 64)}}
	if o.C.Text == "" && o.WGSL.Text == "" {
		failArg(name, "the kernel has no text; give its text in C or WGSL, or write it with Custom")
	}
	return a
}

const (
	mostThreads = 1<<31 - 1
	mostGroup   = 256 // invocations that every WebGPU device takes
)

func unsafeText(name, language string, s UnsafeSource, group int) uop.ForeignText {
	if s.Text == "" {
		return uop.ForeignText{}
	}
	if s.Threads < 1 || s.Threads > mostThreads {
		failArg(name, "%d threads of the text in %s, which are to be from 1 to %d", s.Threads, language, mostThreads)
	}
	if s.Group == 0 {
		s.Group = group
	}
	if s.Group < 1 || s.Group > mostGroup {
		failArg(name, "workgroups of %d invocations, which are to be from 1 to %d", s.Group, mostGroup)
	}
	return uop.ForeignText{Language: language, Text: s.Text, Threads: s.Threads, Group: s.Group}
}
