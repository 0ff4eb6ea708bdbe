package lawtest

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Program is an expression, ready to be evaluated at many points.
type Program struct {
	scope *Scope
	code  []*uop.UOp // operands first; what lies in a reduction is in a program of its own
	src   [][]int
	inner map[int]*Program
	merge map[int]func(x, y uop.Value) uop.Value
	value []uop.Value
	err   error
}

// Compile orders the nodes of an expression of the scope, or of one into which it was rewritten.
func (s *Scope) Compile(e *uop.UOp) *Program {
	p := &Program{scope: s, inner: map[int]*Program{}, merge: map[int]func(x, y uop.Value) uop.Value{}}
	place := map[*uop.UOp]int{}
	var add func(u *uop.UOp) int
	add = func(u *uop.UOp) int {
		if n, ok := place[u]; ok {
			return n
		}
		var src []int
		inner := u.Op() == uop.Reduce || u.Op() == uop.Scan
		if !inner {
			for _, x := range u.Src() {
				src = append(src, add(x))
			}
		}
		if u.Op() == uop.Scan {
			src = append(src, add(u.At(2)))
		}
		n := len(p.code)
		place[u] = n
		p.code, p.src = append(p.code, u), append(p.src, src)
		if inner {
			p.inner[n] = s.Compile(u.At(0))
			p.merge[n] = merge(u)
		}
		return n
	}
	add(e)
	p.value = make([]uop.Value, len(p.code))
	return p
}

func merge(u *uop.UOp) func(x, y uop.Value) uop.Value {
	d, o := u.DType(), map[uop.Monoid]uop.Op{uop.Sum: uop.Add, uop.MaxOf: uop.Max}[monoidOf(u)]
	return func(x, y uop.Value) uop.Value { return uop.Eval(o, d, d, x, y) }
}

// monoidOf is how a reduction or a scan merges.
func monoidOf(u *uop.UOp) uop.Monoid {
	if a, ok := u.Arg().(uop.ScanArg); ok {
		return a.Monoid
	}
	return u.Arg().(uop.ReduceArg).Monoid
}

// At evaluates everything in the expression at a point. The error is a load outside of its array where its gate holds,
// or an index too large to be exact.
func (p *Program) At(at map[*uop.UOp]uop.Value) (uop.Value, error) {
	p.err = nil
	for n, u := range p.code {
		p.value[n] = p.node(n, u, at)
		if p.err != nil {
			return 0, p.err
		}
	}
	return p.value[len(p.code)-1], nil
}

func (p *Program) node(n int, u *uop.UOp, at map[*uop.UOp]uop.Value) uop.Value {
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		return v
	case uop.Range:
		v, ok := at[u]
		if !ok {
			p.err = fmt.Errorf("%v is used outside of its loop", u)
		}
		return v
	case uop.Param:
		return 0
	case uop.Load:
		return p.load(n, u)
	case uop.Reduce:
		return p.reduce(n, u, at)
	case uop.Scan:
		return p.scan(n, u, at)
	}
	var v [3]uop.Value
	for i, s := range p.src[n] {
		v[i] = p.value[s]
	}
	x := uop.Eval(u.Op(), u.At(0).DType(), u.DType(), v[:len(p.src[n])]...)
	if u.DType() == dtype.Index && (x.Int() > limit || x.Int() < -limit) {
		p.err = errInexact
	}
	return x
}

var errInexact = fmt.Errorf("an index is too large")

func (p *Program) load(n int, u *uop.UOp) uop.Value {
	src := p.src[n]
	if p.value[src[1]] == 0 {
		return uop.ValueOf(u.DType(), 0)
	}
	a := p.scope.arrays[u.At(0).Arg().(uop.ParamArg).Slot]
	at := 0
	if len(src)-2 != len(a.dims) {
		p.err = fmt.Errorf("load with %d indices of %v", len(src)-2, a.dims)
		return 0
	}
	for i, s := range src[2:] {
		x := p.value[s].Int()
		if x < 0 || x >= int64(a.dims[i]) {
			p.err = fmt.Errorf("load of element %d of axis %d of %v", x, i, a.dims)
			return 0
		}
		at = at*a.dims[i] + int(x)
	}
	return a.v[at]
}

func (p *Program) reduce(n int, u *uop.UOp, at map[*uop.UOp]uop.Value) uop.Value {
	acc := monoidOf(u).Info().Identity(u.DType(), 0)
	var loop func(ranges []*uop.UOp)
	loop = func(ranges []*uop.UOp) {
		if p.err != nil {
			return
		}
		if len(ranges) == 0 {
			v, err := p.inner[n].At(at)
			p.err = err
			acc = p.merge[n](acc, v)
			return
		}
		old, open := at[ranges[0]]
		for i := range ranges[0].Arg().(uop.RangeArg).N {
			at[ranges[0]] = uop.Value(i)
			loop(ranges[1:])
		}
		if delete(at, ranges[0]); open {
			at[ranges[0]] = old
		}
	}
	loop(u.Src()[1:])
	return acc
}

// scan merges up to where the axis of the output stands.
func (p *Program) scan(n int, u *uop.UOp, at map[*uop.UOp]uop.Value) uop.Value {
	over, last := u.At(1), p.value[p.src[n][0]]
	acc := monoidOf(u).Info().Identity(u.DType(), 0)
	defer delete(at, over)
	for i := range last.Int() + 1 {
		at[over] = uop.Value(i)
		v, err := p.inner[n].At(at)
		if p.err = err; err != nil {
			return 0
		}
		acc = p.merge[n](acc, v)
	}
	return acc
}
