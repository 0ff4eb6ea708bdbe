package schedule_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// play executes a schedule element by element, straight from the Specs: it checks that every output element is
// written once and that nothing outside a buffer, and nothing that was not written, is read.
type player struct {
	t    *testing.T
	bufs [][]uop.Value
	set  [][]bool
	ops  int // evaluated elementwise ops
}

func play(t *testing.T, g *schedule.Graph, r *schedule.Result, inputs [][]uop.Value) [][]uop.Value {
	p := &player{t: t}
	for _, b := range r.Bufs {
		v, set := make([]uop.Value, b.N), make([]bool, b.N)
		given := b.Kind == schedule.InputBuf || b.Kind == schedule.ConstantBuf
		switch b.Kind {
		case schedule.InputBuf:
			copy(v, inputs[b.Index])
		case schedule.ConstantBuf:
			copy(v, r.Constants[b.Index])
		}
		for i := range set {
			set[i] = given
		}
		p.bufs, p.set = append(p.bufs, v), append(p.set, set)
	}
	for _, s := range r.Steps {
		if s.Spec == nil {
			copy(p.bufs[s.Bufs[0]], p.bufs[s.Bufs[1]])
			copy(p.set[s.Bufs[0]], p.set[s.Bufs[1]])
			continue
		}
		p.run(s)
	}
	var out [][]uop.Value
	for i := range g.Roots {
		b := r.Roots[i]
		for _, ok := range p.set[b] {
			require.True(t, ok, "an element of root %d is not written", i)
		}
		out = append(out, p.bufs[b])
	}
	return out
}

// run plays one kernel. Outs with the same axes run in one nest.
func (p *player) run(s schedule.Step) {
	outs := s.Spec.Outs
	for len(outs) > 0 {
		n := 1
		for n < len(outs) && outs[n].Merge == nil && outs[0].Merge == nil && !outs[n].Apart && sameAxes(outs[0].Axes, outs[n].Axes) {
			n++
		}
		p.nest(s, outs[:n])
		outs = outs[n:]
	}
}

func sameAxes(a, b []*uop.UOp) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (p *player) nest(s schedule.Step, outs []codegen.Out) {
	env := map[*uop.UOp]int{}
	loop(outs[0].Axes, env, func() {
		// all values of an element are computed before any is stored
		values := make([]uop.Value, len(outs))
		at := make([]int, len(outs))
		memo := map[*uop.UOp][]uop.Value{}
		for i, o := range outs {
			at[i] = -1
			if o.Gate != nil && !p.eval(s, o.Gate, env, memo)[0].Bool() {
				continue
			}
			at[i] = p.offset(s, o.Param, o.Index, env, memo)
			values[i] = p.eval(s, o.Value, env, memo)[0]
		}
		for i, o := range outs {
			if at[i] < 0 {
				continue
			}
			b := s.Bufs[o.Param]
			if o.Merge != nil {
				values[i] = merge(*o.Merge, []uop.Value{p.bufs[b][at[i]]}, []uop.Value{values[i]}, o.Value)[0]
			}
			p.bufs[b][at[i]], p.set[b][at[i]] = values[i], true
		}
	})
}

func loop(ranges []*uop.UOp, env map[*uop.UOp]int, body func()) {
	if len(ranges) == 0 {
		body()
		return
	}
	outer, inside := env[ranges[0]] // of an enclosing reduction over the same range
	for i := range ranges[0].Arg().(uop.RangeArg).N {
		env[ranges[0]] = i
		loop(ranges[1:], env, body)
	}
	if delete(env, ranges[0]); inside {
		env[ranges[0]] = outer
	}
}

func (p *player) offset(s schedule.Step, param int, index []*uop.UOp, env map[*uop.UOp]int, memo map[*uop.UOp][]uop.Value) int {
	dims := s.Spec.Params[param].Dims
	require.Len(p.t, index, len(dims))
	at := 0
	for k, e := range index {
		i := int(p.eval(s, e, env, memo)[0].Int())
		require.True(p.t, i >= 0 && i < dims[k], "index %d of axis %d outside %v", i, k, dims)
		at = at*dims[k] + i
	}
	return s.From[param] + at
}

