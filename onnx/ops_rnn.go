package onnx

import (
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// recurrent is what RNN, GRU and LSTM have in common.
type recurrent struct {
	c         *call
	gates     int
	x         t // [n, b, i]
	hidden    int
	dirs      int
	reverse   bool
	lens      t // [b, 1], or nil
	clip      float64
	functions []func(x t) t               // per direction, as many as the operator has
	initial   []t                         // h and, for LSTM, c: [dirs, b, hidden]
	product   func(x t, input, dir int) t // with the weights of input 1 or 2 of a direction
}

func (c *call) recurrent(gates, states int, names ...string) *recurrent {
	r := c.recurrentOf(c.t(2), gates, states, names...)
	r.product = func(x t, input, dir int) t { return x.MatMul(wide(c.t(input)).Select(0, dir).T()) }
	return r
}

// recurrentOf takes the weights of the state, [dirs, gates·hidden, hidden], and leaves the product to be said.
func (c *call) recurrentOf(w t, gates, states int, names ...string) *recurrent {
	r := &recurrent{c: c, gates: gates, x: wide(c.t(0)), hidden: c.attrInt("hidden_size", 0), dirs: 1, clip: c.attrFloat("clip", 0)}
	if c.attrInt("layout", 0) == 1 {
		r.x = r.x.Permute(1, 0, 2)
	}
	switch d := c.attrString("direction", "forward"); d {
	case "forward":
	case "reverse":
		r.reverse = true
	case "bidirectional":
		r.dirs = 2
	default:
		c.fail("its direction is %.40q", d)
	}
	if r.hidden == 0 && w.Rank() == 3 {
		r.hidden = w.Dim(2)
	}
	if w.Rank() != 3 || w.Dim(0) != r.dirs || w.Dim(1) != gates*r.hidden || r.x.Rank() != 3 {
		c.fail("weights %v for %d directions of %d", w.Shape(), r.dirs, r.hidden)
	}
	if c.has(4) {
		r.lens = c.t(4).To(dtype.I32).Reshape(r.x.Dim(1), 1)
	}
	r.functions = c.rnnFunctions(names, r.dirs)
	for i := range states {
		at := 5 + i
		h := c.full(0.0, Float32, []int{r.dirs, r.x.Dim(1), r.hidden}).To(r.x.DType())
		if c.has(at) {
			if h = wide(c.t(at)); c.attrInt("layout", 0) == 1 {
				h = h.Permute(1, 0, 2)
			}
		}
		r.initial = append(r.initial, h)
	}
	return r
}

// rnnFunctions are the activations of all directions.
func (c *call) rnnFunctions(names []string, dirs int) (list []func(x t) t) {
	given := c.attrStrings("activations")
	if given == nil {
		for range dirs {
			given = append(given, names...)
		}
	}
	if len(given) != len(names)*dirs {
		c.fail("%d activations; there must be %d", len(given), len(names)*dirs)
	}
	alphas, betas := c.attrFloats("activation_alpha"), c.attrFloats("activation_beta")
	for _, name := range given {
		name = strings.ToLower(name)
		none := map[string][2]float64{"leakyrelu": {0.01, 0}, "thresholdedrelu": {1, 0}, "hardsigmoid": {0.2, 0.5}, "elu": {1, 0}}[name]
		alpha, beta := none[0], none[1]
		switch name { // those that take numbers use the lists up
		case "affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu":
			if len(alphas) > 0 {
				alpha, alphas = alphas[0], alphas[1:]
			}
		}
		switch name {
		case "affine", "scaledtanh", "hardsigmoid":
			if len(betas) > 0 {
				beta, betas = betas[0], betas[1:]
			}
		}
		f := map[string]func(x t) t{
			"relu": t.ReLU, "tanh": t.Tanh, "sigmoid": t.Sigmoid, "softsign": t.Softsign,
			"affine":          func(x t) t { return x.Mul(alpha).Add(beta) },
			"leakyrelu":       func(x t) t { return x.LeakyReLU(alpha) },
			"thresholdedrelu": func(x t) t { return x.Gt(alpha).Where(x, tensor.ZerosLike(x)) },
			"scaledtanh":      func(x t) t { return x.Mul(beta).Tanh().Mul(alpha) },
			"hardsigmoid":     func(x t) t { return x.Mul(alpha).Add(beta).Clamp(0, 1) },
			"elu":             func(x t) t { return elu(x, alpha) },
			"softplus":        func(x t) t { return x.Softplus(1) },
		}[name]
		if f == nil {
			c.fail("there is no activation %.40q", name)
		}
		list = append(list, f)
	}
	return list
}

// cell is one step: the gates' part of the input, [b, gates·hidden], the state before, the state after.
type cell func(dir int, in t, state []t) []t

// part is one gate of [b, gates·hidden].
func (r *recurrent) part(x t, gate int) t { return x.Narrow(-1, gate*r.hidden, r.hidden) }

func (r *recurrent) clipped(x t) t {
	if r.clip > 0 {
		return x.Clamp(-r.clip, r.clip)
	}
	return x
}

// bias are the biases of inputs (0) or of the state (1) of a direction, or nil.
func (r *recurrent) bias(dir, which int) t {
	if !r.c.has(3) {
		return nil
	}
	return wide(r.c.t(3)).Select(0, dir).Narrow(0, which*r.gates*r.hidden, r.gates*r.hidden)
}

// run goes through the sequence in each direction. split says that biases of the state are the cell's to add.
func (r *recurrent) run(step cell, split bool) []*Value {
	n := r.x.Dim(0)
	r.c.ticks(n * r.dirs)
	var ys, lasts []t
	ends := make([][]t, len(r.initial))
	for dir := range r.dirs {
		in := r.product(r.x, 1, dir)
		if bias := r.bias(dir, 0); bias != nil {
			in = in.Add(bias)
			if !split {
				in = in.Add(r.bias(dir, 1))
			}
		}
		back := r.reverse || dir == 1
		var state []t
		for _, h := range r.initial {
			state = append(state, h.Select(0, dir))
		}
		walked := []t{in}
		if r.lens != nil {
			walked = append(walked, tensor.Arange(n).To(dtype.I32))
		}
		all, masked := tensor.Scan(func(state, in []t) (next, out []t) {
			next = step(dir, in[0], state)
			if r.lens != nil {
				live := r.lens.Gt(in[1])
				out = []t{live.Where(next[0], tensor.ZerosLike(next[0]))}
				for k := range next {
					next[k] = live.Where(next[k], state[k])
				}
			}
			return next, out
		}, state, walked, tensor.ScanOptions{Back: back})
		ys = append(ys, append(masked, all[0])[0])
		for k := range ends {
			if n > 0 {
				last := n - 1
				if back {
					last = 0
				}
				state[k] = all[k].Select(0, last)
			}
			ends[k] = append(ends[k], state[k])
		}
	}
	e := r.c.elem(0)
	y := tensor.Stack(1, ys...) // [n, dirs, b, hidden]
	for _, list := range ends {
		lasts = append(lasts, tensor.Stack(0, list...))
	}
	if r.c.attrInt("layout", 0) == 1 {
		y = y.Permute(2, 0, 1, 3)
		for k := range lasts {
			lasts[k] = lasts[k].Permute(1, 0, 2)
		}
	}
	outs := []*Value{r.c.out(y, e)}
	for _, l := range lasts {
		outs = append(outs, r.c.out(l, e))
	}
	return outs
}

func rnn(c *call) []*Value {
	r := c.recurrent(1, 1, "Tanh")
	return r.run(func(dir int, in t, state []t) []t {
		return []t{r.functions[dir](r.clipped(in.Add(r.product(state[0], 2, dir))))}
	}, false)
}

func gru(c *call) []*Value {
	r := c.recurrent(3, 1, "Sigmoid", "Tanh")
	after := c.attrBool("linear_before_reset", false)
	return r.run(func(dir int, in t, state []t) []t {
		f, g := r.functions[2*dir], r.functions[2*dir+1]
		w, h := wide(c.t(2)).Select(0, dir), state[0]
		bias := r.bias(dir, 1)
		gates := func(from, to int, x t) t { // the state's part of some gates
			p := x.MatMul(w.Narrow(0, from*r.hidden, (to-from)*r.hidden).T())
			if bias != nil {
				p = p.Add(bias.Narrow(0, from*r.hidden, (to-from)*r.hidden))
			}
			return p
		}
		n := 2
		if after {
			n = 3
		}
		all := gates(0, n, h)
		z := f(r.clipped(r.part(in, 0).Add(r.part(all, 0))))
		reset := f(r.clipped(r.part(in, 1).Add(r.part(all, 1))))
		var from t
		if after {
			from = reset.Mul(r.part(all, 2))
		} else {
			from = gates(2, 3, reset.Mul(h))
		}
		now := g(r.clipped(r.part(in, 2).Add(from)))
		return []t{z.RSub(1).Mul(now).Add(z.Mul(h))}
	}, true)
}

func lstm(c *call) []*Value { return c.recurrent(4, 2, "Sigmoid", "Tanh", "Tanh").lstm() }

// dynamicLSTM is LSTM with weights of narrow integers, [dirs, i, 4·hidden] and [dirs, hidden, 4·hidden], one scale for each direction or column; the
// sequence and, step by step, the states are made such integers too.
func dynamicLSTM(c *call) []*Value {
	r := c.recurrentOf(c.t(2).T(), 4, 2, "Sigmoid", "Tanh", "Tanh")
	r.product = func(x t, input, dir int) t {
		of := func(i int) t { return c.t(i).Narrow(0, dir, 1).Reshape(-1) }
		scale, zero := 6+2*input, 7+2*input
		w := shifted{x: c.t(input).Select(0, dir).To(dtype.I32)}
		if c.has(zero) && !c.isZero(zero) {
			w.zero = c.perAxis(of(zero).To(dtype.I32), 2, -1)
		}
		q, s, z := c.dynamicQuantized(x)
		return scaledProduct(shifted{x: q.To(dtype.I32), zero: z.To(dtype.I32)}, w, s, c.perAxis(toF32(of(scale)), 2, -1), nil)
	}
	return r.lstm()
}

func (r *recurrent) lstm() []*Value {
	c, coupled := r.c, r.c.attrBool("input_forget", false)
	return r.run(func(dir int, in t, state []t) []t {
		f, g, o := r.functions[3*dir], r.functions[3*dir+1], r.functions[3*dir+2]
		all := in.Add(r.product(state[0], 2, dir))
		peep := func(gate int, x, cell t) t {
			if c.has(7) {
				x = x.Add(cell.Mul(r.part(wide(c.t(7)).Select(0, dir), gate)))
			}
			return r.clipped(x)
		}
		before := state[1]
		input := f(peep(0, r.part(all, 0), before)) // gates: input, output, forget, cell; peepholes: input, output, forget
		forget := input.RSub(1)
		if !coupled {
			forget = f(peep(2, r.part(all, 2), before))
		}
		cell := forget.Mul(before).Add(input.Mul(g(r.clipped(r.part(all, 3)))))
		out := f(peep(1, r.part(all, 1), cell))
		return []t{out.Mul(o(cell)), cell}
	}, false)
}

func init() {
	register("", map[string]operator{"RNN": rnn, "GRU": gru, "LSTM": lstm})
	register("com.microsoft", map[string]operator{"DynamicQuantizeLSTM": dynamicLSTM})
}
