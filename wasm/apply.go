package main

import (
	"github.com/weft-ml/weft/backends/page"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/wasm/wire"
)

// Functions of a page reach the engine as what they recorded when they were called with stand-ins: see wasm/js/functions.js.

func init() {
	for _, how := range []string{"vmap", "scan", "jvp", "vjp", "checkpoint", "function", "custom"} {
		operations[how] = &operation{how, "- inputs", opApply}
	}
	operations["kernelAt"] = &operation{"kernelAt", "- axis", func(c *call) one { return c.kernel().At(c.integer()) }}
	operations["kernelRange"] = &operation{"kernelRange", "- n", func(c *call) one { return c.kernel().Range(c.integer()) }}
	operations["kernelLoad"] = &operation{"kernelLoad", "- argument index", func(c *call) one { k, n := c.kernel(), c.integer(); return k.Load(n, c.operands()...) }}
	operations["kernelReduce"] = &operation{"kernelReduce", "- how value ranges", opKernelReduce}
	operations["customUnsafe"] = &operation{"customUnsafe", "- inputs", opCustomUnsafe}
	operations["from"] = &operation{"from", "- generator name arguments", opFrom}
}

// function takes stand-ins, operations, and the tensors that the function returned, null for none, and gives what carries it out. That may be
// later, when tensors that it uses besides are the page's no more.
func (c *call) function() tensor.Fn {
	s := c.server
	stands, list, results := c.refs(), c.list(), c.list()
	outer := map[wire.Ref]any{}
	s.used(list, outer)
	return func(in ...one) some {
		if len(stands) != len(in) {
			c.fail("%d stand-ins for %d inputs", len(stands), len(in))
		}
		var made []wire.Ref
		defer func() {
			for _, r := range made {
				delete(s.tensors, r)
			}
		}()
		put := func(r wire.Ref, t any) {
			if s.tensors[r] == nil { // else it is one that the function changes
				made = append(made, r)
			}
			s.tensors[r] = t
		}
		for r, t := range outer {
			if s.tensors[r] == nil {
				put(r, t)
			}
		}
		for i, r := range stands {
			put(r, in[i])
		}
		for i, v := range list {
			one, _ := v.([]any)
			q, ok := parse(one)
			if !ok {
				c.fail("operation %d has another form than this engine expects", i)
			}
			ts, err := s.apply(c.ctx, q)
			if err != nil {
				panic(&failure{number: q.number, err: err})
			}
			for k, t := range ts {
				put(q.outs[k], t)
			}
		}
		outs := make(some, len(results))
		for i, v := range results {
			if ref, ok := v.(wire.Ref); ok {
				outs[i] = s.tensor(ref)
			}
		}
		return outs
	}
}

// used collects what there is of the tensors that a value names.
func (s *server) used(v any, out map[wire.Ref]any) {
	switch v := v.(type) {
	case wire.Ref:
		if t := s.tensors[v]; t != nil {
			out[v] = t
			delete(s.sole, v)
		}
	case []any:
		for _, x := range v {
			s.used(x, out)
		}
	case wire.Record:
		for _, f := range v {
			s.used(f.Value, out)
		}
	}
}

// maybes takes a list of tensors and nulls.
func (c *call) maybes() some {
	list := c.list()
	out := make(some, len(list))
	for i, v := range list {
		if ref, ok := v.(wire.Ref); ok {
			out[i] = c.server.tensor(ref)
		}
	}
	return out
}

// opApply takes inputs, a function, and what else the method of its name wants.
func opApply(c *call) some {
	in, f := c.tensors(), c.function()
	switch c.name {
	case "vmap":
		var o tensor.VmapOptions
		for _, v := range c.list() {
			axis, ok := v.(float64)
			if o.In = append(o.In, int(axis)); !ok {
				o.In[len(o.In)-1] = tensor.Same
			}
		}
		o.Out = c.integers()
		return tensor.Vmap(f, o)(in...)
	case "scan":
		n := c.integer()
		step := func(carried, in some) (next, out some) {
			all := f(append(carried, in...)...)
			return all[:n:n], all[n:]
		}
		states, outs := tensor.Scan(step, in[:n:n], in[n:], tensor.ScanOptions{Steps: c.integer(), Back: c.truth()})
		return append(states, outs...)
	case "jvp":
		outs, tangents := tensor.JVP(f, in, c.maybes())
		return append(outs, there(tangents)...)
	case "vjp":
		if !c.given() { // the value alone
			return f(in...)
		}
		_, pullback := tensor.VJP(f, in...)
		return there(pullback(c.maybes()...))
	case "checkpoint":
		return tensor.Checkpoint(f, in...)
	case "function":
		name := c.text()
		return tensor.Function(name, f, c.gradient())(in...)
	case "custom":
		name, shape := c.text(), c.integers()
		body := func(k *tensor.Kernel) one {
			c.server.kernels = append(c.server.kernels, k)
			defer func() { c.server.kernels = c.server.kernels[:len(c.server.kernels)-1] }()
			return f()[0]
		}
		return some{tensor.Custom(name, shape, body, in, c.gradient())}
	}
	panic("BUG: a function is applied in a way that nobody knows")
}

