package sizes

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// maker adds a step to a program, if there is something to compute with.
type maker struct {
	name string
	make func(g *generator)
}

var makers = []maker{
	{"unary", unary}, {"unary", unary}, {"exact", exactUnary}, {"binary", binaryOp}, {"binary", binaryOp}, {"binary", binaryOp}, {"compare", compare}, {"logic", logic},
	{"where", where}, {"cast", cast}, {"constant", sizeConstant}, {"numbers", numbers}, {"reduce", reduce}, {"reduce", reduce}, {"reduce", reduce},
	{"softmax", softmax}, {"norm", norm}, {"scan", scan}, {"loop", loop}, {"loop", loop}, {"matmul", matmul}, {"matmul", matmul}, {"gram", gram}, {"einsum", einsum}, {"attention", attention},
	{"permute", permute}, {"permute", permute}, {"merge", merge}, {"merge", merge}, {"split", split}, {"split", split}, {"unsqueeze", unsqueeze}, {"expand", expand}, {"flip", flip},
	{"cat", cat}, {"cat", cat}, {"stack", stack}, {"pad", pad}, {"narrow", narrow}, {"narrow", narrow}, {"step", stepped}, {"roll", roll}, {"repeat", repeat}, {"triangle", triangle}, {"mask", mask},
	{"diagonal", diagonal}, {"oneHot", oneHot}, {"select", indexSelect}, {"embedding", embedding}, {"gather", gather}, {"sort", sorted}, {"conv", conv}, {"pool", pool},
	{"unfold", unfold}, {"resize", resize}, {"scatter", scatter}, {"crossEntropy", crossEntropy}, {"contiguous", contiguous}, {"grad", grad}, {"grad", grad}, {"assign", assign}, {"write", write}, {"dropout", dropout}, {"noise", noise}, {"batch", batchNorm}, {"table", table}, {"writeAt", writeAt}, {"taken", taken}, {"taken", taken},
}

func unary(g *generator) {
	v, ok := g.float(0)
	if !ok {
		return
	}
	type f struct {
		name       string
		mag, slope float64
		do         func(x T) T
	}
	sq := min(v.mag, 30)
	c := []f{
		{"Tanh", 1, 1, T.Tanh}, {"Sigmoid", 1, 0.25, T.Sigmoid}, {"GELU", v.mag, 1.2, T.GELU}, {"SiLU", v.mag, 1.2, T.SiLU},
		{"Sin", 1, 1, func(x T) T { return x.Clamp(-20, 20).Sin() }},
		{"ExpOfClamp", 8, 8, func(x T) T { return x.Clamp(-4, 2).Exp() }},
		{"Log1pAbs", math.Log1p(v.mag), 1, func(x T) T { return x.Abs().Log1p() }},
		{"SqrtAbs1", math.Sqrt(v.mag + 1), 0.5, func(x T) T { return x.Abs().Add(1).Sqrt() }},
		{"RsqrtSq1", 1, 1, func(x T) T { return x.Square().Add(1).Rsqrt() }},
		{"RecipAbs1", 1, 1, func(x T) T { return x.Abs().Add(1).Reciprocal() }},
		{"Softsign", 1, 1, T.Softsign},
		{"ClampSquare", sq * sq, 2 * sq, func(x T) T { return x.Clamp(-30, 30).Square() }},
	}[g.IntN(12)]
	if v.mag > 60 {
		c = f{"Tanh", 1, 1, T.Tanh}
	}
	g.add(c.name, []value{v}, "", like(v, v.dims, c.mag, roughly(v, c.slope, c.mag)), func(_ *env, in []T) T { return c.do(in[0]) })
}

