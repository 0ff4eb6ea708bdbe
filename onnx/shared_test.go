package onnx

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// waiting is a runner whose graph has values that wait to be computed, all of which a later node reads.
func waiting(ts ...*tensor.Tensor) *runner {
	r := &runner{ctx: context.Background()}
	s := &scope{values: map[string]*Value{}}
	reader := &nodeProto{}
	for i, t := range ts {
		name := fmt.Sprint(i)
		s.set(name, &Value{elem: Float32, shape: t.Shape(), t: t})
		reader.in = append(reader.in, name)
	}
	s.reads = new(reads).of([]*nodeProto{reader}, func() []string { return nil })
	r.scopes = []*scope{s}
	return r
}

// With a value are computed those that wait and have to compute something of what it has to, and none else; what was computed is asked for no
// more.
func TestSharedValues(t *testing.T) {
	ctx := context.Background()
	e, err := engine.Use("INTERP")
	require.NoError(t, err)
	x := tensor.Of([]float32{1, 2, 3}, 3).On(e.Name())
	require.NoError(t, x.Realize(ctx))
	a := x.Mul(3)
	b, c, apart := a.Exp(), a.Sin(), x.Add(5).Exp()
	d := b.Mul(c).Add(apart)
	r := waiting(a, b, c, apart, d)
	more := r.shared([]*tensor.Tensor{b})
	assert.Equal(t, []*tensor.Tensor{a, b, c, d}, more)
	require.NoError(t, r.realize(r.scopes[0].values["1"]))
	for i, v := range []*tensor.Tensor{a, b, c, apart, d} {
		assert.Equal(t, i != 3, lies(v.Node()), i)
	}
	late := apart.Mul(2)
	r.scopes[0].set("late", &Value{elem: Float32, shape: late.Shape(), t: late})
	r.scopes[0].reads.last["late"] = 0
	assert.Equal(t, []*tensor.Tensor{apart, late}, r.shared([]*tensor.Tensor{apart}))
	assert.Empty(t, r.shared([]*tensor.Tensor{x.Add(7)}))
}

// A value that is asked for costs what it is made of, not all that waits to be computed: graphs with hundreds of values that decide about shapes
// would be walked through hundreds of times.
func TestAskingAmongMany(t *testing.T) {
	e, err := engine.Use("INTERP")
	require.NoError(t, err)
	x := tensor.Of([]float32{1, 2, 3}, 3).On(e.Name())
	require.NoError(t, x.Realize(context.Background()))
	var list []*tensor.Tensor
	for i := range 4000 {
		y := x.Add(i)
		list = append(list, y, y.Exp())
	}
	r := waiting(list...)
	one := []*tensor.Tensor{x.Sin()}
	require.Empty(t, r.shared(one)) // which gets to know them
	assert.Less(t, testing.AllocsPerRun(5, func() { r.shared(one) }), 50.0)
	assert.Equal(t, list[8:9], r.shared(list[8:9])[:1])
}

// Where names are read is found once, not in every round of a loop: in graphs inside too, and as a result behind all nodes.
func TestReadsOnce(t *testing.T) {
	inside := &graphProto{nodes: []*nodeProto{{in: []string{"b"}}}, outputs: []*valueInfo{{name: "c"}}}
	list := []*nodeProto{{in: []string{"a", "a"}}, {in: []string{"b"}}, {in: []string{"a"}, attrs: []*attrProto{{g: inside}}}}
	times := 0
	outs := func() []string { times++; return []string{"b", "d"} }
	r := &reads{}
	for range 2 {
		require.Same(t, r, r.of(list, outs))
	}
	assert.Equal(t, 1, times)
	assert.Equal(t, map[string]int{"a": 3, "b": 3, "c": 2, "d": 1}, r.uses)
	assert.Equal(t, map[string]int{"a": 2, "b": 3, "c": 2, "d": 3}, r.last)
}
