package onnx

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// The operators of ai.onnx.ml: classical models.

func binarizer(c *call) []*Value {
	return c.one(c.t(0).Gt(c.attrFloat("threshold", 0)), c.elem(0))
}

// labels is a table that LabelEncoder looks values up in.
func labelEncoder(c *call) []*Value {
	keys, values := c.labelList("keys"), c.labelList("values")
	if keys == nil || values == nil {
		return c.oldLabels()
	}
	if count(keys.shape) != count(values.shape) {
		c.fail("%d keys and %d values", count(keys.shape), count(values.shape))
	}
	none := c.labelDefault(values)
	in := c.value(0)
	if y := c.labelled(in, keys, values, none); y != nil {
		return c.one(y, values.elem)
	}
	at := c.lookUp(in, keys)
	if values.elem == String {
		c.texts(len(at), 0)
		out := make([]string, len(at))
		for i, k := range at {
			if out[i] = none.strs[0]; k >= 0 {
				out[i] = values.strs[k]
			}
		}
		return []*Value{Strings(in.shape, out)}
	}
	size := values.elem.DType().Size()
	raw := make([]byte, 0, len(at)*size)
	for _, k := range at {
		if k < 0 {
			raw = append(raw, none.raw...)
		} else {
			raw = append(raw, values.raw[k*size:(k+1)*size]...)
		}
	}
	return []*Value{{elem: values.elem, shape: in.shape, raw: raw, known: true}}
}

const (
	mostKeys  = 1 << 12 // keys of numbers that are not in the program, which are compared with all,
	mostKeyed = 1 << 24 // and elements times keys
)

// labelled is LabelEncoder from numbers to numbers where a device has those, or will: else the model would be run piece by piece. nil: it is not such a one.
func (c *call) labelled(in, keys, values, none *Value) t {
	n := count(keys.shape)
	if in.elem != keys.elem || in.elem == String || values.elem == String || c.r.atHand(in) || n == 0 || n > mostKeys || count(in.shape) > mostKeyed/n {
		return nil
	}
	x, list := c.t(0).Unsqueeze(-1), c.table("keys", &Value{elem: keys.elem, shape: []int{n}, raw: keys.raw, known: true})
	same := x.Eq(list)
	if in.elem.isFloat() { // NaN finds NaN
		same = same.LogicalOr(x.IsNaN().LogicalAnd(list.IsNaN()))
	}
	at := same.Where(tensor.ArangeOf(dtype.I32, 0, n, 1), n).Min(-1) // the first one, n: none
	return c.at(c.table("values", &Value{elem: values.elem, shape: []int{n + 1}, raw: slices.Concat(values.raw, none.raw), known: true}), 0, at)
}

// categoryMapper maps strings to integers or integers to strings, each by its place in one of two lists.
func categoryMapper(c *call) []*Value {
	words, numbers := c.attrStrings("cats_strings"), c.typed("cats_int64s", attrInts)
	if numbers == nil || len(numbers.ints) != len(words) {
		c.fail("%d strings, and not as many integers", len(words))
	}
	in, ids := c.value(0), intsValue([]int{len(words)}, numbers.ints...)
	if in.elem == String {
		at := c.lookUp(in, Strings([]int{len(words)}, words))
		out := make([]int64, len(at))
		for i, k := range at {
			if out[i] = int64(c.attrInt("default_int64", -1)); k >= 0 {
				out[i] = numbers.ints[k]
			}
		}
		return []*Value{intsValue(in.shape, out...)}
	}
	at := c.lookUp(c.array(0), ids)
	c.texts(len(at), 0)
	out := make([]string, len(at))
	for i, k := range at {
		if out[i] = c.attrString("default_string", "_Unused"); k >= 0 {
			out[i] = words[k]
		}
	}
	return []*Value{Strings(in.shape, out)}
}

// labelList is the list keys_… or values_… that is there.
func (c *call) labelList(name string) *Value {
	if v := c.attrTensor(name + "_tensor"); v != nil {
		return v
	}
	if list := c.attrStrings(name + "_strings"); list != nil {
		return Strings([]int{len(list)}, list)
	}
	if a := c.typed(name+"_int64s", attrInts); a != nil {
		return intsValue([]int{len(a.ints)}, a.ints...)
	}
	if a := c.typed(name+"_floats", attrFloats); a != nil {
		return &Value{elem: Float32, shape: []int{len(a.floats) / 4}, raw: a.floats, known: true}
	}
	return nil
}

func (c *call) labelDefault(values *Value) *Value {
	if v := c.attrTensor("default_tensor"); v != nil && v.elem == values.elem && count(v.shape) == 1 {
		return v
	}
	switch values.elem {
	case String:
		return Strings([]int{}, []string{c.attrString("default_string", "_Unused")})
	case Int64:
		return intsValue([]int{}, int64(c.attrInt("default_int64", -1)))
	case Float32:
		return floatsValue([]int{}, float32(c.attrFloat("default_float", math.Copysign(0, -1))))
	}
	none := 0.0
	if !values.elem.isFloat() && !values.elem.DType().IsUnsigned() {
		none = -1
	}
	return &Value{elem: values.elem, shape: []int{}, raw: rawOf(values.elem.DType(), []float64{none}), known: true}
}