func (p *player) eval(s schedule.Step, u *uop.UOp, env map[*uop.UOp]int, memo map[*uop.UOp][]uop.Value) []uop.Value {
	if v, ok := memo[u]; ok {
		return v
	}
	v := p.compute(s, u, env, memo)
	memo[u] = v
	return v
}

func (p *player) compute(s schedule.Step, u *uop.UOp, env map[*uop.UOp]int, memo map[*uop.UOp][]uop.Value) []uop.Value {
	arg := func(i int) uop.Value { return p.eval(s, u.At(i), env, memo)[0] }
	switch {
	case u.Op() == uop.Const:
		return []uop.Value{u.Arg().(uop.ConstArg).Value}
	case u.Op() == uop.Range:
		i, ok := env[u]
		require.True(p.t, ok, "range %v out of scope", u)
		return []uop.Value{uop.Value(i)}
	case u.Op() == uop.Load:
		if !arg(1).Bool() {
			return []uop.Value{uop.ValueOf(u.DType(), 0)}
		}
		slot := u.At(0).Arg().(uop.ParamArg).Slot
		at := p.offset(s, slot, u.Src()[2:], env, memo)
		require.True(p.t, p.set[s.Bufs[slot]][at], "read of an element that was not written")
		return []uop.Value{p.bufs[s.Bufs[slot]][at]}
	case u.Op() == uop.Part:
		return []uop.Value{p.eval(s, u.At(0), env, memo)[u.Arg().(uop.PartArg).I]}
	case u.Op() == uop.Reduce:
		return p.reduce(s, u, env)
	case u.Op() == uop.Where: // lazy: a guard protects what it guards
		if arg(0).Bool() {
			return []uop.Value{arg(1)}
		}
		return []uop.Value{arg(2)}
	case u.Op().Elementwise():
		p.ops++
		var v []uop.Value
		for i := range u.Src() {
			v = append(v, arg(i))
		}
		return []uop.Value{uop.Eval(u.Op(), u.At(0).DType(), u.DType(), v...)}
	}
	panic(fmt.Sprint("BUG: ", u))
}

func (p *player) reduce(s schedule.Step, u *uop.UOp, env map[*uop.UOp]int) []uop.Value {
	a := u.Arg().(uop.ReduceArg)
	acc := make([]uop.Value, a.Parts)
	for i := range acc {
		acc[i] = a.Monoid.Info().Identity(u.At(i).DType(), i)
	}
	loop(u.Src()[a.Parts:], env, func() {
		memo := map[*uop.UOp][]uop.Value{}
		item := make([]uop.Value, a.Parts)
		for i := range item {
			item[i] = p.eval(s, u.At(i), env, memo)[0]
		}
		acc = merge(a.Monoid, acc, item, u.Src()[:a.Parts]...)
	})
	return acc
}

// merge applies a monoid by evaluating the graph that defines it.
func merge(m uop.Monoid, a, b []uop.Value, types ...*uop.UOp) []uop.Value {
	t := uop.NewArena()
	var x, y []*uop.UOp
	for i := range a {
		x = append(x, t.ConstOf(types[i].DType(), a[i]))
		y = append(y, t.ConstOf(types[i].DType(), b[i]))
	}
	out := m.Info().Merge(x, y)
	v := make([]uop.Value, len(out))
	memo := map[*uop.UOp]uop.Value{}
	for _, u := range uop.Topo(out...) {
		if c, ok := u.ConstValue(); ok {
			memo[u] = c
			continue
		}
		var args []uop.Value
		for _, s := range u.Src() {
			args = append(args, memo[s])
		}
		memo[u] = uop.Eval(u.Op(), u.At(0).DType(), u.DType(), args...)
	}
	for i := range out {
		v[i] = memo[out[i]]
	}
	return v
}
