// Package legal composes what a target lacks of what it has: ops, types, casts, functions that machines have no instruction for. Which
// rule fits is said by the op, the type and Target.Has alone. It refuses to know loops and the place of an expression.
package legal

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Unsupported says that a target can neither do an op nor be given a composition of others for it.
type Unsupported struct {
	Target string
	Op     uop.Op
	DType  dtype.DType
}

func (e *Unsupported) Error() string {
	return fmt.Sprintf("%s: no %s of %s: the target lacks it and no rule replaces it; cast to another type or use another device",
		e.Target, e.Op, e.DType)
}

// Legalize rewrites scalar expressions into ops that the target has, without changing their meaning (that of
// package uop's Eval; the transcendental functions to a few units in the last place). New nodes are made in t.
// It panics with an *Unsupported where no rule helps. For many expressions of one kernel keep a Legalizer.
func Legalize(t *uop.Table, target *codegen.Target, roots ...*uop.UOp) []*uop.UOp {
	l := NewLegalizer(t, target)
	out := make([]*uop.UOp, len(roots))
	for i, r := range roots {
		out[i] = l.Do(r)
	}
	return out
}

// Legalizer remembers what it has rewritten.
//
// What Target.Has is asked: an op with the type of its first operand (Where: of its values). A Cast needs both
// types; for narrow floats it means the conversion from and to F32, everything else goes through F32 or F64.
// Load, Store, constants and registers of every type must exist, narrow floats being words of 16 or 8 bits if need be.
// Index arithmetic is never asked for.
//
// Unless Target.Total, what remains is what a plain machine does safely: a division has a divisor that is not
// zero and, if signed, a dividend that is not negative and a divisor that is positive; a shift count is
// below the width; a float that is cast to an integer lies within its limits.
type Legalizer struct {
	t      *uop.Table
	target *codegen.Target
	done   map[*uop.UOp]*uop.UOp
	plain  map[*uop.UOp]bool        // made by a rule so that it needs no guard
	within map[*uop.UOp]dtype.DType // an int32 with a value that the type has
}

// NewLegalizer makes one for expressions of table t.
func NewLegalizer(t *uop.Table, target *codegen.Target) *Legalizer {
	return &Legalizer{t: t, target: target, done: map[*uop.UOp]*uop.UOp{},
		plain: map[*uop.UOp]bool{}, within: map[*uop.UOp]dtype.DType{}}
}

// Do gives the legal form of u.
func (l *Legalizer) Do(u *uop.UOp) *uop.UOp {
	known := func(v *uop.UOp) bool { return l.done[v] != nil }
	uop.Walk([]*uop.UOp{u}, known, func(v *uop.UOp) {
		w := l.one(v)
		l.done[v], l.done[w] = w, w
	})
	return l.done[u]
}

// one rewrites a node whose operands are done. What a rule returns is rewritten in turn: rules lead from
// rarer ops to commoner ones, so this ends after a few rounds.
func (l *Legalizer) one(u *uop.UOp) *uop.UOp {
	v := u.WithSrc(l.t, func(s *uop.UOp) *uop.UOp { return l.done[s] })
	if !v.Op().Elementwise() || l.plain[u] {
		return v
	}
	w := l.rule(v)
	if w == v {
		return v
	}
	return l.Do(l.roundProducts(v, w))
}

func (l *Legalizer) has(o uop.Op, d dtype.DType) bool { return Has(l.target, o, d) }

// Has says that a target has an op for a type. Indices every target can compute.
func Has(t *codegen.Target, o uop.Op, d dtype.DType) bool { return d == dtype.Index || t.Has(o, d) }

// Asked is the type under which Has knows the node.
func Asked(u *uop.UOp) dtype.DType {
	if u.Op() == uop.Where {
		return u.DType()
	}
	return u.At(0).DType()
}

// rule applies the one rule that fits, or returns v itself.
func (l *Legalizer) rule(v *uop.UOp) *uop.UOp {
	d := Asked(v)
	if v.Op() == uop.Cast {
		return l.cast(v)
	}
	if v.Op() == uop.MulAdd && v.Arg() != nil && !d.IsNarrow() {
		return l.loose(v.At(0), v.At(1), v.At(2))
	}
	if !l.has(v.Op(), d) {
		if d.IsNarrow() && v.Op() != uop.Bitcast {
			return l.viaF32(v)
		}
		if d == dtype.Bool && onBool[v.Op()] != nil {
			return onBool[v.Op()](v)
		}
		if f := lacking[v.Op()]; f != nil {
			if w := f(l, v); w != nil {
				return w
			}
		}
		panic(&Unsupported{l.target.Name, v.Op(), d})
	}
	if f := guards[v.Op()]; f != nil && !l.target.Total {
		return f(l, v)
	}
	return v
}