// lookUp finds each element of v among keys: its place, or −1. NaN finds NaN.
func (c *call) lookUp(v, keys *Value) []int {
	if v.elem == String {
		table := map[string]int{}
		for i, k := range keys.strs {
			if _, ok := table[k]; !ok {
				table[k] = i
			}
		}
		return find(v.strs, table)
	}
	if keys.elem == String {
		c.fail("%v is looked up among strings", v)
	}
	table := map[uint64]int{}
	bits := func(v *Value) (out []uint64) {
		for _, f := range numbersOf(v.elem, c.r.host(v)) {
			if f != f {
				f = math.NaN()
			}
			out = append(out, math.Float64bits(f+0)) // −0 is 0
		}
		return out
	}
	for i, k := range bits(keys) {
		if _, ok := table[k]; !ok {
			table[k] = i
		}
	}
	return find(bits(v), table)
}

func find[K comparable](list []K, table map[K]int) []int {
	at := make([]int, len(list))
	for i, x := range list {
		k, ok := table[x]
		if at[i] = k; !ok {
			at[i] = -1
		}
	}
	return at
}

// oldLabels is LabelEncoder of version 1: a list of strings and their numbers.
func (c *call) oldLabels() []*Value {
	classes := c.attrStrings("classes_strings")
	if classes == nil {
		c.fail("it has no keys")
	}
	in := c.value(0)
	if in.elem == String {
		at := c.lookUp(in, Strings([]int{len(classes)}, classes))
		out := make([]int64, len(at))
		for i, k := range at {
			if out[i] = int64(k); k < 0 {
				out[i] = int64(c.attrInt("default_int64", -1))
			}
		}
		return []*Value{intsValue(in.shape, out...)}
	}
	list := c.ints(0)
	c.texts(len(list), 0)
	out := make([]string, len(list))
	for i, k := range list {
		if out[i] = c.attrString("default_string", "_Unused"); k >= 0 && k < len(classes) {
			out[i] = classes[k]
		}
	}
	return []*Value{Strings(in.shape, out)}
}

func (c *call) floatList(name string) t {
	list := c.attrFloats(name)
	return c.r.tensor(floatsOf(list))
}

func floatsOf(list []float64) *Value {
	return &Value{elem: Float32, shape: []int{len(list)}, raw: rawOf(dtype.F32, list), known: true}
}

func scaler(c *call) []*Value {
	x := toF32(c.t(0))
	return c.one(x.Sub(c.floatList("offset")).Mul(c.floatList("scale")), Float32)
}

func normalizer(c *call) []*Value {
	x := toF32(c.t(0))
	axis := x.Rank() - 1
	var norm t
	switch how := c.attrString("norm", "MAX"); how {
	case "MAX":
		norm = x.MaxKeep(axis)
	case "L1":
		norm = x.Abs().SumKeep(axis)
	case "L2":
		norm = x.Mul(x).SumKeep(axis).Sqrt()
	default:
		c.fail("its norm is %.40q", how)
	}
	return c.one(norm.Eq(0).Where(x, x.Div(norm)), Float32)
}

func imputer(c *call) []*Value {
	x := c.t(0)
	if list := c.attrFloats("imputed_value_floats"); list != nil {
		bad, is := c.attrFloat("replaced_value_float", 0), c.floatList("imputed_value_floats")
		hit := x.Eq(bad)
		if bad != bad {
			hit = x.IsNaN()
		}
		return c.one(hit.Where(is.To(x.DType()), x), c.elem(0))
	}
	list, _ := c.attrInts("imputed_value_int64s")
	out := make([]int64, len(list))
	for i, n := range list {
		out[i] = int64(n)
	}
	is := c.r.tensor(intsValue([]int{len(out)}, out...))
	return c.one(x.Eq(c.attrInt("replaced_value_int64", 0)).Where(is, x), c.elem(0))
}

func featureExtractor(c *call) []*Value {
	x := c.t(0)
	var y t
	if c.r.atHand(c.array(1)) {
		var index []int64
		for _, i := range c.ints(1) {
			if i < 0 || i >= x.Dim(-1) {
				c.fail("feature %d of %d", i, x.Dim(-1))
			}
			index = append(index, int64(i))
		}
		y = c.pick(x, x.Rank()-1, index)
	} else {
		index := c.t(1).Flatten()
		y = x.IndexSelect(x.Rank()-1, index.Lt(0).Where(x.Dim(-1), index)) // which is no feature, and none counts from the end
	}
	if x.Rank() == 1 {
		y = y.Unsqueeze(0)
	}
	return c.one(y, c.elem(0))
}