func exactUnary(g *generator) {
	v, ok := g.pick(isNumber)
	if !ok {
		return
	}
	type f struct {
		name  string
		exact bool // of exact values only: it has steps
		unit  float64
		mag   float64
		do    func(x T) T
	}
	cs := []f{
		{"Neg", false, 1, v.mag, T.Neg}, {"Abs", false, 1, v.mag, T.Abs}, {"ReLU", false, 1, v.mag, T.ReLU}, {"Sign", true, 1, 1, T.Sign},
		{"Clamp", false, 1, 3, func(x T) T { return x.Clamp(-3, 2) }}, {"Add 1", false, 1, v.mag + 1, func(x T) T { return x.Add(1) }}, {"Times 2", false, 1, 2 * v.mag, func(x T) T { return x.Mul(2) }},
	}
	if v.d == dtype.F32 {
		cs = append(cs, f{"Half", false, 0.5, v.mag / 2, func(x T) T { return x.Mul(0.5) }}, f{"Floor", true, 1, v.mag + 1, T.Floor}, f{"Round", true, 1, v.mag + 1, T.Round},
			f{"RoundOfThird", true, 1, v.mag, func(x T) T { return x.Mul(2).Round().Mul(0.5) }})
	} else {
		cs = append(cs, f{"Mod 5", false, 1, 5, func(x T) T { return x.Mod(5) }}, f{"FloorDiv 3", false, 1, v.mag, func(x T) T { return x.FloorDiv(3) }})
	}
	c := cs[g.IntN(len(cs))]
	if c.exact && !v.exact() || v.mag > 1e6 {
		return
	}
	out := v
	out.mag, out.unit = c.mag, v.unit*c.unit
	if c.name == "Sign" && out.unit > 0 || c.name == "Floor" || c.name == "Round" {
		out.unit = 1
	}
	if c.name == "RoundOfThird" {
		out.unit = 0.5
	}
	if out.unit == 0 {
		out.err = v.err*2 + c.mag
	}
	g.add(c.name, []value{v}, "", out, func(_ *env, in []T) T { return c.do(in[0]) })
}

func binaryOp(g *generator) {
	v, ok := g.pick(func(v value) bool { return v.d != dtype.Bool })
	if !ok {
		return
	}
	w, dims := g.partner(v)
	out := value{dims: dims, d: v.d}
	if v.exact() && w.exact() {
		out.unit = min(v.unit, w.unit)
	}
	name := []string{"Add", "Sub", "Mul", "Maximum", "Minimum", "DivAbs1"}[g.IntN(6)]
	out.mag, out.err = v.mag+w.mag, v.err+w.err+v.mag+w.mag
	switch name {
	case "Mul":
		if v.mag*w.mag > 2000 {
			name = "Add"
			break
		}
		out.mag, out.err, out.unit = v.mag*w.mag, v.err*w.mag+w.err*v.mag+v.mag*w.mag, 0
		if v.exact() && w.exact() {
			out.unit = v.unit * w.unit
		}
	case "Maximum", "Minimum":
		out.mag = max(v.mag, w.mag)
	case "DivAbs1":
		if !v.d.IsFloat() {
			name = "Add"
			break
		}
		out.mag, out.err, out.unit = v.mag, v.err+w.err*v.mag+2*v.mag, 0
	}
	if out.mag > 1e5 {
		return
	}
	g.add(name, []value{v, w}, "", out, func(_ *env, in []T) T {
		a, b := in[0], in[1]
		switch name {
		case "Add":
			return a.Add(b)
		case "Sub":
			return a.Sub(b)
		case "Mul":
			return a.Mul(b)
		case "Maximum":
			return a.Maximum(b)
		case "Minimum":
			return a.Minimum(b)
		}
		return a.Div(b.Abs().Add(1))
	})
}

func compare(g *generator) {
	v, ok := g.pick(isExact)
	if !ok {
		return
	}
	w, dims := g.partner(v)
	if !w.exact() {
		return
	}
	k := g.IntN(3)
	g.add([]string{"Lt", "Le", "Eq"}[k], []value{v, w}, "", value{dims: dims, d: dtype.Bool}, func(_ *env, in []T) T {
		return []func(T, any) T{T.Lt, T.Le, T.Eq}[k](in[0], in[1])
	})
}

