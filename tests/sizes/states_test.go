package sizes

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// depends says whether a value is made of another.
func (g *generator) depends(id, on int) bool {
	if id == on {
		return true
	}
	if id < on {
		return false
	}
	return slices.ContainsFunc(g.p.steps[id].in, func(i int) bool { return g.depends(i, on) })
}

// loss is a number that depends on a value, tame whatever the value is.
func (g *generator) loss() (value, bool) {
	v, ok := g.float(1)
	if !ok {
		return v, false
	}
	return g.add("Loss", []value{v}, "", like(v, nil, 1, roughly(v, 1, 4)), func(_ *env, in []T) T { return in[0].Tanh().Square().Mean() }), true
}

func grad(g *generator) {
	l, ok := g.loss()
	if !ok {
		return
	}
	w, ok := g.pick(func(w value) bool { return isFloat(w) && w.id != l.id && g.depends(l.id, w.id) })
	if !ok {
		return
	}
	g.add("Grad", []value{l, w}, "", like(w, w.dims, 8, 4000+l.err*8), func(_ *env, in []T) T { return in[0].Grad(in[1])[0] })
}

// assign has a state move against a gradient, or count.
func assign(g *generator) {
	v, ok := g.float(1)
	if !ok || v.mag > 30 {
		return
	}
	k := v.dims[len(v.dims)-1]
	if !k.fixed() || k.c > 8 || len(v.dims) > 3 {
		return
	}
	m := number(1 + g.IntN(3))
	l := &leaf{id: g.leaves, from: -4, n: 9, state: true}
	w := g.leaf(l, value{dims: []dim{k, m}, d: dtype.F32, unit: 0, mag: 4, err: 200})
	y := g.add("MatMul", []value{v, w}, "", product(v, w, float64(k.c), append(slices.Clone(v.dims[:len(v.dims)-1]), m)), func(_ *env, in []T) T { return in[0].MatMul(in[1]) })
	loss := g.add("Loss", []value{y}, "", like(y, nil, 1, roughly(y, 1, 4)), func(_ *env, in []T) T { return in[0].Tanh().Square().Mean() })
	out := w
	out.err = 4000
	g.add("Assign", []value{loss, w}, "", out, func(_ *env, in []T) T {
		return in[1].Assign(in[1].Sub(in[0].Grad(in[1])[0].Mul(0.125)).Clamp(-3, 3))
	})
	g.p.steps[len(g.p.steps)-1].kept = true
}

// write puts zeros into a part of an axis.
func write(g *generator) {
	v, ok := g.any(1)
	if !ok || v.d == dtype.Bool || v.dims[0].least() < 1 {
		return
	}
	at := g.IntN(2) * -1
	g.add("WithAt", []value{v}, fmt.Sprint(at), v, func(_ *env, in []T) T { return in[0].WithAt(0, at) })
}

// writeAt puts a row of numbers into a state, at a place that depends on a size.
func writeAt(g *generator) {
	k := number(1 + g.IntN(4))
	n := []dim{{c: 1}, {b: 1}}[g.IntN(2)]
	row := g.leafOf([]dim{n, k}, dtype.F32)
	l := &leaf{id: g.leaves, from: -4, n: 9, state: true}
	w := g.leaf(l, value{dims: []dim{number(mostT + 8), k}, d: dtype.F32, unit: 0.25, mag: 2})
	assign := g.IntN(2) == 0
	name := "WithAt"
	if assign {
		name = "SetAt"
	}
	g.add(name, []value{w, row}, fmt.Sprint("from t, ", n), w, func(e *env, in []T) T {
		r := tensor.R(e.t, e.t+e.at(n))
		if assign {
			return in[0].SetAt(in[1], r)
		}
		return in[0].WithAt(in[1], r)
	})
	g.p.steps[len(g.p.steps)-1].kept = assign
}

// loop carries numbers along an axis, which is the first, forwards or back. What a step before it was off by it halves, or takes three quarters of.
func loop(g *generator) {
	v, ok := g.float(1)
	if !ok || v.mag > 100 || v.dims[0].least() < 1 || v.dims[0].most() > 50 {
		return
	}
	back, mean, what := g.IntN(2) == 0, len(v.dims) > 1 && g.IntN(2) == 0, g.IntN(3)
	out := like(v, v.dims, 1, 4*v.err+20)
	switch what {
	case 1:
		out.mag, out.err = v.mag, out.err*v.mag+v.err+4*v.mag
	case 2:
		out.dims = v.dims[1:]
	}
	g.add("Scan", []value{v}, fmt.Sprint("back ", back, ", mean ", mean, ", result ", what), out, func(_ *env, in []T) T {
		x := in[0]
		states, outs := tensor.Scan(func(s, in []T) (next, out []T) {
			h := s[0].Mul(0.5).Add(in[0]).Tanh()
			if mean {
				h = h.Add(s[0].Mean(-1).Mul(0.25).Unsqueeze(-1)).Clamp(-1, 1)
			}
			return []T{h}, []T{h.Mul(in[0])}
		}, []T{tensor.Zeros(x.Shape()[1:]...)}, []T{x}, tensor.ScanOptions{Back: back})
		switch what {
		case 1:
			return outs[0]
		case 2:
			if back {
				return states[0].Select(0, 0)
			}
			return states[0].Select(0, -1)
		}
		return states[0]
	})
}

// taken is a part of an array that does not change in size, from a place that is any number.
func taken(g *generator) {
	n := []dim{{t: 1}, {b: 1}, {t: 1, c: 2}}[g.IntN(3)]
	v := g.leafOf([]dim{number(mostT + 9), number(1 + g.IntN(4))}, g.leafType())
	g.add("Part", []value{v}, n.String(), moved(v, n, v.dims[1]), func(e *env, in []T) T {
		k := e.at(n)
		return in[0].Narrow(0, e.run*5%(mostT+10-k), k)
	})
}