func oneHotEncoder(c *call) []*Value {
	in := c.value(0)
	var keys *Value
	if list := c.attrStrings("cats_strings"); list != nil {
		keys = Strings([]int{len(list)}, list)
	} else if a := c.typed("cats_int64s", attrInts); a != nil {
		keys = intsValue([]int{len(a.ints)}, a.ints...)
	} else {
		c.fail("it has no categories")
	}
	n := count(keys.shape)
	at := c.lookUp(in, keys)
	if n > 0 && len(at) > 1<<28/n {
		c.fail("%d elements of %d categories", len(at), n)
	}
	out := make([]float64, len(at)*n)
	for i, k := range at {
		if k >= 0 {
			out[i*n+k] = 1
		} else if !c.attrBool("zeros", true) {
			c.fail("element %d is in no category", i)
		}
	}
	v := floatsOf(out)
	v.shape = append(slices.Clone(in.shape), n)
	return []*Value{v}
}

func arrayFeatureExtractor(c *call) []*Value {
	own := *c
	return moving(featureExtractor)(&own)
}

// transformed are scores after what post_transform names.
func (c *call) transformed(x t) t {
	switch how := c.attrString("post_transform", "NONE"); how {
	case "NONE":
	case "LOGISTIC":
		return x.Sigmoid()
	case "SOFTMAX":
		return x.Softmax(-1)
	case "SOFTMAX_ZERO":
		live := x.Ne(0)
		e := live.Where(x.Sub(x.MaxKeep(-1)).Exp(), 0.0).To(x.DType())
		return e.Div(e.SumKeep(-1))
	case "PROBIT":
		return x.Mul(2).Sub(1).ErfInv().Mul(math.Sqrt2)
	default:
		c.fail("its post_transform is %.40q", how)
	}
	return x
}

// linear is x·Wᵀ + b with coefficients that are listed row by row.
func (c *call) linear(x t, rows int) t {
	w := c.attrFloats("coefficients")
	if rows < 1 || len(w)%rows != 0 || len(w)/rows != x.Dim(-1) {
		c.fail("%d coefficients of %d targets for %v", len(w), rows, x.Shape())
	}
	y := x.MatMul(c.r.tensor(floatsOf(w)).Reshape(rows, len(w)/rows).T())
	if b := c.attrFloats("intercepts"); len(b) == rows {
		y = y.Add(c.r.tensor(floatsOf(b)).Reshape(rows))
	}
	return y
}

func (c *call) matrix() t {
	x := toF32(c.t(0))
	if x.Rank() == 1 {
		x = x.Unsqueeze(0)
	}
	return x
}

func linearRegressor(c *call) []*Value {
	return c.one(c.transformed(c.linear(c.matrix(), c.attrInt("targets", 1))), Float32)
}

func linearClassifier(c *call) []*Value {
	x := c.matrix()
	words := c.attrStrings("classlabels_strings")
	numbers := c.typed("classlabels_ints", attrInts)
	classes := len(words)
	if numbers != nil {
		classes = len(numbers.ints)
	}
	rows := max(1, len(c.attrFloats("coefficients"))/max(1, x.Dim(-1)))
	y := c.linear(x, rows)
	best := y.ArgMax(1)
	if rows == 1 && classes == 2 {
		best = y.Reshape(y.Dim(0)).Gt(0).To(dtype.I64)
		y = tensor.Cat(1, y.Neg(), y)
		if c.attrString("post_transform", "NONE") == "LOGISTIC" {
			best = y.Narrow(1, 1, 1).Reshape(y.Dim(0)).Gt(0).To(dtype.I64)
		}
	}
	own := *c
	if words != nil {
		own.in = []*Value{Strings([]int{len(words)}, words), c.out(best, Int64)}
	} else if numbers != nil {
		own.in = []*Value{intsValue([]int{len(numbers.ints)}, numbers.ints...), c.out(best, Int64)}
	} else {
		c.fail("it has no classes")
	}
	own.attrs = nil
	label := moving(gather)(&own)[0]
	return []*Value{label, c.out(c.transformed(y), Float32)}
}

func init() {
	register("ai.onnx.ml", map[string]operator{
		"Binarizer": binarizer, "LabelEncoder": labelEncoder, "Scaler": scaler, "Normalizer": normalizer, "Imputer": imputer,
		"OneHotEncoder": oneHotEncoder, "ArrayFeatureExtractor": arrayFeatureExtractor, "LinearRegressor": linearRegressor,
		"LinearClassifier": linearClassifier, "CategoryMapper": categoryMapper,
		"ZipMap": identity, // there are no dicts here: the array of which they would be made says as much
		"FeatureVectorizer": func(c *call) []*Value {
			var list []t
			for i := range c.in {
				x := toF32(c.t(i))
				list = append(list, x.Reshape(x.Dim(0), x.Numel()/max(1, x.Dim(0))))
			}
			return c.one(tensor.Cat(1, list...), Float32)
		},
	})
}
