package fuzz

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

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
	"AffineGrid":       reflect.ValueOf(tensor.AffineGrid),
	"Arange":           reflect.ValueOf(tensor.Arange),
	"BartlettWindow":   reflect.ValueOf(tensor.BartlettWindow),
	"BlackmanWindow":   reflect.ValueOf(tensor.BlackmanWindow),
	"Broadcast":        reflect.ValueOf(tensor.Broadcast),
	"CartesianProduct": reflect.ValueOf(tensor.CartesianProduct),
	"Complex":          reflect.ValueOf(tensor.Complex),
	"DStack":           reflect.ValueOf(tensor.DStack),
	"FFTFreq":          reflect.ValueOf(tensor.FFTFreq),
	"FullLike":         reflect.ValueOf(tensor.FullLike),
	"GlorotUniform":    reflect.ValueOf(tensor.GlorotUniform),
	"HStack":           reflect.ValueOf(tensor.HStack),
	"KaiserWindow":     reflect.ValueOf(tensor.KaiserWindow),
	"HammingWindow":    reflect.ValueOf(tensor.HammingWindow),
	"HannWindow":       reflect.ValueOf(tensor.HannWindow),
	"KaimingNormal":    reflect.ValueOf(tensor.KaimingNormal),
	"KaimingUniform":   reflect.ValueOf(tensor.KaimingUniform),
	"Linspace":         reflect.ValueOf(tensor.Linspace),
	"LinspaceOf":       reflect.ValueOf(tensor.LinspaceOf),
	"Meshgrid":         reflect.ValueOf(tensor.Meshgrid),
	"MeshgridXY":       reflect.ValueOf(tensor.MeshgridXY),
	"Normal":           reflect.ValueOf(tensor.Normal),
	"Ones":             reflect.ValueOf(tensor.Ones),
	"OnesLike":         reflect.ValueOf(tensor.OnesLike),
	"RFFTFreq":         reflect.ValueOf(tensor.RFFTFreq),
	"Rand":             reflect.ValueOf(tensor.Rand),
	"RandInt":          reflect.ValueOf(tensor.RandInt),
	"RandIntOf":        reflect.ValueOf(tensor.RandIntOf),
	"RandLike":         reflect.ValueOf(tensor.RandLike),
	"RandOf":           reflect.ValueOf(tensor.RandOf),
	"RandPerm":         reflect.ValueOf(tensor.RandPerm),
	"RandomBits":       reflect.ValueOf(tensor.RandomBits),
	"Randn":            reflect.ValueOf(tensor.Randn),
	"RandnLike":        reflect.ValueOf(tensor.RandnLike),
	"Scalar":           reflect.ValueOf(tensor.Scalar),
	"ScaledUniform":    reflect.ValueOf(tensor.ScaledUniform),
	"TriangleIndices":  reflect.ValueOf(tensor.TriangleIndices),
	"USum":             reflect.ValueOf(tensor.USum),
	"UProd":            reflect.ValueOf(tensor.UProd),
	"Uniform":          reflect.ValueOf(tensor.Uniform),
	"VStack":           reflect.ValueOf(tensor.VStack),
	"Zeros":            reflect.ValueOf(tensor.Zeros),
	"ZerosLike":        reflect.ValueOf(tensor.ZerosLike),
}

// ours are functions of this package that ops may name: they call what takes functions.
var ours = map[string]reflect.Value{
	"Pushed":       reflect.ValueOf(Pushed),
	"Pulled":       reflect.ValueOf(Pulled),
	"Mapped":       reflect.ValueOf(Mapped),
	"Checkpointed": reflect.ValueOf(Checkpointed),
	"Smeared":      reflect.ValueOf(Smeared),
	"Scanned":      reflect.ValueOf(Scanned),
}

func init() { maps.Copy(functions, ours) }

// enums are the named integer types of package tensor.
var enums = map[string]reflect.Type{
	"Merging": reflect.TypeFor[tensor.Merging](),
	"PadMode": reflect.TypeFor[tensor.PadMode](),

	"KeccakKind":     reflect.TypeFor[tensor.KeccakKind](),
	"BagMode":        reflect.TypeFor[tensor.BagMode](),
	"FFTNorm":        reflect.TypeFor[tensor.FFTNorm](),
	"Interpolation":  reflect.TypeFor[tensor.Interpolation](),
	"MatrixNormKind": reflect.TypeFor[tensor.MatrixNormKind](),
}

// call carries an op out on tensors. Wrong operands panic as the tensor API does.
func call(o *Op, values []T) (T, error) {
	args := make([]reflect.Value, 0, len(o.Args)+2)
	for _, a := range o.Args {
		if a.Kind == SeedA {
			tensor.Seed(uint32(a.N))
		}
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
	if takesContext(f.Type()) {
		args = append([]reflect.Value{reflect.ValueOf(background)}, args...)
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
	if last := len(out) - 1; f.Type().Out(last) == errorType {
		if err, bad := out[last].Interface().(error); bad {
			return nil, err
		}
	}
	switch out[0].Kind() {
	case reflect.Slice:
		if o.Out >= out[0].Len() {
			panic(&tensor.ArgumentError{Op: o.Name, Reason: fmt.Sprintf("%d results, not %d", out[0].Len(), o.Out+1)})
		}
		return out[0].Index(o.Out).Interface().(T), nil
	case reflect.Struct: // tensor.Uniques
		return out[0].Field(o.Out).Interface().(T), nil
	}
	return out[o.Out].Interface().(T), nil
}

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

func takesContext(f reflect.Type) bool { return f.NumIn() > 0 && f.In(0) == contextType }

// eager says that an op reads values while a graph is built, so that it can not be captured.
func (o *Op) eager() bool {
	switch {
	case o.Name == "CTC": // of targets in a row, which are not drawn
		return false
	}
	if f, ok := functions[o.Name]; ok {
		return takesContext(f.Type())
	}
	m, ok := reflect.TypeFor[T]().MethodByName(o.Name)
	return ok && m.Type.NumIn() > 1 && m.Type.In(1) == contextType
}

// seeded says that an op draws random numbers.
func (o *Op) seeded() bool {
	return slices.ContainsFunc(o.Args, func(a Arg) bool { return a.Kind == SeedA })
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
	case Bound:
		return one(a.variable())
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
		return one(a.loss(values))
	case Enum:
		return []reflect.Value{reflect.ValueOf(a.N).Convert(enums[a.S])}
	case SeedA:
		return nil
	case Floats:
		return one(a.Reals)
	case Bytes:
		return one(a.bytes())
	}
	return one(a.options())
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
	c.Same = len(a.List) > 5 && a.List[5] != 0
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
	if len(a.List) > 7 { // as much after each axis, or Same
		if p.Same = a.List[7] < 0; !p.Same {
			n := min(max(a.List[4], 0), 64) // a program may ask for fewer axes than none, or for many
			p.Padding = append(slices.Repeat([]int{a.List[2]}, n), slices.Repeat([]int{a.List[7]}, n)...)
		}
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
	n = f.Type().NumOut()
	if f.Type().Out(n-1) == errorType {
		n--
	}
	return n, f.Type().Out(0).Kind() == reflect.Slice
}
