// Package ref evaluates tensor graphs slowly and obviously: one node after the other, one element
// after the other, by the meanings in the tables of package uop. It is the truth in tests.
//
// Floats are carried as float64 and rounded to the node's type after each op; reductions and
// scatters of floats are carried in float64 and rounded once. The package knows nodes and element
// types. It refuses to know kernels, devices and effects: After and Store are not evaluated.
//
//	out := ref.Eval(load, x.Mul(x).Reduce(uop.Sum, 1)) // out[0] are the elements, row-major
package ref

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Eval computes the arrays that roots stand for, row-major. load gives the elements of a leaf
// with storage (Buffer, Param, Var). For a reduction of several parts the root itself gives
// part 0.
func Eval(load func(leaf *uop.UOp) []uop.Value, roots ...*uop.UOp) [][]uop.Value {
	roots = uop.Inline(roots...)
	order := needed(roots)
	uses := make(map[*uop.UOp]int, len(order))
	for _, u := range order {
		for _, s := range operands(u) {
			uses[s]++
		}
	}
	for _, r := range roots {
		uses[r]++
	}
	e := &evaluator{load: load, values: make(map[*uop.UOp][]array, len(order))}
	for _, u := range order {
		e.values[u] = e.eval(u)
		for _, s := range operands(u) {
			if uses[s]--; uses[s] == 0 {
				delete(e.values, s)
			}
		}
	}
	out := make([][]uop.Value, len(roots))
	for i, r := range roots {
		out[i] = e.values[r][0].dense(r.Shape()).data
	}
	return out
}

// operands are the nodes whose values u needs.
func operands(u *uop.UOp) []*uop.UOp {
	if u.Op() == uop.Detach { // the others state derivatives
		return u.Src()[:1]
	}
	if u.Op() == uop.Foreign { // what its text says is not known
		return u.Src()[u.Arg().(uop.ForeignArg).Args:]
	}
	return u.Src()
}

// needed lists the nodes to evaluate, operands first.
func needed(roots []*uop.UOp) []*uop.UOp {
	want := map[*uop.UOp]bool{}
	for _, r := range roots {
		want[r] = true
	}
	all := uop.Topo(roots...)
	for i := len(all) - 1; i >= 0; i-- {
		if want[all[i]] {
			for _, s := range operands(all[i]) {
				want[s] = true
			}
		}
	}
	return slices.DeleteFunc(all, func(u *uop.UOp) bool { return !want[u] })
}

type evaluator struct {
	load   func(leaf *uop.UOp) []uop.Value
	values map[*uop.UOp][]array // one array a node; several for reductions and scans of several parts
}

// array is a strided view of elements; the shape is the node's.
type array struct {
	data    []uop.Value
	strides []int
	offset  int
}

// dense gives a row-major array; it copies unless a already is one.
func (a array) dense(shape uop.Shape) array {
	n := shape.Numel()
	if n > 0 && a.isDense(shape) {
		return array{data: a.data[a.offset : a.offset+n], strides: rowMajor(shape)}
	}
	out := newArray(shape)
	i := 0
	walk(shape, []array{a}, func(at []int) {
		out.data[i] = a.data[at[0]]
		i++
	})
	return out
}

func (a array) isDense(shape uop.Shape) bool {
	want := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 && a.strides[i] != want {
			return false
		}
		want *= shape[i]
	}
	return a.offset+want <= len(a.data)
}

func newArray(shape uop.Shape) array {
	return array{data: make([]uop.Value, shape.Numel()), strides: rowMajor(shape)}
}

func rowMajor(shape uop.Shape) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// walk calls f for each index of shape, row-major, with the position of that element in each
// array. The slice is reused.
func walk(shape uop.Shape, in []array, f func(at []int)) {
	if shape.Numel() == 0 {
		return
	}
	at := make([]int, len(in))
	for k, a := range in {
		at[k] = a.offset
	}
	if len(shape) == 0 {
		f(at)
		return
	}
	index := make([]int, len(shape))
	last := len(shape) - 1
	for {
		for range shape[last] {
			f(at)
			for k, a := range in {
				at[k] += a.strides[last]
			}
		}
		for k, a := range in {
			at[k] -= a.strides[last] * shape[last]
		}
		d := last - 1
		for ; d >= 0; d-- {
			index[d]++
			for k, a := range in {
				at[k] += a.strides[d]
			}
			if index[d] < shape[d] {
				break
			}
			for k, a := range in {
				at[k] -= a.strides[d] * shape[d]
			}
			index[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

func (e *evaluator) src(u *uop.UOp, i int) array { return e.values[u.At(i)][0] }

func (e *evaluator) eval(u *uop.UOp) []array {
	switch {
	case u.Op().Elementwise():
		return []array{e.elementwise(u)}
	case u.Op().IsMovement():
		return []array{e.movement(u)}
	}
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		return []array{{data: []uop.Value{v}}}
	case uop.Range:
		return []array{iota(u)}
	case uop.Buffer, uop.Param, uop.Var:
		v := e.load(u)
		if len(v) < u.Shape().Numel() {
			panic(fmt.Sprintf("BUG: ref: %v elements loaded for %v", len(v), u))
		}
		return []array{{data: v, strides: rowMajor(u.Shape())}}
	case uop.Reduce:
		return e.reduce(u)
	case uop.Scan:
		return e.scan(u)
	case uop.ArgSort:
		return []array{e.argSort(u)}
	case uop.Part:
		return []array{e.values[u.At(0)][u.Arg().(uop.PartArg).I]}
	case uop.Gather:
		return []array{e.gather(u)}
	case uop.Scatter:
		return []array{e.scatter(u)}
	case uop.Contiguous, uop.Copy, uop.Detach:
		return []array{e.src(u, 0)}
	case uop.Foreign:
		return []array{e.src(u, len(u.Src())-1)}
	}
	panic(fmt.Sprintf("BUG: ref does not evaluate %v", u))
}

func iota(u *uop.UOp) array {
	a := u.Arg().(uop.RangeArg)
	if a.ID >= 0 {
		panic("BUG: ref: a loop index has no value outside its loop")
	}
	out := newArray(u.Shape())
	for i := range out.data {
		out.data[i] = uop.Value(i)
	}
	return out
}

func (e *evaluator) elementwise(u *uop.UOp) array {
	shape := u.Shape()
	in := make([]array, len(u.Src()))
	for i, s := range u.Src() {
		in[i] = e.src(u, i)
		if len(s.Shape()) == 0 { // scalars fit everywhere
			in[i].strides = make([]int, len(shape))
		}
	}
	out := newArray(shape)
	op, from, to := u.Op(), u.At(0).DType(), u.DType()
	i := 0
	switch len(in) {
	case 1:
		x := in[0].data
		walk(shape, in, func(at []int) { out.data[i] = uop.Apply(op, from, to, x[at[0]], 0, 0); i++ })
	case 2:
		x, y := in[0].data, in[1].data
		walk(shape, in, func(at []int) { out.data[i] = uop.Apply(op, from, to, x[at[0]], y[at[1]], 0); i++ })
	case 3:
		x, y, z := in[0].data, in[1].data, in[2].data
		walk(shape, in, func(at []int) {
			out.data[i] = uop.Apply(op, from, to, x[at[0]], y[at[1]], z[at[2]])
			i++
		})
	}
	return out
}
