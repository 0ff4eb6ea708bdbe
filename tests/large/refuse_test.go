package large

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// caller makes arguments of any type, most of them wrong.
type caller struct {
	*rand.Rand
	pool []T
	nils bool // tensors may be missing
}

// What a wrong call may take: time, which is long because machines are shared, and megabytes.
const (
	patience      = 90 * time.Second
	mostAllocated = 1500
)

// functions are those beside methods.
var functions = map[string]any{
	"Cat": tensor.Cat, "Stack": tensor.Stack, "Einsum": tensor.Einsum, "BlockDiag": tensor.BlockDiag, "Meshgrid": tensor.Meshgrid,
	"CartesianProduct": tensor.CartesianProduct, "Complex": tensor.Complex, "FFTFreq": tensor.FFTFreq, "RFFTFreq": tensor.RFFTFreq,
	"Linspace": tensor.Linspace, "LinspaceOf": tensor.LinspaceOf, "ArangeOf": tensor.ArangeOf, "Arange": tensor.Arange,
	"RandIntOf": tensor.RandIntOf, "RandInt": tensor.RandInt, "RandOf": tensor.RandOf, "RandPerm": tensor.RandPerm, "Uniform": tensor.Uniform,
	"Normal": tensor.Normal, "KaimingUniform": tensor.KaimingUniform, "ScaledDotProduct": tensor.ScaledDotProduct,
	"AffineGrid": tensor.AffineGrid, "TriangleIndices": tensor.TriangleIndices, "HannWindow": tensor.HannWindow,
	"HammingWindow": tensor.HammingWindow, "BlackmanWindow": tensor.BlackmanWindow, "BartlettWindow": tensor.BartlettWindow,
	"Full": tensor.Full, "Eye": tensor.Eye, "Zeros": tensor.Zeros, "Empty": tensor.Empty, "FromBytes": tensor.FromBytes, "From": tensor.From,
	"Scalar": tensor.Scalar, "FullLike": tensor.FullLike, "Broadcast": tensor.Broadcast, "VStack": tensor.VStack, "HStack": tensor.HStack,
	"DStack": tensor.DStack, "GlorotUniform": tensor.GlorotUniform, "KaimingNormal": tensor.KaimingNormal, "ScaledUniform": tensor.ScaledUniform,
	"nn.NewConv2d": nn.NewConv2d, "nn.NewLinear": nn.NewLinear, "nn.NewLayerNorm": nn.NewLayerNorm, "nn.NewEmbedding": nn.NewEmbedding,
	"nn.NewBatchNorm": nn.NewBatchNorm, "nn.NewMultiheadAttention": nn.NewMultiheadAttention,
}

// unfit are methods that no wrong argument is tried on: they change the pool, or take functions.
var unfit = map[string]bool{"Borrow": true, "Discard": true, "Assign": true, "AssignBytes": true, "SetAt": true, "Own": true, "Realize": true, "On": true}

var tensorType = reflect.TypeFor[T]()

func (c *caller) tensor() T { return c.pool[c.IntN(len(c.pool))] }

func (c *caller) int() int {
	if c.IntN(6) > 0 {
		return c.IntN(8) - 2
	}
	list := []int{math.MaxInt, math.MinInt, 1 << 20, 1 << 31, 1 << 32, -1 << 31, 100, 1 << 62, 65536}
	return list[c.IntN(len(list))]
}

func (c *caller) float() float64 {
	list := []float64{0, 1, -1, 0.5, 2, math.NaN(), math.Inf(1), math.Inf(-1), 1e308, 5e-324, 1e-3, 3, -0.25}
	return list[c.IntN(len(list))]
}

func (c *caller) any() any {
	switch c.IntN(12) {
	case 0:
		return c.float()
	case 1:
		return c.int()
	case 2:
		return []any{"text", nil, []int{1, 2}, struct{}{}, complex(1, 2), uint64(math.MaxUint64), int8(-3), float32(0.5), math.NaN(), map[string]int{}}[c.IntN(10)]
	case 3:
		return c.IntN(2) == 0
	case 4:
		return tensor.RS(c.int(), c.int(), c.IntN(5)-2)
	case 5:
		return []any{tensor.All, tensor.Ellipsis, tensor.NewAxis}[c.IntN(3)]
	case 6:
		return []int{c.IntN(4) - 1, c.IntN(4) - 1}
	}
	return c.tensor()
}

// of makes an argument of a type.
func (c *caller) of(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == tensorType:
		if !c.nils || c.IntN(4) > 0 {
			v.Set(reflect.ValueOf(c.tensor()))
		}
	case t == reflect.TypeFor[context.Context]():
		v.Set(reflect.ValueOf(context.Background()))
	case t == reflect.TypeFor[dtype.DType]():
		v.SetUint(uint64(c.IntN(19)))
	case t.Kind() == reflect.Interface:
		if x := c.any(); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	case t.Kind() == reflect.Int:
		v.SetInt(int64(c.int()))
	case t.Kind() == reflect.Uint8:
		v.SetUint(uint64(c.IntN(9)))
	case t.Kind() == reflect.Float64:
		v.SetFloat(c.float())
	case t.Kind() == reflect.Bool:
		v.SetBool(c.IntN(2) == 0)
	case t.Kind() == reflect.String:
		texts := []string{"", "ij,jk->ik", "ij", "ii->i", "->", "ij->ijj", "...i,i", "ab,bc", "é", "i.j", "ij,ij->k", "INTERP"}
		v.SetString(texts[c.IntN(len(texts))])
	case t.Kind() == reflect.Slice:
		n := c.IntN(4)
		if t.Elem() == reflect.TypeFor[*tensor.Tensor]() {
			n = c.IntN(3)
		}
		v.Set(reflect.MakeSlice(t, n, n))
		for i := range n {
			v.Index(i).Set(c.of(t.Elem()))
		}
	case t.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && c.IntN(3) == 0 {
				v.Field(i).Set(c.of(v.Type().Field(i).Type))
			}
		}
	}
	return v
}