func logic(g *generator) {
	v, ok := g.pick(func(v value) bool { return v.d == dtype.Bool })
	if !ok {
		return
	}
	w, dims := g.partner(v)
	k := g.IntN(4)
	g.add([]string{"And", "Or", "Xor", "AndNot"}[k], []value{v, w}, "", value{dims: dims, d: dtype.Bool}, func(_ *env, in []T) T {
		switch k {
		case 0:
			return in[0].LogicalAnd(in[1])
		case 1:
			return in[0].LogicalOr(in[1])
		case 2:
			return in[0].LogicalXor(in[1])
		}
		return in[0].LogicalAnd(in[1].LogicalNot())
	})
}

func where(g *generator) {
	v, ok := g.pick(isNumber)
	if !ok {
		return
	}
	c, ok := g.pick(func(c value) bool {
		d, ok := broadcast(c.dims, v.dims)
		return ok && c.d == dtype.Bool && small(d)
	})
	if !ok {
		c = g.leafOf(v.dims, dtype.Bool)
	}
	dims, _ := broadcast(c.dims, v.dims)
	out := moved(v, dims...)
	if g.IntN(2) == 0 {
		g.add("Where", []value{c, v}, "0", out, func(_ *env, in []T) T { return in[0].Where(in[1], 0) })
		return
	}
	w, wide := g.partner(moved(value{id: v.id, d: v.d, unit: v.unit}, dims...))
	out.dims, out.mag, out.err = wide, max(v.mag, w.mag), max(v.err, w.err)
	if out.unit = min(v.unit, w.unit); !v.exact() || !w.exact() {
		out.unit = 0
	}
	g.add("Where", []value{c, v, w}, "", out, func(_ *env, in []T) T { return in[0].Where(in[1], in[2]) })
}

func cast(g *generator) {
	v, ok := g.any(0)
	if !ok {
		return
	}
	to := []dtype.DType{dtype.F32, dtype.F32, dtype.F32, dtype.I32, dtype.Bool, dtype.F16, dtype.I64, dtype.U8}[g.IntN(8)]
	out := v
	out.d = to
	switch {
	case to == v.d, v.d == dtype.F16 && to != dtype.F32:
		return
	case v.d.IsFloat() && to == dtype.U8: // of negative numbers it says nothing
		return
	case !v.exact() && !to.IsFloat():
		return
	case to == dtype.F16 && v.mag > 1000:
		return
	case !v.d.IsFloat() && to.IsFloat():
		out.unit = 1
	case !to.IsFloat():
		out.unit = 0
	}
	g.add("To", []value{v}, to.String(), out, func(_ *env, in []T) T { return in[0].To(to) })
}

// sizeConstant computes with a number that depends on sizes.
func sizeConstant(g *generator) {
	v, ok := g.pick(isNumber)
	if !ok || v.mag > 50 {
		return
	}
	n := g.size()
	if len(v.dims) > 0 && g.IntN(2) == 0 {
		n = v.dims[g.axis(v)]
	}
	most := float64(n.most())
	type f struct {
		name string
		mag  float64
		do   func(x T, n int) T
	}
	cs := []f{{"AddSize", v.mag + most, func(x T, n int) T { return x.Add(n) }}, {"TimesSize", v.mag * most, func(x T, n int) T { return x.Mul(n) }},
		{"MinSize", max(v.mag, most), func(x T, n int) T { return x.Minimum(n - 3) }}, {"AddSquare", v.mag + most*most, func(x T, n int) T { return x.Add(n * n % 7) }}}
	if v.d == dtype.F32 {
		cs = append(cs, f{"OverSize", v.mag, func(x T, n int) T { return x.Mul(1 / float64(max(1, n))) }}, f{"TimesRoot", v.mag * math.Sqrt(most), func(x T, n int) T { return x.Mul(math.Sqrt(float64(n))) }},
			f{"DivSize", v.mag, func(x T, n int) T { return x.Div(max(1, n)) }})
	}
	c := cs[g.IntN(len(cs))]
	if c.mag > 3000 {
		return
	}
	out := like(v, v.dims, c.mag, v.err*most+4*c.mag)
	if k := c.name; v.unit > 0 && (k == "AddSize" || k == "TimesSize" || k == "MinSize" || k == "AddSquare") {
		out.unit = min(1, v.unit)
	}
	g.add(c.name, []value{v}, n.String(), out, func(e *env, in []T) T { return c.do(in[0], e.at(n)) })
}

