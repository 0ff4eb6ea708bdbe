package fuzz

import (
	"fmt"
	"reflect"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// T is short for the tensor type.
type T = *tensor.Tensor

// functions are those of package tensor that ops may name; everything else is a method.
var functions = map[string]reflect.Value{
	"Cat":              reflect.ValueOf(tensor.Cat),
	"Stack":            reflect.ValueOf(tensor.Stack),
	"Einsum":           reflect.ValueOf(tensor.Einsum),
	"ScaledDotProduct": reflect.ValueOf(tensor.ScaledDotProduct),
	"Full":             reflect.ValueOf(tensor.Full),
	"ArangeOf":         reflect.ValueOf(tensor.ArangeOf),
	"Eye":              reflect.ValueOf(tensor.Eye),
	"BlockDiag":        reflect.ValueOf(tensor.BlockDiag),
}

// enums are the named integer types of package tensor.
var enums = map[string]reflect.Type{
	"Merging": reflect.TypeFor[tensor.Merging](),
	"PadMode": reflect.TypeFor[tensor.PadMode](),
}

// call carries an op out on tensors. Wrong operands panic as the tensor API does.
func call(o *Op, values []T) T {
	args := make([]reflect.Value, 0, len(o.Args)+2)
	for _, a := range o.Args {
		args = append(args, a.values(values)...)
	}
	f, ok := functions[o.Name]
	if !ok {
		f = args[0].MethodByName(o.Name)
		if !f.IsValid() {
			panic(fmt.Sprintf("BUG: no method %s", o.Name))
		}
		args = args[1:]
	}
	for i := range args {
		switch want := parameter(f.Type(), i); {
		case !args[i].IsValid(): // a nil tensor
			args[i] = reflect.Zero(reflect.TypeFor[T]())
		case want.Kind() == reflect.Float64 && args[i].Kind() == reflect.Int:
			args[i] = args[i].Convert(want)
		}
	}
	out := f.Call(args)
	if out[0].Kind() == reflect.Slice {
		if o.Out >= out[0].Len() {
			panic(&tensor.ArgumentError{Op: o.Name, Reason: fmt.Sprintf("%d results, not %d", out[0].Len(), o.Out+1)})
		}
		return out[0].Index(o.Out).Interface().(T)
	}
	return out[o.Out].Interface().(T)
}

// parameter is the type of the i-th argument of a call.
func parameter(f reflect.Type, i int) reflect.Type {
	if last := f.NumIn() - 1; f.IsVariadic() && i >= last {
		return f.In(last).Elem()
	}
	return f.In(i)
}

func (a *Arg) values(values []T) []reflect.Value {
	one := func(v any) []reflect.Value { return []reflect.Value{reflect.ValueOf(v)} }
	switch a.Kind {
	case Val:
		return one(values[a.N])
	case Vals:
		var out []reflect.Value
		for _, n := range a.List {
			out = append(out, reflect.ValueOf(values[n]))
		}
		return out
	case ValsSl:
		out := make([]T, len(a.List))
		for i, n := range a.List {
			out[i] = values[n]
		}
		return one(out)
	case Int:
		return one(a.N)
	case Float:
		return one(a.X)
	case Bool:
		return one(a.N != 0)
	case Ints:
		var out []reflect.Value
		for _, n := range a.List {
			out = append(out, reflect.ValueOf(n))
		}
		return out
	case Slice:
		return one(append([]int{}, a.List...))
	case Type:
		return one(dtype.DType(a.N))
	case Text:
		return one(a.S)
	case Span:
		return one(tensor.RS(ends(a.List[0]), ends(a.List[1]), a.List[2]))
	case Whole:
		return one(tensor.All)
	case Axis:
		return one(tensor.NewAxis)
	case Dots:
		return one(tensor.Ellipsis)
	case Nil:
		return []reflect.Value{{}}
	case ConvA:
		return one(a.conv())
	case PoolA:
		return one(a.pool())
	case AttnA:
		return one(tensor.Attention{Causal: a.N != 0})
	case LossA:
		return one(tensor.Loss{Reduction: tensor.LossReduction(a.N)})
	case Enum:
		return []reflect.Value{reflect.ValueOf(a.N).Convert(enums[a.S])}
	}
	panic("BUG: an argument of no kind")
}

// Ends of an axis in a Span, which is printed and shrunk as small numbers.
const (
	begin = -1000
	end   = 1000
)

func ends(n int) int {
	switch n {
	case begin:
		return tensor.Begin
	case end:
		return tensor.End
	}
	return n
}

func (a *Arg) conv() tensor.Conv {
	c := tensor.Conv{Stride: a.List[0], Padding: a.List[1], Dilation: a.List[2], Groups: a.List[3]}
	if a.List[4] > 0 {
		c.OutputPadding = []int{a.List[4]}
	}
	return c
}

func (a *Arg) pool() tensor.Pool {
	p := tensor.Pool{Size: []int{a.List[0]}, Axes: a.List[4], Ceil: a.List[5] != 0, ExcludePadding: a.List[6] != 0}
	if a.List[1] > 0 {
		p.Stride = []int{a.List[1]}
	}
	if a.List[2] > 0 {
		p.Padding = []int{a.List[2]}
	}
	if a.List[3] > 1 {
		p.Dilation = []int{a.List[3]}
	}
	return p
}

// results says how many tensors an op gives, or that it gives a list.
func results(name string) (n int, list bool) {
	f, ok := functions[name]
	if !ok {
		m, found := reflect.TypeFor[T]().MethodByName(name)
		if !found {
			panic(fmt.Sprintf("BUG: no method %s", name))
		}
		f = m.Func
	}
	return f.Type().NumOut(), f.Type().Out(0).Kind() == reflect.Slice
}
