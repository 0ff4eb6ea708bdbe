package onnx

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// body runs a graph of a node.
func (c *call) body(g *graphProto, args ...*Value) []*Value {
	outs, err := c.r.sub(g, c.scope, args)
	if err != nil {
		panic(&opError{err})
	}
	return outs
}

func ifOp(c *call) []*Value {
	if c.bool(0) {
		return c.body(c.attrGraph("then_branch"))
	}
	return c.body(c.attrGraph("else_branch"))
}

// settled has values computed between the rounds of a loop, so that no graph grows with their number.
func (c *call) settled(vs []*Value) {
	if c.r.trace {
		return
	}
	if err := c.r.realize(vs...); err != nil {
		panic(&opError{err})
	}
}

func loop(c *call) []*Value {
	g := c.attrGraph("body")
	most := int(1) << 62
	if c.has(0) {
		most = c.int(0)
	}
	going := true
	if c.has(1) {
		going = c.bool(1)
	}
	state := slices.Clone(c.in[min(2, len(c.in)):])
	k := len(state)
	if len(g.inputs) != k+2 || len(g.outputs) < k+1 {
		c.fail("its body takes %d values and gives %d, for a state of %d", len(g.inputs), len(g.outputs), k)
	}
	if going && c.has(0) {
		plain := scanPlan{outAxes: make([]int, len(g.outputs)-1-k), outBack: make([]int, len(g.outputs)-1-k)}
		if outs := c.looped(g, boolValue(true), state, nil, plain, most); outs != nil {
			return outs
		}
	}
	lists := make([][]*Value, len(g.outputs)-1-k)
	for i := 0; i < most && going; i++ {
		args := append([]*Value{intsValue([]int{}, int64(i)), boolValue(true)}, state...)
		outs := c.body(g, args...)
		c.settled(outs)
		going = c.truth(outs[0])
		state = slices.Clone(outs[1 : 1+k])
		for j := range lists {
			lists[j] = append(lists[j], outs[1+k+j])
		}
	}
	outs := state
	for j, list := range lists {
		outs = append(outs, c.stacked(list, g.outputs[1+k+j].typ, 0))
	}
	return outs
}

// truth is the value of a condition.
func (c *call) truth(v *Value) bool {
	if v.kind != IsTensor || v.elem != Bool || count(v.shape) != 1 {
		c.fail("a condition is %v", v)
	}
	return c.r.truth(v)
}

// stacked lays values along a new axis. Of none the type says what they would have been.
func (c *call) stacked(list []*Value, typ *Type, axis int) *Value {
	if len(list) == 0 {
		if typ == nil || typ.Elem.DType() == dtype.Void {
			c.fail("it gives a list of nothing, of which the type is not known")
		}
		shape := []int{0}
		for _, d := range typ.Dims {
			shape = append(shape, max(0, d.Size))
		}
		return &Value{elem: typ.Elem, shape: shape, raw: []byte{}, known: true}
	}
	own := *c
	own.in = list
	first := list[0]
	if first.kind != IsTensor {
		c.fail("%v cannot be laid side by side", first)
	}
	axis = c.axis(axis, len(first.shape)+1)
	return c.apart(moving(func(c *call) []*Value {
		var ts []t
		for i := range c.in {
			ts = append(ts, c.t(i))
		}
		return c.one(tensor.Stack(axis, ts...), c.in[0].elem)
	})(&own)[0])
}

// entry is an entry of an axis.
func (c *call) entry(v *Value, axis, at int) *Value {
	part := c.r.tensor(v).Select(axis, at)
	return c.apart(&Value{elem: v.elem, shape: part.Shape(), t: part, known: v.isKnown()})
}

func scan(c *call) []*Value {
	g := c.attrGraph("body")
	n := c.attrInt("num_scan_inputs", 0)
	in := c.in
	if c.opset < 9 {
		if c.has(0) {
			c.fail("sequences of different lengths (sequence_lens): not yet")
		}
		in = in[min(1, len(in)):]
	}
	if n < 1 || n > len(in) || slices.Contains(in, nil) {
		c.fail("%d of its %d inputs are walked along", n, len(in))
	}
	k := len(in) - n
	if len(g.inputs) != len(in) || len(g.outputs) < k {
		c.fail("its body takes %d values and gives %d", len(g.inputs), len(g.outputs))
	}
	if c.opset < 9 {
		return c.scanBatches(g, in, n)
	}
	return c.scanned(g, in[:k], in[k:], scanPlan{
		axes: c.listOr("scan_input_axes", n), outAxes: c.listOr("scan_output_axes", len(g.outputs)-k),
		back: c.listOr("scan_input_directions", n), outBack: c.listOr("scan_output_directions", len(g.outputs)-k),
	})
}

