package grad

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// A tangent says how a value moves while others move along theirs: the derivative along a direction, forward. Forward laws come
// from the table of laws wherever the derivative of an op has a simple form: an op that is linear is applied to the
// tangents; where each element depends on its own elements only, or on those that it is reduced from, the law, which
// is linear in the gradient, gives the factors.

// forward gives the tangent of u from those of operands(u), some of which are nil, which stands for 0.
type forward func(u *uop.UOp, t []*uop.UOp) *uop.UOp

// still marks ops without a tangent: leaves, integers, comparisons, and what only kernels contain.
func still(*uop.UOp, []*uop.UOp) *uop.UOp { return nil }

// forwards is keyed by op; a test reports missing rows. What works on each element alone and is not linear has the one that its law gives.
var forwards = [uop.NumOps]forward{
	uop.Const: still, uop.Buffer: still, uop.Param: still, uop.Var: still, uop.Range: still, uop.Reg: still,
	uop.Reshape: linear, uop.Permute: linear, uop.Expand: linear, uop.Flip: linear, uop.Pad: linear, uop.Shrink: linear, uop.Slide: linear,
	uop.Neg: linear, uop.Cast: linear, uop.Add: linear, uop.Where: linear,
	uop.Reduce: pushReduce, uop.Part: pushPart, uop.Scan: pushScan, uop.ArgSort: still,
	uop.Gather: linear, uop.Scatter: pushScatter,
	uop.Load: still, uop.Store: still,
	uop.After: pushAfter, uop.Contiguous: linear, uop.Copy: linear, uop.Check: linear, uop.Extent: linear, uop.Detach: push,
	uop.Foreign: pushForeign,
}

// forwardOf is the forward law of an op. A law that is there makes a gradient of an operand from one of the result; none makes nothing. Loops
// are those whose tangents are known.
func forwardOf(o uop.Op, loops *[]pushedLoop) forward {
	switch {
	case o == uop.Call: // not in the table, which it asks
		return pushCall
	case o == uop.Loop:
		return func(u *uop.UOp, t []*uop.UOp) *uop.UOp { return pushLoop(loops, u, t) }
	case !o.Elementwise() || forwards[o] != nil:
		return forwards[o]
	case laws[o] != nil:
		return diagonal
	}
	return still
}

// Forward gives the tangents of values: of each y the sum over the nodes in along of the derivative times the tangent given there,
// a node of y's shape and type. What depends on none of them has the tangent nil.
func Forward(along map[*uop.UOp]*uop.UOp, ys ...*uop.UOp) []*uop.UOp {
	var moving uop.Map[*uop.UOp]
	var asked uop.Map[bool] // not what only the derivatives contain that a node states
	for _, y := range ys {
		asked.Set(y, true)
	}
	all := uop.Topo(ys...)
	var loops []pushedLoop
	for _, u := range slices.Backward(all) {
		if ok, _ := asked.Get(u); ok {
			for _, s := range moved(u) {
				asked.Set(s, true)
			}
		}
	}
	for _, u := range all {
		if t, ok := along[u]; ok {
			moving.Set(u, t)
			continue
		}
		if ok, _ := asked.Get(u); !ok {
			continue
		}
		srcs := operands(u)
		t, any := make([]*uop.UOp, len(srcs)), false
		for i, s := range srcs {
			t[i], _ = moving.Get(s)
			any = any || t[i] != nil
		}
		if !any || !u.DType().IsFloat() {
			continue
		}
		if t := forwardOf(u.Op(), &loops)(u, t); t != nil {
			if len(t.Shape()) == 0 {
				t = expand(t, u.Shape())
			}
			moving.Set(u, t)
		}
	}
	out := make([]*uop.UOp, len(ys))
	for i, y := range ys {
		out[i], _ = moving.Get(y)
	}
	return out
}

// moved are the operands that a tangent comes from. A function with stated derivatives moves as these say, so that neither its value nor
// what derivatives of derivatives are made of is asked.
func moved(u *uop.UOp) []*uop.UOp {
	if u.Op() != uop.Detach {
		return operands(u)
	}
	if f, ok := u.Arg().(uop.FunctionArg); ok && f.Slot == 0 {
		return u.Src()[:1]
	}
	var out []*uop.UOp
	for i := 1; i < len(u.Src()); i += 2 {
		out = append(out, u.At(i))
	}
	return out
}

// linear applies u to tangents; what is no float, as an index or a condition, stays.
func linear(u *uop.UOp, t []*uop.UOp) *uop.UOp {
	if u.Op() == uop.Add && (t[0] == nil || t[1] == nil) {
		if t[0] == nil {
			t[0] = t[1]
		}
		return t[0]
	}
	src := make([]*uop.UOp, len(u.Src()))
	for i, s := range u.Src() {
		switch {
		case t[i] != nil:
			src[i] = t[i]
		case s.DType().IsFloat():
			src[i] = zeros(s, s.Shape())
		default:
			src[i] = s
		}
	}
	return u.Home().Make(u.Op(), u.DType(), u.Arg(), src...)
}

