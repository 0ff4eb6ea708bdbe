package tensor

import (
	"encoding/binary"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// fewNodes is how many nodes the graph of an algorithm has at least that is made once: to make a smaller one takes no longer than to keep it.
const fewNodes = 256

// callOf is f of arrays, for algorithms whose graphs are large: outside of functions that are captured the graph is made once for each shape and type of
// arguments, and stands in others as one node for each result, see engine.Engine.Body. The results depend on the arguments and the name alone. The graph may read
// numbers that it keeps on the device; one of constants is written out, because constants fit every device.
func callOf(name string, f func(in []*Tensor) []*Tensor, in ...*Tensor) []*Tensor {
	e := commonEngine(name, in...)
	if e == nil || e.Several() || engine.Recording() {
		return f(in)
	}
	key, constant := append([]byte(name), 0), true
	for _, x := range in {
		u := x.node()
		if u.Sizes() != nil {
			return f(in)
		}
		constant = constant && !below(u, func(u *uop.UOp) bool { return u.Op() == uop.Buffer || u.Op() == uop.Param })
		key = binary.AppendVarint(append(key, byte(u.DType())), int64(len(u.Shape())))
		for _, n := range u.Shape() {
			key = binary.AppendVarint(key, int64(n))
		}
	}
	if constant {
		return f(in)
	}
	b := e.Body(string(key), func() *uop.Body { return bodyOf(name, f, in, e) })
	if b == nil {
		return f(in)
	}
	outs := b.Call(nodes(in)...)
	results := make([]*Tensor, len(outs))
	for i, u := range outs {
		results[i] = newTensor(u, e)
	}
	return results
}

// callOne is callOf for one array and one result.
func callOne(name string, f func(*Tensor) *Tensor, t *Tensor) *Tensor {
	return callOf(name, func(in []*Tensor) []*Tensor { return []*Tensor{f(in[0])} }, t)[0]
}

// callPair is callOf for one array and two results.
func callPair(name string, f func(*Tensor) (_, _ *Tensor), t *Tensor) (a, b *Tensor) {
	got := callOf(name, func(in []*Tensor) []*Tensor {
		a, b := f(in[0])
		return []*Tensor{a, b}
	}, t)
	return got[0], got[1]
}

// bodyOf is the graph of f of arrays like in; nil: it is small.
func bodyOf(name string, f func(in []*Tensor) []*Tensor, in []*Tensor, e *engine.Engine) *uop.Body {
	b := &uop.Body{Name: name}
	stand := make([]*Tensor, len(in))
	for i, x := range in {
		u := uop.NewStandIn(x.DType(), x.shape()...)
		stand[i], b.Params = newTensor(u, e), append(b.Params, u)
	}
	b.Outs = nodes(f(stand))
	if len(uop.Topo(b.Outs...)) < fewNodes {
		return nil
	}
	return b
}