// listOr is a list of n integers, zeros if it is not there.
func (c *call) listOr(name string, n int) []int {
	list, ok := c.attrInts(name)
	if !ok {
		return make([]int, n)
	}
	if len(list) != n {
		c.fail("%s has %d numbers; there are %d to say it of", name, len(list), n)
	}
	return list
}

type scanPlan struct{ axes, outAxes, back, outBack []int }

func (c *call) scanned(g *graphProto, state, walked []*Value, p scanPlan) []*Value {
	length := -1
	for i, v := range walked {
		if v.kind != IsTensor || v.elem == String {
			c.fail("a %v is walked along", v)
		}
		n := v.shape[c.axis(p.axes[i], len(v.shape))]
		if length >= 0 && n != length {
			c.fail("lists of %d and %d are walked along together", length, n)
		}
		length = n
	}
	k := len(state)
	if outs := c.mapped(g, state, walked, p, length); outs != nil {
		return outs
	}
	if outs := c.looped(g, nil, state, walked, p, length); outs != nil {
		return outs
	}
	state = slices.Clone(state)
	lists := make([][]*Value, len(g.outputs)-k)
	for step := range length {
		args := slices.Clone(state)
		for i, v := range walked {
			at := step
			if p.back[i] == 1 {
				at = length - 1 - step
			}
			args = append(args, c.entry(v, p.axes[i], at))
		}
		outs := c.body(g, args...)
		c.settled(outs)
		state = slices.Clone(outs[:k])
		for j := range lists {
			lists[j] = append(lists[j], outs[k+j])
		}
	}
	outs := state
	for j, list := range lists {
		if p.outBack[j] == 1 {
			slices.Reverse(list)
		}
		outs = append(outs, c.stacked(list, g.outputs[k+j].typ, p.outAxes[j]))
	}
	return outs
}

// scanBatches is Scan as version 8 has it: each entry of a batch on its own.
func (c *call) scanBatches(g *graphProto, in []*Value, n int) []*Value {
	k := len(in) - n
	batch := -1
	for _, v := range in {
		if v.kind != IsTensor || len(v.shape) == 0 || batch >= 0 && v.shape[0] != batch {
			c.fail("its inputs are no batch of one size")
		}
		batch = v.shape[0]
	}
	back, ok := c.attrInts("directions")
	if !ok {
		back = make([]int, n)
	}
	if len(back) != n {
		c.fail("%d directions of %d lists", len(back), n)
	}
	lists := make([][]*Value, len(g.outputs))
	for b := range batch {
		args := make([]*Value, len(in))
		for i, v := range in {
			args[i] = c.entry(v, 0, b)
		}
		outs := c.scanned(g, args[:k], args[k:], scanPlan{make([]int, n), make([]int, len(g.outputs)-k), back, make([]int, len(g.outputs)-k)})
		for i, v := range outs {
			lists[i] = append(lists[i], v)
		}
	}
	outs := make([]*Value, len(lists))
	for i, list := range lists {
		outs[i] = c.stacked(list, g.outputs[i].typ, 0)
	}
	return outs
}

func sequenceMap(c *call) []*Value {
	g := c.attrGraph("body")
	first := c.sequence(0)
	lists := make([][]*Value, len(g.outputs))
	for i := range first {
		args := []*Value{first[i]}
		for j := 1; j < len(c.in); j++ {
			v := c.value(j)
			if v.kind == IsSequence {
				if len(v.items) != len(first) {
					c.fail("sequences of %d and %d are walked along together", len(first), len(v.items))
				}
				v = v.items[i]
			}
			args = append(args, v)
		}
		for j, v := range c.body(g, args...) {
			lists[j] = append(lists[j], v)
		}
	}
	outs := make([]*Value, len(lists))
	for i, list := range lists {
		outs[i] = Sequence(list...)
	}
	return outs
}

