// Package lawtest checks laws: it evaluates both sides of each on zeros, ones, extremes, infinities and NaN of
// every type the law allows, with the op table's meaning, bit for bit. A new law needs no new test.
//
//	func TestLaws(t *testing.T) { lawtest.Check(t, symbolic.Algebra) }
package lawtest

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// Types are the types that laws are tried with.
var Types = append([]dtype.DType{dtype.Index}, dtype.All...)

// Check tries every law of a rule set, each in a subtest. Steps have no right side to evaluate and are left out. A law
// that no type satisfies is an error too.
func Check(t *testing.T, rules *rewrite.RuleSet) {
	t.Helper()
	for _, r := range rules.All() {
		if r.Right == nil {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			tried, err := Law(r)
			if err != nil {
				t.Error(err)
			} else if tried == 0 {
				t.Errorf("%s: law %q (%v → %v) was never tried: no type satisfies it", r.At(), r.Name, r.Left, r.Right)
			}
		})
	}
}

// Law evaluates one law, and says on how many tuples of values. The error is the first tuple on which the
// sides differ.
func Law(r *rewrite.Rule) (tried int, err error) {
	for _, leaves := range []bool{true, false} { // holes as unknown values; as constants if the condition asks
		for _, typing := range r.Typings(Types) {
			n, err := try(r, typing, leaves)
			if tried += n; err != nil {
				return tried, err
			}
		}
		if tried > 0 {
			break
		}
	}
	return tried, nil
}

// try evaluates a law under one typing.
func try(r *rewrite.Rule, typing rewrite.Typing, leaves bool) (tried int, err error) {
	t := uop.NewArena()
	holes, _ := r.Left.Holes()
	nodes := map[*rewrite.Pattern]*uop.UOp{}
	var fixed, free []*rewrite.Pattern
	for i, h := range holes {
		if h.IsConst() || !leaves {
			fixed = append(fixed, h)
			continue
		}
		free = append(free, h)
		nodes[h] = t.Make(uop.Reg, typing.Nodes[h], uop.RegArg{ID: i})
	}
	each(fixed, typing, len(holes), func(v []uop.Value) bool {
		for i, h := range fixed {
			nodes[h] = t.ConstOf(typing.Nodes[h], v[i])
		}
		m, ok := instance(r, t, nodes, typing)
		if !ok || !m.Applies() {
			return true
		}
		right := m.Right()
		if right.DType() != m.Root.DType() {
			err = fmt.Errorf("%s: law %q: %v becomes %v", r.At(), r.Name, m.Root.DType(), right.DType())
			return false
		}
		each(free, typing, len(holes), func(w []uop.Value) bool {
			env := map[*uop.UOp]uop.Value{}
			for i, h := range free {
				env[nodes[h]] = w[i]
			}
			tried++
			p, q := Eval(m.Root, env), Eval(right, env)
			if !Same(m.Root.DType(), p, q) {
				err = fmt.Errorf("%s: law %q: %v → %v is wrong for %s: left %s, right %s", r.At(), r.Name, r.Left, r.Right,
					describe(holes, nodes, env, typing), format(m.Root.DType(), p), format(m.Root.DType(), q))
			}
			return err == nil
		})
		return err == nil
	})
	return tried, err
}

// instance builds the left side; false where the typing does not fit the ops.
func instance(r *rewrite.Rule, t *uop.Table, nodes map[*rewrite.Pattern]*uop.UOp, typing rewrite.Typing) (m *rewrite.Match, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	m = r.Instance(t, nodes, typing)
	for _, u := range uop.Topo(m.Root) {
		if !Defined(u) {
			return nil, false
		}
	}
	return m, len(m.Root.Src()) > 0
}

