package schedule

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

var combLaw = rewrite.Named("of neighbours of which one counts the others are left out")

// combed leaves out of sums over r of what is 0 unless e + d·r = 0 (mod n), with d and n coprime, what the condition excludes: of n neighbours one
// counts, r = n·j + (−e/d mod n). Such sums are the gradients of windows of which every n-th is taken, as of convolutions with strides. Of those
// of what is 0 unless e ± r = 0 one term is left, r = ∓e: of windows of which there is one. The ranges of the result may be others.
func (l *lowering) combed(v *uop.UOp, ranges []*uop.UOp) (*uop.UOp, []*uop.UOp) {
	for i, r := range ranges {
		for _, c := range needed(v, map[*uop.UOp][]*uop.UOp{}) {
			at, j := l.only(c, r)
			if at == nil {
				at, j = l.teeth(c, r)
			}
			if at != nil {
				ranges = slices.Clone(ranges)
				v, ranges[i] = l.counting(v, c, r, at), j
				break
			}
		}
	}
	return v, ranges
}

// needed lists conditions without which v is 0; done keeps those of what was asked for.
func needed(v *uop.UOp, done map[*uop.UOp][]*uop.UOp) []*uop.UOp {
	list, known := done[v]
	if known {
		return list
	}
	switch v.Op() {
	case uop.Neg, uop.Cast:
		list = needed(v.At(0), done)
	case uop.Load:
		list = symbolic.Conjuncts(v.At(1))
	case uop.Where:
		if v.At(2).IsConst(0) {
			list = symbolic.Conjuncts(v.At(0))
		}
	case uop.Mul: // 0 times a number that is not finite is none
		other := needed(v.At(1), done)
		for _, c := range needed(v.At(0), done) {
			if slices.Contains(other, c) {
				list = append(list, c)
			}
		}
	}
	done[v] = list
	return list
}

// tooth reads a condition as r = e (mod n); else n is 0.
func tooth(c, r *uop.UOp) (n int, e *uop.UOp) {
	zero := c.Op() == uop.Equal && c.At(1).IsConst(0) || c.Op() == uop.Less && c.At(1).IsConst(1)
	if !zero || c.At(0).Op() != uop.Mod {
		return 0, nil
	}
	n, ok := c.At(0).At(1).ConstInt()
	x := c.At(0).At(0)
	by, linear := symbolic.Stride(x, r)
	if !ok || !linear {
		return 0, nil
	}
	inverse := inverseOf(by, n)
	if inverse == 0 {
		return 0, nil
	}
	e = uop.Substitute(r.Home(), map[*uop.UOp]*uop.UOp{r: r.Home().Index(0)}, x)[0]
	switch {
	case inverse == 1:
		return n, e.Neg()
	case inverse == -1:
		return n, e
	}
	return n, e.Mod(r.Home().Index(n)).Mul(r.Home().Index(-inverse))
}

// mostTeeth is the greatest n for which numbers that are no neighbours are taken apart: their places are multiplied by up to half of it.
const mostTeeth = 64

// inverseOf is the number of least magnitude that times a is 1 (mod n); 0 if there is none, or it would be large. Of two that are as great it has a's sign.
func inverseOf(a, n int) int {
	if a == 1 || a == -1 {
		return a
	}
	if n > mostTeeth {
		return 0
	}
	a %= n
	for x := 1; 2*x <= n; x++ {
		for _, x := range []int{x, -x} {
			if y := (a*x - 1) % n; y == 0 && (2*x != n || (x > 0) == (a > 0)) {
				return x
			}
		}
	}
	return 0
}

// only reads a condition as r = at, of which no range is left; else at is nil.
func (l *lowering) only(c, r *uop.UOp) (at, j *uop.UOp) {
	if c.Op() != uop.Equal && c.Op() != uop.Less || c.At(0).DType() != dtype.Index || r.Arg().(uop.RangeArg).N == 1 {
		return nil, nil
	}
	x := l.simplify(c.At(0).Sub(c.At(1)))
	if c.Op() == uop.Less { // of which the left side is the least one
		if lo, _, ok := symbolic.Bounds(x); !ok || lo != -1 {
			return nil, nil
		}
		x = x.Add(l.s.t.Index(1))
	}
	by, linear := symbolic.Stride(x, r)
	if !linear || by != 1 && by != -1 {
		return nil, nil
	}
	at = uop.Substitute(l.s.t, map[*uop.UOp]*uop.UOp{r: l.s.t.Index(0)}, x)[0]
	if by == 1 {
		at = at.Neg()
	}
	return l.simplify(at), l.newRange(1)
}

// teeth reads a condition as r = e (mod n), and gives r as at, n·j + (e mod n); else at is nil.
func (l *lowering) teeth(c, r *uop.UOp) (at, j *uop.UOp) {
	n, e := tooth(c, r)
	if n < 2 {
		return nil, nil
	}
	j = l.newRange((r.Arg().(uop.RangeArg).N + n - 1) / n)
	return l.simplify(j.Mul(l.s.t.Index(n)).Add(e.Mod(l.s.t.Index(n)))), j
}

// counting is what a sum over r has of v where r = at, which is what the condition c says, and nothing where that is no element.
func (l *lowering) counting(v, c, r, at *uop.UOp) *uop.UOp {
	t := l.s.t
	valid := within(t, at, r.Arg().(uop.RangeArg).N)
	v = uop.Substitute(t, map[*uop.UOp]*uop.UOp{c: t.True()}, v)[0]
	v = uop.Substitute(t, map[*uop.UOp]*uop.UOp{r: at}, gated(t, v, valid, anyLoad))[0]
	if valid != nil {
		v = valid.Where(v, v.Int(0))
	}
	return l.simplify(v)
}