// diagonal sums what the law of u makes of each tangent: each element depends on its own elements only, so that the derivative
// is its own transpose.
func diagonal(u *uop.UOp, t []*uop.UOp) *uop.UOp {
	var total *uop.UOp
	for i := range t {
		if t[i] == nil {
			continue
		}
		if len(t[i].Shape()) == 0 {
			t[i] = expand(t[i], u.Shape())
		}
		total = plus(total, lawOf(u.Op())(u, t[i])[i])
	}
	return total
}

func plus(a, b *uop.UOp) *uop.UOp {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return a.Add(b)
}

// factors are what each element of the operands counts for the element that it goes into: the law of u of a gradient of ones.
func factors(u *uop.UOp) []*uop.UOp { return lawOf(u.Op())(u, expand(u.Int(1), u.Shape())) }

func pushReduce(u *uop.UOp, t []*uop.UOp) *uop.UOp {
	a := u.Arg().(uop.ReduceArg)
	switch {
	case a.Parts > 1: // its parts have tangents
		return nil
	case a.Monoid == uop.Sum:
		return linear(u, t)
	}
	return weighed(u, u, t)
}

func pushPart(u *uop.UOp, t []*uop.UOp) *uop.UOp {
	if u.At(0).Op() == uop.Scan {
		return pushScanPart(u, t)
	}
	return weighed(u, u.At(0), t)
}

// weighed sums the tangents of what r reduces, times their factors in u: r or one of its parts.
func weighed(u, r *uop.UOp, t []*uop.UOp) *uop.UOp {
	var total *uop.UOp
	for i, f := range factors(u) {
		if t[i] == nil || f == nil {
			continue
		}
		if len(t[i].Shape()) == 0 {
			t[i] = expand(t[i], r.At(0).Shape())
		}
		total = plus(total, f.Mul(t[i]))
	}
	if total == nil {
		return nil
	}
	return sum(total, r.Arg().(uop.ReduceArg).Axes.Slice())
}

func pushScan(u *uop.UOp, t []*uop.UOp) *uop.UOp {
	a, x := u.Arg().(uop.ScanArg), u.At(0)
	switch {
	case a.Parts > 1:
		return nil
	case a.Monoid == uop.Sum:
		return linear(u, t)
	case a.Monoid == uop.Prod: // (y′·x)˙ = ẏ′·x + y′·ẋ
		return recurrence(x, t[0].Mul(previous(u, a.Axis, 1)), a.Axis)
	case a.Monoid == uop.MaxOf:
		return t[0].Gather(lastTop(x, u, a.Axis), a.Axis)
	}
	panic("BUG: no tangent for a scan with " + a.Monoid.String())
}

// pushScanPart: with Linear y = a·y′ + b, ẏ = a·ẏ′ + ȧ·y′ + ḃ; the product of the a is the same without b.
func pushScanPart(u *uop.UOp, t []*uop.UOp) *uop.UOp {
	s, i := u.At(0), u.Arg().(uop.PartArg).I
	arg := s.Arg().(uop.ScanArg)
	if arg.Monoid != uop.Linear {
		panic("BUG: no tangent for a scan with " + arg.Monoid.String())
	}
	shape := s.Shape()
	for k := range t {
		if t[k] != nil && len(t[k].Shape()) == 0 {
			t[k] = expand(t[k], shape)
		}
	}
	var b *uop.UOp
	if t[0] != nil {
		b = t[0].Mul(previous(u, arg.Axis, 1-i))
	}
	if i == 1 {
		b = plus(b, t[1])
	}
	if b == nil {
		return nil
	}
	a := s.At(0)
	if len(a.Shape()) == 0 {
		a = expand(a, shape)
	}
	return recurrence(a, b, arg.Axis)
}

// recurrence is y = a·y′ + b along an axis.
func recurrence(a, b *uop.UOp, axis int) *uop.UOp {
	return a.Home().ScanParts(uop.Linear, axis, a, b).Part(1)
}

// pushScatter: with Sum and Last the tangents are scattered as the values are; otherwise times what base and values count.
func pushScatter(u *uop.UOp, t []*uop.UOp) *uop.UOp {
	arg := u.Arg().(uop.ScatterArg)
	if arg.Monoid == uop.Sum || arg.Monoid == uop.Last {
		return linear(u, t)
	}
	moved := make([]*uop.UOp, len(t))
	f := factors(u)
	for _, i := range []int{0, 2} {
		moved[i] = zeros(u, u.At(i).Shape())
		if t[i] != nil {
			moved[i] = f[i].Mul(t[i])
		}
	}
	return moved[0].Scatter(u.At(1), moved[2], arg.Axis, uop.Sum)
}

// pushAfter: of an assignment of a whole buffer only the value counts.
func pushAfter(u *uop.UOp, t []*uop.UOp) *uop.UOp {
	if t[1] == nil {
		return nil
	}
	if u.At(1).At(0).Shape().Numel() != u.Shape().Numel() {
		panic("BUG: no tangent for an assignment to a part of a buffer")
	}
	if len(t[1].Shape()) == 0 {
		return t[1]
	}
	return t[1].Reshape(u.Shape()...)
}

// lastTop is where along an axis a running maximum came from last, up to each place.
func lastTop(x, top *uop.UOp, axis int) *uop.UOp {
	at := places(x.Shape(), axis)
	hit := x.Equal(top).Or(x.Equal(x).Or(top.Equal(top)).Not())
	return hit.Where(at, at.Int(-1)).Scan(uop.MaxOf, axis)
}