// numbers are values that come from sizes alone.
func numbers(g *generator) {
	n := g.size()
	m := g.size()
	if g.IntN(4) == 0 {
		n, _ = g.size().times(g.size())
	}
	if n.most() > mostNumel {
		return
	}
	most := float64(n.most())
	i, f := value{dims: []dim{n}, d: dtype.I32, mag: 3 * most}, value{dims: []dim{n}, d: dtype.F32, unit: 1, mag: 3 * most}
	two := value{dims: []dim{m, n}, d: dtype.F32, unit: 1, mag: 1}
	if !small(two.dims) {
		return
	}
	switch g.IntN(10) {
	case 0:
		g.add("Arange", nil, n.String(), i, func(e *env, _ []T) T { return tensor.Arange(e.at(n)) })
	case 1:
		g.add("ArangeF32", nil, n.String(), f, func(e *env, _ []T) T { return tensor.Arange(e.at(n)).To(dtype.F32) })
	case 2:
		g.add("ArangeBy2", nil, n.String(), i, func(e *env, _ []T) T { return tensor.ArangeOf(dtype.I32, 1, 1+2*e.at(n), 2) })
	case 3:
		i.mag += float64(m.most())
		g.add("ArangeFrom", nil, fmt.Sprint(m, ", ", n), i, func(e *env, _ []T) T { return tensor.ArangeOf(dtype.I32, e.at(m), e.at(m)+e.at(n), 1) })
	case 4:
		f.unit, f.mag, f.err = 0, 1, 8
		g.add("Linspace", nil, n.String(), f, func(e *env, _ []T) T { return tensor.Linspace(-1, 1, e.at(n)) })
	case 5:
		g.add("Ones", nil, fmt.Sprint(m, ", ", n), two, func(e *env, _ []T) T { return tensor.Ones(e.at(m), e.at(n)) })
	case 6:
		two.mag, two.unit = 7, 1
		g.add("Full", nil, fmt.Sprint(m, ", ", n), two, func(e *env, _ []T) T { return tensor.Full(e.at(n)%7, dtype.F32, e.at(m), e.at(n)) })
	case 7:
		if g.IntN(2) == 0 {
			two.dims[0] = n
			m = n
		}
		if small(two.dims) {
			g.add("Eye", nil, fmt.Sprint(m, ", ", n), two, func(e *env, _ []T) T { return tensor.Eye(e.at(m), e.at(n)) })
		}
	case 8:
		g.add("ArangeDown", nil, n.String(), i, func(e *env, _ []T) T { return tensor.ArangeOf(dtype.I32, e.at(n)-1, -1, -1) })
	case 9:
		i.mag = 7
		g.add("ArangeMod", nil, n.String(), i, func(e *env, _ []T) T { return tensor.Arange(e.at(n)).Mod(7) })
	}
}

// axes draws some, and what is left of a shape without them.
func (g *generator) axes(v value, keep bool) (axes []int, left []dim, n float64) {
	for len(axes) == 0 {
		axes, left, n = nil, nil, 1
		for i, d := range v.dims {
			if g.IntN(2) == 0 {
				axes, n = append(axes, i), n*float64(d.most())
				if keep {
					left = append(left, number(1))
				}
			} else {
				left = append(left, d)
			}
		}
	}
	return axes, left, n
}