// Defined reports whether an op has a meaning on the types of its operands.
func Defined(u *uop.UOp) bool {
	if len(u.Src()) == 0 {
		return true
	}
	if d := u.At(0).DType(); u.Op() == uop.Bitcast {
		return d.Size() == u.DType().Size() && d.Size() > 0 && (d == dtype.Bool) == (u.DType() == dtype.Bool)
	}
	takes, d := uop.Info(u.Op()).Takes, u.At(len(u.Src())-1).DType()
	if takes == uop.Numbers && d == dtype.Bool { // laws make of sums what no program writes
		return true
	}
	return takes == uop.Nothing || takes.Has(d)
}

// each calls f with every tuple of values for the holes, until it returns false.
func each(holes []*rewrite.Pattern, typing rewrite.Typing, all int, f func([]uop.Value) bool) {
	v := make([]uop.Value, len(holes))
	var fill func(i int) bool
	fill = func(i int) bool {
		if i == len(holes) {
			return f(v)
		}
		for _, v[i] = range Values(typing.Nodes[holes[i]], all > 3) {
			if !fill(i + 1) {
				return false
			}
		}
		return true
	}
	fill(0)
}

// Values are the values of a type that laws are tried on; few of them where there are many holes. Index values stay
// small: index arithmetic is exact.
func Values(d dtype.DType, few bool) []uop.Value {
	var out []uop.Value
	switch {
	case d == dtype.Bool:
		return []uop.Value{0, 1}
	case d.IsFloat():
		list := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.NaN(), -2.5, 0.1, 3,
			math.Inf(-1), math.MaxFloat64, 65504, 1e-7, math.Ldexp(1, -126), math.Ldexp(1, -149)}
		if few {
			list = list[:7]
		}
		for _, f := range list {
			out = append(out, uop.FloatValue(d, f))
		}
	case d == dtype.Index:
		list := []int{0, 1, -1, 5, -12, 2, 3, -3, 31, 1 << 20, -1 << 20}
		if few {
			list = list[:5]
		}
		for _, n := range list {
			out = append(out, uop.Value(n))
		}
	default:
		lo, hi := uop.IntLimits(d)
		list := []int64{0, 1, -1, lo.Int(), hi.Int(), 5, 2, -3, 7, lo.Int() + 1, hi.Int() - 1, 31, 64}
		if few {
			list = list[:6]
		}
		for _, n := range list {
			out = append(out, uop.IntValue(d, n))
		}
	}
	return out
}

// Same compares bit for bit; any NaN is any other.
func Same(d dtype.DType, p, q uop.Value) bool {
	return p == q || d.IsFloat() && p.Float() != p.Float() && q.Float() != q.Float()
}

// Eval is the value of a scalar expression whose leaves are constants or in env.
func Eval(u *uop.UOp, env map[*uop.UOp]uop.Value) uop.Value {
	if v, ok := env[u]; ok {
		return v
	}
	if v, ok := u.ConstValue(); ok {
		return v
	}
	if !u.Op().Elementwise() {
		panic(fmt.Sprintf("lawtest: %v has no value", u))
	}
	var v [3]uop.Value
	for i, s := range u.Src() {
		v[i] = Eval(s, env)
	}
	return uop.Eval(u.Op(), u.At(0).DType(), u.DType(), v[:len(u.Src())]...)
}

func describe(holes []*rewrite.Pattern, nodes map[*rewrite.Pattern]*uop.UOp, env map[*uop.UOp]uop.Value, typing rewrite.Typing) string {
	s := ""
	for _, h := range holes {
		v, ok := nodes[h].ConstValue()
		if !ok {
			v = env[nodes[h]]
		}
		s += fmt.Sprintf("%v=%s ", h, format(typing.Nodes[h], v))
	}
	for h, d := range typing.Types {
		s += fmt.Sprintf("%v=%v ", h, d)
	}
	return s
}

func format(d dtype.DType, v uop.Value) string {
	switch {
	case d.IsFloat():
		return fmt.Sprintf("%v (%v)", v.Float(), d)
	case d.IsUnsigned():
		return fmt.Sprintf("%d (%v)", uint64(v), d)
	}
	return fmt.Sprintf("%d (%v)", v.Int(), d)
}