// call calls f and reads small results; it gives what was thrown that is no error in words.
func (c *caller) call(f reflect.Value, args []reflect.Value) (fault string) {
	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	var out []reflect.Value
	if err := tensor.Try(func() {
		if f.Type().IsVariadic() {
			out = f.CallSlice(args)
		} else {
			out = f.Call(args)
		}
	}); err != nil {
		return worded(err)
	}
	for _, o := range out {
		if err, ok := o.Interface().(error); ok {
			if s := worded(err); s != "" {
				return s
			}
		}
		ts, _ := o.Interface().([]T)
		if t, ok := o.Interface().(T); ok && t != nil {
			ts = []T{t}
		}
		for _, t := range ts {
			if t == nil || t.Numel() > 2000 {
				continue
			}
			ctx, stop := context.WithTimeout(context.Background(), patience)
			raw, err := t.Bytes(ctx)
			stop()
			var value *tensor.ValueError
			switch {
			case err == nil && len(raw) != t.Numel()*t.DType().Size():
				return fmt.Sprintf("%d bytes of %v%v", len(raw), t.DType(), t.Shape())
			case errors.Is(err, context.DeadlineExceeded):
				return "took too long"
			case err != nil && !errors.As(err, &value):
				return "reading: " + err.Error()
			}
		}
	}
	return ""
}

// worded says what is wrong with the words of an error.
func worded(err error) string {
	s := err.Error()
	for _, bad := range []string{"runtime error", "BUG", "reflect", "nil pointer", "%!"} {
		if strings.Contains(s, bad) {
			return "error: " + s
		}
	}
	if s == "" {
		return "an error without words"
	}
	return ""
}

// Every method refuses wrong arguments in words, soon, and without much memory.
func TestRefuse(t *testing.T) {
	e, err := opened("INTERP", " SMALL", engine.Options{MemoryLimit: 1 << 26})
	require.NoError(t, err)
	engine.Configure(engine.Options{MemoryLimit: 1 << 26}, e.Name())
	defer engine.Configure(engine.Options{}, "")
	c := &caller{nils: *missing}
	for _, d := range []dtype.DType{dtype.F32, dtype.I32, dtype.Bool, dtype.F16, dtype.U8, dtype.I64, dtype.F64} {
		for _, s := range [][]int{{}, {0}, {1}, {3}, {2, 3}, {3, 3}, {2, 0, 3}, {2, 3, 4}, {1, 2, 5, 5}, {2, 2, 3, 3, 2}} {
			n := 1
			for _, k := range s {
				n *= k
			}
			data := make([]float64, n)
			for i := range data {
				data[i] = float64(i%5 - 1)
			}
			c.pool = append(c.pool, on(e)(data, d, s))
		}
	}
	calls := map[string]func() reflect.Value{}
	for i := range tensorType.NumMethod() {
		if m := tensorType.Method(i); !unfit[m.Name] {
			calls[m.Name] = func() reflect.Value { return reflect.ValueOf(c.tensor()).Method(i) }
		}
	}
	for name, f := range functions {
		calls[name] = func() reflect.Value { return reflect.ValueOf(f) }
	}
	tries := count(8)
	for name, f := range calls {
		if *only != "" && name != *only {
			continue
		}
		t.Run(name, func(t *testing.T) {
			seed := *first
			for _, r := range name {
				seed = seed*31 + uint64(r)
			}
			c.Rand = rand.New(rand.NewPCG(seed, 5))
			for range tries {
				f := f()
				var args []reflect.Value
				for i := range f.Type().NumIn() {
					args = append(args, c.of(f.Type().In(i)))
				}
				if fault := c.watched(f, args); !assert.Empty(t, fault, "%s", described(args)) {
					return
				}
			}
		})
	}
}

// watched is call with an eye on time and memory.
func (c *caller) watched(f reflect.Value, args []reflect.Value) string {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan string, 1)
	start := time.Now()
	go func() { done <- c.call(f, args) }()
	select {
	case fault := <-done:
		runtime.ReadMemStats(&after)
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; fault == "" && mb > mostAllocated {
			return fmt.Sprintf("allocated %d MB in %v", mb, time.Since(start))
		}
		return fault
	case <-time.After(2 * patience):
		return "does not end"
	}
}

func described(args []reflect.Value) string {
	var s []string
	for _, a := range args {
		s = append(s, describe(a))
	}
	return strings.Join(s, ", ")
}

func describe(a reflect.Value) string {
	if t, ok := a.Interface().(T); ok {
		if t == nil {
			return "nil"
		}
		return fmt.Sprint(t.DType(), t.Shape())
	}
	if a.Kind() == reflect.Slice && a.Type().Elem().Kind() != reflect.Int {
		var s []string
		for i := range a.Len() {
			s = append(s, describe(a.Index(i)))
		}
		return "{" + strings.Join(s, ", ") + "}"
	}
	if a.Kind() == reflect.Struct {
		var s []string
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() && !a.Field(i).IsZero() {
				s = append(s, a.Type().Field(i).Name+": "+describe(a.Field(i)))
			}
		}
		return a.Type().Name() + "{" + strings.Join(s, ", ") + "}"
	}
	if a.Kind() == reflect.Interface && !a.IsNil() {
		return describe(a.Elem())
	}
	return fmt.Sprintf("%v", a.Interface())
}