func reduce(g *generator) {
	v, ok := g.any(1)
	if !ok || v.d != dtype.Bool && v.d != dtype.I32 && v.d != dtype.F32 {
		return
	}
	keep := g.IntN(2) == 0
	axes, left, n := g.axes(v, keep)
	type f struct {
		name string
		out  value
		do   func(x T, axes ...int) T
		keep func(x T, axes ...int) T
	}
	same := moved(v, left...)
	same.err *= 2
	sum := same
	sum.mag, sum.err = v.mag*n, v.err*n+v.mag*n
	var cs []f
	switch v.d {
	case dtype.Bool:
		cs = []f{{"Any", same, T.Any, T.AnyKeep}, {"All", same, T.All, T.AllKeep}}
	case dtype.I32:
		cs = []f{{"Max", same, T.Max, T.MaxKeep}, {"Min", same, T.Min, T.MinKeep}}
		if sum.mag < 1e8 {
			cs = append(cs, f{"Sum", sum, T.Sum, T.SumKeep})
		}
		cs = append(cs, f{"CountNonZero", sum, T.CountNonZero, T.CountNonZeroKeep})
		cs[len(cs)-1].out.mag = n
	case dtype.F32:
		off := like(v, left, v.mag, roughly(v, 4, 4*v.mag))
		prod := like(v, left, 1.1, roughly(v, n, n))
		lse := like(v, left, v.mag+math.Log(n), roughly(v, 1, v.mag+8))
		std := func(x T, axes ...int) T { return x.Var(0, axes...).Add(0.1).Sqrt() }
		stdKeep := func(x T, axes ...int) T { return x.VarKeep(0, axes...).Add(0.1).Sqrt() }
		cs = []f{{"Max", same, T.Max, T.MaxKeep}, {"Min", same, T.Min, T.MinKeep}, {"Mean", off, T.Mean, T.MeanKeep}, {"LogSumExp", lse, T.LogSumExp, T.LogSumExpKeep},
			{"ProdCos", prod, func(x T, axes ...int) T { return x.Clamp(-9, 9).Cos().Prod(axes...) }, func(x T, axes ...int) T { return x.Clamp(-9, 9).Cos().ProdKeep(axes...) }}}
		if v.mag < 50 {
			cs = append(cs, f{"Std", like(v, left, v.mag, roughly(v, 8, 16*v.mag)), std, stdKeep})
		}
		if sum.mag < 3000 || v.exact() && sum.mag < 1e6 {
			cs = append(cs, f{"Sum", sum, T.Sum, T.SumKeep}, f{"Sum", sum, T.Sum, T.SumKeep})
		}
	}
	if v.exact() && v.d != dtype.Bool && len(axes) == 1 {
		at := value{dims: left, d: dtype.I32, mag: n}
		cs = append(cs, f{"ArgMax", at, T.ArgMax, T.ArgMaxKeep}, f{"ArgMin", at, T.ArgMin, T.ArgMinKeep})
	}
	c := cs[g.IntN(len(cs))]
	do := c.do
	if keep {
		c.name += "Keep"
		do = c.keep
	}
	g.add(c.name, []value{v}, fmt.Sprint("axes ", axes), c.out, func(_ *env, in []T) T { return do(in[0], axes...) })
}

func softmax(g *generator) {
	v, ok := g.float(1)
	if !ok {
		return
	}
	a := g.axis(v)
	if g.IntN(3) == 0 {
		mag := 2*v.mag + 8
		g.add("LogSoftmax", []value{v}, fmt.Sprint("axis ", a), like(v, v.dims, mag, roughly(v, 2, mag)), func(_ *env, in []T) T { return in[0].LogSoftmax(a) })
		return
	}
	g.add("Softmax", []value{v}, fmt.Sprint("axis ", a), like(v, v.dims, 1, roughly(v, 2, v.mag)), func(_ *env, in []T) T { return in[0].Softmax(a) })
}