// asPlain marks a node as needing no guard: the rule that made it has seen to that.
func (l *Legalizer) asPlain(u *uop.UOp) *uop.UOp {
	l.plain[u] = true
	return u
}

// lacking are the rules for ops that the target has not; nil results mean that they do not apply.
var lacking = [uop.NumOps]func(*Legalizer, *uop.UOp) *uop.UOp{
	uop.Neg:       func(_ *Legalizer, v *uop.UOp) *uop.UOp { return v.At(0).Mul(v.Int(-1)) },
	uop.Exp2:      func(_ *Legalizer, v *uop.UOp) *uop.UOp { return exp2(v.At(0)) },
	uop.Log2:      func(_ *Legalizer, v *uop.UOp) *uop.UOp { return log2(v.At(0)) },
	uop.Sin:       func(l *Legalizer, v *uop.UOp) *uop.UOp { return l.sin(v.At(0)) },
	uop.Trunc:     func(_ *Legalizer, v *uop.UOp) *uop.UOp { return trunc(v.At(0)) },
	uop.RoundEven: func(_ *Legalizer, v *uop.UOp) *uop.UOp { return roundEven(v.At(0)) },
	uop.Div:       func(l *Legalizer, v *uop.UOp) *uop.UOp { return l.div(v.At(0), v.At(1)) },
	uop.Max:       func(_ *Legalizer, v *uop.UOp) *uop.UOp { return maximum(v.At(0), v.At(1)) },
	uop.MulAdd:    (*Legalizer).mulAdd,
	uop.Dot2:      func(_ *Legalizer, v *uop.UOp) *uop.UOp { return dot2(v.At(0), v.At(1)) },
	uop.Dot4:      func(_ *Legalizer, v *uop.UOp) *uop.UOp { return dot4(v.At(0), v.At(1)) },

	uop.DotBF16: func(_ *Legalizer, v *uop.UOp) *uop.UOp { return dotBF16(v.At(0), v.At(1)) },
}

// guards are the rules for ops that machines do, but not for all operands.
var guards = [uop.NumOps]func(*Legalizer, *uop.UOp) *uop.UOp{
	uop.IDiv: (*Legalizer).divide,
	uop.Mod:  (*Legalizer).modulo,
	uop.Shl:  (*Legalizer).shift,
	uop.Shr:  (*Legalizer).shift,
}

// onBool are arithmetic and comparison of truth values in and, or, exclusive or.
var onBool = [uop.NumOps]func(v *uop.UOp) *uop.UOp{
	uop.Neg:    func(v *uop.UOp) *uop.UOp { return v.At(0) },
	uop.Add:    func(v *uop.UOp) *uop.UOp { return v.At(0).Or(v.At(1)) },
	uop.Mul:    func(v *uop.UOp) *uop.UOp { return v.At(0).And(v.At(1)) },
	uop.IDiv:   func(v *uop.UOp) *uop.UOp { return v.At(0).And(v.At(1)) },
	uop.Mod:    func(v *uop.UOp) *uop.UOp { return v.Int(0) },
	uop.Max:    func(v *uop.UOp) *uop.UOp { return v.At(0).Or(v.At(1)) },
	uop.Shl:    func(v *uop.UOp) *uop.UOp { return v.At(0) },
	uop.Shr:    func(v *uop.UOp) *uop.UOp { return v.At(0) },
	uop.Less:   func(v *uop.UOp) *uop.UOp { return v.At(0).Not().And(v.At(1)) },
	uop.Equal:  func(v *uop.UOp) *uop.UOp { return v.At(0).Xor(v.At(1)).Not() },
	uop.MulAdd: func(v *uop.UOp) *uop.UOp { return v.At(0).And(v.At(1)).Or(v.At(2)) },
	uop.Where: func(v *uop.UOp) *uop.UOp {
		return v.At(0).And(v.At(1)).Or(v.At(0).Not().And(v.At(2)))
	},
}
