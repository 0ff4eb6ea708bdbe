package onnx

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// fewRounds are run one after the other, as a graph of all of them is small, and so are very many: should a loop turn out to be none, it is written out.
const fewRounds, manyRounds = 4, 1 << 14

// looped is Scan, or with a condition Loop, as one loop of the graph (tensor.Scan), whose body is compiled once. It is nil where a round needs values
// that are not known, hands on other shapes or types than it is given, or says whether there is another one.
func (c *call) looped(g *graphProto, condition *Value, state, walked []*Value, p scanPlan, rounds int) []*Value {
	if rounds < fewRounds || rounds > manyRounds || len(state) == 0 || !slices.ContainsFunc(slices.Concat(state, walked), func(v *Value) bool { return v != nil && !v.isKnown() }) {
		return nil
	}
	var carried, in []t
	for _, v := range state {
		if v == nil || v.kind != IsTensor || v.elem == String {
			return nil
		}
		carried = append(carried, c.r.tensor(v))
	}
	for i, v := range walked {
		x := c.r.tensor(v).MoveAxis(c.axis(p.axes[i], len(v.shape)), 0)
		if p.back[i] == 1 {
			x = x.Flip(0)
		}
		in = append(in, x)
	}
	if condition != nil {
		in = append(in, tensor.ArangeOf(dtype.I64, 0, rounds, 1))
	}
	var given []*Value // of a round
	value := func(like *Value, x t) *Value { return &Value{elem: like.elem, shape: x.Shape(), t: x} }
	states, outs := tensor.Scan(func(s, x []t) (next, out []t) {
		var args []*Value
		if condition != nil {
			args = append(args, &Value{elem: Int64, shape: []int{}, t: x[0]}, condition)
		}
		for i, v := range state {
			args = append(args, value(v, s[i]))
		}
		for i, v := range walked {
			args = append(args, value(v, x[i]))
		}
		given = c.traced(g, args)
		if condition != nil && given != nil {
			if again := given[0]; !again.isKnown() || !c.truth(again) {
				given = nil
			} else {
				given = given[1:]
			}
		}
		for i, v := range given {
			if v.kind != IsTensor || v.elem == String || i < len(state) && (v.elem != state[i].elem || !slices.Equal(v.shape, state[i].shape)) {
				given = nil
				break
			}
		}
		if given == nil {
			return s, nil
		}
		for i, v := range given {
			y := c.r.tensor(v)
			if i < len(state) {
				next = append(next, y.To(s[i].DType()))
			} else {
				out = append(out, y)
			}
		}
		return next, out
	}, carried, in, tensor.ScanOptions{Steps: rounds})
	made := states[0].Node()
	for made.Op() == uop.Check {
		made = made.At(0)
	}
	if given == nil || made.Op() != uop.Loop { // it was written out
		return nil
	}
	var results []*Value
	for i, x := range states {
		results = append(results, c.apart(value(state[i], x.Select(0, rounds-1))))
	}
	for j, y := range outs {
		v := given[len(state)+j]
		if p.outBack[j] == 1 {
			y = y.Flip(0)
		}
		results = append(results, c.apart(value(v, y.MoveAxis(0, c.axis(p.outAxes[j], len(v.shape)+1)))))
	}
	return results
}