// opCustomUnsafe takes inputs, a name, shapes and types of results, a text in WGSL, its workgroups and their invocations, whether a function
// follows that is the same in operations of tensors, and perhaps one that states gradients.
func opCustomUnsafe(c *call) some {
	page.AllowForeign()
	in, name := c.tensors(), c.text()
	shapes, types := &call{name: c.name, args: c.list()}, &call{name: c.name, args: c.list()}
	results := make([]tensor.UnsafeResult, len(shapes.args))
	for i := range results {
		results[i] = tensor.UnsafeResult{Shape: shapes.integers(), DType: types.dtype()}
	}
	o := tensor.UnsafeOptions{WGSL: tensor.UnsafeSource{Text: c.text(), Threads: c.integer(), Group: c.integer()}}
	if c.truth() {
		o.Same = c.function()
	}
	o.Gradient = c.gradient().Gradient
	return tensor.CustomUnsafe(name, results, in, o)
}

// gradient takes a function that states gradients, if there is one.
func (c *call) gradient() (o tensor.FunctionOptions) {
	if !c.given() {
		return o
	}
	g := c.function()
	o.Gradient = func(in, out, seeds some) some { return g(append(append(append(some{}, in...), out...), seeds...)...) }
	return o
}

// there are the tensors that are not nil.
func there(list some) (out some) {
	for _, t := range list {
		if t != nil {
			out = append(out, t)
		}
	}
	return out
}

// kernel is the one whose body is carried out.
func (c *call) kernel() *tensor.Kernel {
	n := len(c.server.kernels)
	if n == 0 {
		c.fail("the kernel has ended; use it in its body only")
	}
	return c.server.kernels[n-1]
}

func opKernelReduce(c *call) one {
	how, v, ranges := c.text(), c.tensor(), c.tensors()
	k := c.kernel()
	switch how {
	case "max":
		return k.Max(v, ranges...)
	case "prod":
		return k.Prod(v, ranges...)
	}
	return k.Sum(v, ranges...)
}

type generator = *tensor.Generator

// draws are what generators draw, by the names of the methods that draw from the engine's, whose arguments they take.
var draws = map[string]func(g generator, c *call) one{
	"rand": evenly(generator.Rand), "randn": evenly(generator.Randn), "scaledUniform": evenly(generator.ScaledUniform), "glorotUniform": evenly(generator.GlorotUniform),
	"kaimingUniform": sloping(generator.KaimingUniform), "kaimingNormal": sloping(generator.KaimingNormal),
	"uniform": between(generator.Uniform), "normal": between(generator.Normal),
	"randint": func(g generator, c *call) one {
		shape, low, high := c.integers(), c.integer(), c.integer()
		return g.RandIntOf(c.dtype(), low, high, shape...)
	},
	"randPerm":       func(g generator, c *call) one { return g.RandPerm(c.integer()) },
	"randomBits":     func(g generator, c *call) one { return g.RandomBits(c.integers()...) },
	"randLike":       func(g generator, c *call) one { return g.RandLike(c.tensor()) },
	"randnLike":      func(g generator, c *call) one { return g.RandnLike(c.tensor()) },
	"dropout":        func(g generator, c *call) one { x := c.tensor(); return g.Dropout(x, c.number()) },
	"channelDropout": func(g generator, c *call) one { x := c.tensor(); return g.ChannelDropout(x, c.number()) },
	"rrelu":          func(g generator, c *call) one { x, low := c.tensor(), c.number(); return g.RReLU(x, low, c.number()) },
	"attention": func(g generator, c *call) one {
		q, k, v, o := c.tensor(), c.tensor(), c.tensor(), c.attention()
		o.Generator = g
		return tensor.ScaledDotProduct(q, k, v, o)
	},
	"alphaDropout": func(g generator, c *call) one { x := c.tensor(); return g.AlphaDropout(x, c.number()) },
	"bernoulli":    func(g generator, c *call) one { return g.Bernoulli(c.tensor()) },
	"gumbelSoftmax": func(g generator, c *call) one {
		x, axis, temperature := c.tensor(), c.integer(), c.number()
		return g.GumbelSoftmax(x, axis, tensor.Gumbel{Temperature: temperature, Hard: c.truth()})
	},
	"categorical": func(g generator, c *call) one { x := c.tensor(); return g.Categorical(x, c.integer()) },
	"multinomial": func(g generator, c *call) one {
		x, n := c.tensor(), c.integer()
		return g.Multinomial(x, n, tensor.Sampling{Replace: c.truth()})
	},
}

func evenly(f func(g generator, shape ...int) one) func(generator, *call) one {
	return func(g generator, c *call) one { return c.converted(f(g, c.integers()...)) }
}

func sloping(f func(g generator, slope float64, shape ...int) one) func(generator, *call) one {
	return func(g generator, c *call) one { shape := c.integers(); return c.converted(f(g, c.number(), shape...)) }
}

func between(f func(g generator, a, b float64, shape ...int) one) func(generator, *call) one {
	return func(g generator, c *call) one {
		shape, a := c.integers(), c.number()
		return c.converted(f(g, a, c.number(), shape...))
	}
}

// opFrom takes a generator, the name of a method that draws, and a list of its arguments.
func opFrom(c *call) one {
	g, name := c.server.generators[c.ref()], c.text()
	sub := &call{server: c.server, ctx: c.ctx, name: name, args: c.list()}
	draw := draws[name]
	if g == nil || draw == nil {
		sub.fail("the generator was disposed of")
	}
	sub.takes(operations[name].params)
	return draw(g, sub)
}
