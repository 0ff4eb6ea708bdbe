// Package rewrite turns equations into a rewriting engine: patterns are written with the method
// names of the graph, rules are laws (both sides patterns) or steps (right side computed in Go), and
// Rewrite applies them bottom-up until nothing matches.
//
// It knows matching, order and termination. It refuses to know any rule of its own.
//
//	var x, c, k = rewrite.Any("x"), rewrite.Const("c"), rewrite.Const("k")
//	var Rules = rewrite.Rules("example",
//		rewrite.Law("add zero", x.Add(rewrite.Int(0)), x).If(rewrite.Exact),
//		rewrite.Law("gather constants", x.Add(c).Add(k), x.Add(c.Add(k))).If(rewrite.Exact),
//	)
//	simpler := Rules.Rewrite(arena, root)[0]
package rewrite

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

type kind uint8

const (
	anyHole kind = iota
	constHole
	literal
	apply // an op applied to patterns
	oneOf // any of several ops, operands unseen; only as the root of a step
)

// Pattern is a hole, a constant, or an op applied to patterns. The same pattern stands on the left,
// where it matches, and on the right, where it builds.
type Pattern struct {
	kind kind
	name string
	lit  func(dtype.DType) (uop.Value, bool)
	op   uop.Op
	ops  []uop.Op
	typ  *Type // Cast, Bitcast
	src  []*Pattern
}

// Type is a hole for an element type, bound by Cast or Bitcast.
type Type struct{ name string }

// Any is a hole for any node. Used twice on a left side, it must match the same node twice.
func Any(name string) *Pattern { return &Pattern{kind: anyHole, name: name} }

// Const is a hole for a constant.
func Const(name string) *Pattern { return &Pattern{kind: constHole, name: name} }

// TypeOf is a hole for a type.
func TypeOf(name string) *Type { return &Type{name} }

// Int is the constant n of whatever type it stands beside.
func Int(n int) *Pattern {
	return Literal(fmt.Sprint(n), func(d dtype.DType) (uop.Value, bool) { return uop.ValueOf(d, n), true })
}

// Literal is a constant that depends on the type it stands beside; false where there is none.
func Literal(name string, value func(dtype.DType) (uop.Value, bool)) *Pattern {
	return &Pattern{kind: literal, name: name, lit: value}
}

// Op is an op applied to patterns; on a right side it must not need an argument.
func Op(o uop.Op, src ...*Pattern) *Pattern { return &Pattern{kind: apply, op: o, src: src} }

// OneOf matches a node with one of these ops, whatever its operands; only as the left side of a step.
func OneOf(ops ...uop.Op) *Pattern { return &Pattern{kind: oneOf, ops: ops} }

// Neg is −p.
func (p *Pattern) Neg() *Pattern { return Op(uop.Neg, p) }

// Sqrt is the square root of p.
func (p *Pattern) Sqrt() *Pattern { return Op(uop.Sqrt, p) }

// Exp2 is 2 to the p.
func (p *Pattern) Exp2() *Pattern { return Op(uop.Exp2, p) }

// Log2 is the logarithm of p to base 2.
func (p *Pattern) Log2() *Pattern { return Op(uop.Log2, p) }

// Sin is the sine of p.
func (p *Pattern) Sin() *Pattern { return Op(uop.Sin, p) }

// Trunc is p rounded toward zero.
func (p *Pattern) Trunc() *Pattern { return Op(uop.Trunc, p) }

// RoundEven is the integer nearest to p, of two the even one.
func (p *Pattern) RoundEven() *Pattern { return Op(uop.RoundEven, p) }

// Cast converts to the type t.
func (p *Pattern) Cast(t *Type) *Pattern {
	return &Pattern{kind: apply, op: uop.Cast, src: []*Pattern{p}, typ: t}
}

// Bitcast reads the bits of p as type t.
func (p *Pattern) Bitcast(t *Type) *Pattern {
	return &Pattern{kind: apply, op: uop.Bitcast, src: []*Pattern{p}, typ: t}
}