// sequence are the items of input i.
func (c *call) sequence(i int) []*Value {
	v := c.value(i)
	if v.kind == IsOptional && len(v.items) == 1 {
		v = v.items[0]
	}
	if v.kind != IsSequence {
		c.fail("its input %d is a %v; it must be a sequence", i, v)
	}
	return v.items
}

// position is a place in a sequence of n items, counted from the end if it is negative.
func (c *call) position(i, n, most int) int {
	at := c.int(i)
	if at < 0 {
		at += n
	}
	if at < 0 || at > most {
		c.fail("position %d of %d items", c.int(i), n)
	}
	return at
}

func sequenceInsert(c *call) []*Value {
	list := c.sequence(0)
	at := len(list)
	if c.has(2) {
		at = c.position(2, len(list), len(list))
	}
	return []*Value{Sequence(slices.Insert(slices.Clone(list), at, c.value(1))...)}
}

func sequenceErase(c *call) []*Value {
	list := c.sequence(0)
	at := len(list) - 1
	if c.has(1) {
		at = c.position(1, len(list), len(list)-1)
	}
	if at < 0 {
		c.fail("the sequence is empty")
	}
	return []*Value{Sequence(slices.Delete(slices.Clone(list), at, at+1)...)}
}

func splitToSequence(c *call) []*Value {
	v := c.array(0)
	x := c.t(0)
	axis := c.axis(c.attrInt("axis", 0), x.Rank())
	n := x.Dim(axis)
	keep := true
	var sizes []int
	switch {
	case !c.has(1):
		keep = c.attrBool("keepdims", true)
		sizes = slices.Repeat([]int{1}, c.listed(n))
	case len(c.value(1).shape) == 0:
		size := c.int(1)
		if size < 1 {
			c.fail("parts of %d", size)
		}
		for left := n; left > 0; left -= size {
			sizes = append(sizes, min(size, left))
		}
	default:
		sizes = c.ints(1)
	}
	var list []*Value
	for _, part := range x.Split(axis, sizes...) {
		if !keep {
			part = part.Squeeze(axis)
		}
		list = append(list, c.out(part, v.elem))
	}
	return []*Value{Sequence(list...)}
}

func concatFromSequence(c *call) []*Value {
	list := c.sequence(0)
	axis := c.attrInt("axis", 0)
	if len(list) == 0 {
		c.fail("the sequence is empty")
	}
	if c.attrBool("new_axis", false) {
		return []*Value{c.stacked(list, nil, axis)}
	}
	own := *c
	own.in = list
	return moving(func(c *call) []*Value {
		var ts []t
		for i := range c.in {
			ts = append(ts, c.t(i))
		}
		return c.one(tensor.Cat(c.axis(axis, ts[0].Rank()), ts...), c.in[0].elem)
	})(&own)
}

func optionalGet(c *call) []*Value {
	v := c.value(0)
	if v.kind != IsOptional {
		return []*Value{v}
	}
	if len(v.items) == 0 {
		c.fail("the optional has no value")
	}
	return []*Value{v.items[0]}
}

func init() {
	register("", map[string]operator{
		"If": ifOp, "Loop": loop, "Scan": scan, "SequenceMap": sequenceMap,
		"SequenceConstruct": func(c *call) []*Value { return []*Value{Sequence(c.in...)} },
		"SequenceEmpty":     func(c *call) []*Value { return []*Value{Sequence()} },
		"SequenceLength":    func(c *call) []*Value { return []*Value{intsValue([]int{}, int64(len(c.sequence(0))))} },
		"SequenceAt": func(c *call) []*Value {
			list := c.sequence(0)
			return []*Value{list[c.position(1, len(list), len(list)-1)]}
		},
		"SequenceInsert": sequenceInsert, "SequenceErase": sequenceErase, "SplitToSequence": splitToSequence,
		"ConcatFromSequence": concatFromSequence,
		"Optional": func(c *call) []*Value {
			if c.has(0) {
				return []*Value{Optional(c.in[0])}
			}
			return []*Value{Optional(nil)}
		},
		"OptionalGetElement": optionalGet,
		"OptionalHasElement": func(c *call) []*Value {
			return []*Value{boolValue(c.has(0) && (c.in[0].kind != IsOptional || len(c.in[0].items) > 0))}
		},
	})
}