func norm(g *generator) {
	v, ok := g.float(1)
	if !ok || v.mag > 50 {
		return
	}
	last := v.dims[len(v.dims)-1]
	if last.most() < 2 {
		return
	}
	mag := 10.0
	if g.IntN(2) == 0 {
		w, b := g.leafOf([]dim{last}, dtype.F32), g.leafOf([]dim{last}, dtype.F32)
		g.add("LayerNorm", []value{v, w, b}, "", like(v, v.dims, 20, roughly(v, 20, 40)), func(e *env, in []T) T { return in[0].LayerNorm(in[1], in[2], 0.1, e.at(last)) })
		return
	}
	g.add("RMSNorm", []value{v}, "", like(v, v.dims, mag, roughly(v, 8, 40)), func(e *env, in []T) T { return in[0].RMSNorm(nil, 0.1, e.at(last)) })
}

func scan(g *generator) {
	v, ok := g.pick(func(v value) bool { return isNumber(v) && len(v.dims) > 0 })
	if !ok {
		return
	}
	a := g.axis(v)
	n := float64(v.dims[a].most())
	text := fmt.Sprint("axis ", a)
	out := v
	switch g.IntN(5) {
	case 0, 1:
		if out.mag *= n; out.mag > 1e5 {
			return
		}
		out.err = v.err*n + out.mag
		g.add("CumSum", []value{v}, text, out, func(_ *env, in []T) T { return in[0].CumSum(a) })
	case 2:
		g.add("CumMax", []value{v}, text, out, func(_ *env, in []T) T { m, _ := in[0].CumMax(a); return m })
	case 3:
		if v.exact() {
			g.add("CumMaxAt", []value{v}, text, value{dims: v.dims, d: dtype.I32, mag: n}, func(_ *env, in []T) T { _, i := in[0].CumMax(a); return i })
		}
	case 4:
		if v.d == dtype.F32 {
			g.add("CumProdCos", []value{v}, text, like(v, v.dims, 1.1, roughly(v, n, n)), func(_ *env, in []T) T { return in[0].Clamp(-9, 9).Cos().CumProd(a) })
		}
	}
}

// dropout draws numbers: as many as there are elements.
func dropout(g *generator) {
	v, ok := g.float(0)
	if !ok || v.mag > 100 {
		return
	}
	out := v
	out.mag, out.err = 2*v.mag, 2*v.err+v.mag
	g.add("Dropout", []value{v}, "", out, func(e *env, in []T) T { return tensor.NewGenerator(uint64(e.run)).Dropout(in[0], 0.5) })
}

// noise adds normal numbers: as many as there are elements.
func noise(g *generator) {
	v, ok := g.float(0)
	if !ok || v.mag > 100 {
		return
	}
	out := v // no longer exact
	out.unit, out.mag, out.err = 0, v.mag+10, v.err+4*v.mag+100
	g.add("RandnLike", []value{v}, "", out, func(e *env, in []T) T { return in[0].Add(tensor.NewGenerator(uint64(e.run)).RandnLike(in[0])) })
}

// batchNorm normalises along all axes but one.
func batchNorm(g *generator) {
	v, ok := g.float(2)
	if !ok || v.mag > 50 {
		return
	}
	a := g.axis(v)
	var axes []int
	for i := range v.dims {
		if i != a {
			axes = append(axes, i)
		}
	}
	g.add("Standardize", []value{v}, fmt.Sprint(axes), like(v, v.dims, 20, roughly(v, 8, 60)), func(_ *env, in []T) T {
		x := in[0]
		m := x.MeanKeep(axes...)
		return x.Sub(m).Mul(x.VarKeep(0, axes...).Add(0.1).Rsqrt())
	})
}