// Add is p + q.
func (p *Pattern) Add(q *Pattern) *Pattern { return Op(uop.Add, p, q) }

// Sub is p + (−q), as in the graph.
func (p *Pattern) Sub(q *Pattern) *Pattern { return Op(uop.Add, p, q.Neg()) }

// Mul is p · q.
func (p *Pattern) Mul(q *Pattern) *Pattern { return Op(uop.Mul, p, q) }

// Div is p / q of floats.
func (p *Pattern) Div(q *Pattern) *Pattern { return Op(uop.Div, p, q) }

// IDiv is the floor of p / q of integers.
func (p *Pattern) IDiv(q *Pattern) *Pattern { return Op(uop.IDiv, p, q) }

// Mod is p modulo q.
func (p *Pattern) Mod(q *Pattern) *Pattern { return Op(uop.Mod, p, q) }

// Max is the larger of both.
func (p *Pattern) Max(q *Pattern) *Pattern { return Op(uop.Max, p, q) }

// And is the bitwise and.
func (p *Pattern) And(q *Pattern) *Pattern { return Op(uop.And, p, q) }

// Or is the bitwise or.
func (p *Pattern) Or(q *Pattern) *Pattern { return Op(uop.Or, p, q) }

// Xor is the bitwise exclusive or.
func (p *Pattern) Xor(q *Pattern) *Pattern { return Op(uop.Xor, p, q) }

// Not is the complement, written as in the graph: xor with all ones.
func (p *Pattern) Not() *Pattern { return p.Xor(ones) }

// Shl shifts left.
func (p *Pattern) Shl(q *Pattern) *Pattern { return Op(uop.Shl, p, q) }

// Shr shifts right.
func (p *Pattern) Shr(q *Pattern) *Pattern { return Op(uop.Shr, p, q) }

// Less is p < q.
func (p *Pattern) Less(q *Pattern) *Pattern { return Op(uop.Less, p, q) }

// Equal is p = q.
func (p *Pattern) Equal(q *Pattern) *Pattern { return Op(uop.Equal, p, q) }

// Where is q where p is true and r elsewhere.
func (p *Pattern) Where(q, r *Pattern) *Pattern { return Op(uop.Where, p, q, r) }

// MulAdd is p·q + r, rounded once.
func (p *Pattern) MulAdd(q, r *Pattern) *Pattern { return Op(uop.MulAdd, p, q, r) }

var ones = Literal("~0", func(d dtype.DType) (uop.Value, bool) {
	if d.IsFloat() {
		return 0, false
	}
	if d == dtype.Bool || d.IsUnsigned() {
		_, hi := uop.IntLimits(d)
		return hi, true
	}
	return ^uop.Value(0), true
})

// String prints the pattern as an expression.
func (p *Pattern) String() string {
	if p.kind == oneOf {
		return fmt.Sprintf("%v", p.ops)
	}
	if p.kind != apply {
		return p.name
	}
	args := make([]string, len(p.src))
	for i, s := range p.src {
		args[i] = s.String()
	}
	if p.typ != nil {
		args = append(args, p.typ.name)
	}
	return p.op.String() + "(" + strings.Join(args, ", ") + ")"
}

// Holes lists the holes and type holes of p, each once, from left to right.
func (p *Pattern) Holes() (nodes []*Pattern, types []*Type) {
	seen, seenType := map[*Pattern]bool{}, map[*Type]bool{}
	var walk func(*Pattern)
	walk = func(p *Pattern) {
		if (p.kind == anyHole || p.kind == constHole) && !seen[p] {
			seen[p] = true
			nodes = append(nodes, p)
		}
		for _, s := range p.src {
			walk(s)
		}
		if p.typ != nil && !seenType[p.typ] {
			seenType[p.typ] = true
			types = append(types, p.typ)
		}
	}
	walk(p)
	return nodes, types
}

// IsConst reports whether p is a hole for constants only.
func (p *Pattern) IsConst() bool { return p.kind == constHole }
