// Package uop is the one node type of Weft: tensor graph, kernel expression and linear
// program are made of UOps. A UOp is immutable and interned: op, element type, sources and a small
// comparable argument.
//
// It knows the ops, their meaning on single elements, and shapes. It refuses to know rules, kernels
// and devices.
//
//	x := uop.NewBuffer(1, 6, "CPU", dtype.F32).Reshape(2, 3)
//	y := x.Mul(x).Reduce(uop.Sum, 1) // shape 2
package uop

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weft-ml/weft/dtype"
)

// UOp is a node. At tensor level it stands for an array of its Shape; in a kernel for a scalar
// (rank 0). Effects of lowered kernels are statements, not nodes.
type UOp struct {
	op       Op
	dtype    dtype.DType
	arg      Arg
	src      []*UOp
	room     [2]*UOp // for the operands of most
	shape    Shape
	sizes    *[]Size // nil: no axis varies
	hash     uint64
	home     *Table
	realized atomic.Pointer[UOp]
	storage  atomic.Value
	origin   atomic.Pointer[Origin]
}

// Op is what the node computes.
func (u *UOp) Op() Op { return u.op }

// DType is the type of its elements.
func (u *UOp) DType() dtype.DType { return u.dtype }

// Arg is its fixed part.
func (u *UOp) Arg() Arg { return u.arg }

// Src are its operands; not to be changed.
func (u *UOp) Src() []*UOp { return u.src }

// At is the i-th operand.
func (u *UOp) At(i int) *UOp { return u.src[i] }

// Shape is the shape of the array it stands for; not to be changed.
func (u *UOp) Shape() Shape { return u.shape }

// Home is the table the node lives in.
func (u *UOp) Home() *Table { return u.home }

// Hash is equal for equal nodes of one process.
func (u *UOp) Hash() uint64 { return u.hash }

// Realized is the buffer (perhaps reshaped) that holds this node's value, or nil.
func (u *UOp) Realized() *UOp { return u.realized.Load() }

// SetRealized records where the node's value lies.
func (u *UOp) SetRealized(b *UOp) { u.realized.Store(b) }

// Storage is what a device keeps behind a Buffer node, or nil.
func (u *UOp) Storage() any { return u.storage.Load() }

// SetStorage ties a Buffer node to device memory. All values stored must have one type.
func (u *UOp) SetStorage(s any) { u.storage.Store(s) }

// ConstValue gives the value of a Const.
func (u *UOp) ConstValue() (Value, bool) {
	if u.op != Const {
		return 0, false
	}
	return u.arg.(ConstArg).Value, true
}

// ConstInt gives the value of a Const of an integer type.
func (u *UOp) ConstInt() (int, bool) {
	if u.op != Const || !u.dtype.IsInt() {
		return 0, false
	}
	return int(u.arg.(ConstArg).Value.Int()), true
}

// IsConst reports whether u is the constant n of its type (floats: exactly equal, −0 is not 0).
func (u *UOp) IsConst(n int) bool {
	return u.op == Const && u.arg.(ConstArg).Value == ValueOf(u.dtype, n)
}

// Topo lists the nodes that roots depend on, and roots, operands first. It does not recurse.
func Topo(roots ...*UOp) []*UOp {
	var out []*UOp
	seen := NewSeen()
	defer seen.Free()
	type frame struct {
		u *UOp
		i int
	}
	var stack []frame
	for _, r := range roots {
		if !seen.Enter(r) {
			continue
		}
		stack = append(stack, frame{r, 0})
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.i == len(f.u.src) {
				out = append(out, f.u)
				stack = stack[:len(stack)-1]
				continue
			}
			s := f.u.src[f.i]
			f.i++
			if seen.Enter(s) {
				stack = append(stack, frame{s, 0})
			}
		}
	}
	return out
}

// Walk visits the nodes below roots, operands first, each once; cut ends it at nodes that are known.
func Walk(roots []*UOp, cut func(*UOp) bool, visit func(*UOp)) { WalkBy(roots, (*UOp).Src, cut, visit) }

// WalkBy is Walk along some operands of each node.
func WalkBy(roots []*UOp, operands func(*UOp) []*UOp, cut func(*UOp) bool, visit func(*UOp)) {
	type frame struct {
		u    *UOp
		left []*UOp // operands
	}
	seen := NewSeen()
	defer seen.Free()
	var room [32]frame
	stack := room[:0]
	enter := func(u *UOp) {
		if seen.Enter(u) && !cut(u) {
			stack = append(stack, frame{u, operands(u)})
		}
	}
	for _, r := range roots {
		enter(r)
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.left) == 0 {
				visit(top.u)
				stack = stack[:len(stack)-1]
				continue
			}
			s := top.left[0]
			top.left = top.left[1:]
			enter(s)
		}
	}
}

// Substitute replaces nodes in the graphs of roots, and gives the new roots. A replacement is not
// searched again. Nodes are made in table t.
func Substitute(t *Table, with map[*UOp]*UOp, roots ...*UOp) []*UOp {
	var done Map[*UOp]
	get := func(u *UOp) *UOp {
		v, _ := done.Get(u)
		return v
	}
	for _, u := range Topo(roots...) {
		if w, ok := with[u]; ok {
			done.Set(u, w)
			continue
		}
		done.Set(u, u.WithSrc(t, get))
	}
	out := make([]*UOp, len(roots))
	for i, r := range roots {
		out[i] = get(r)
	}
	return out
}

// WithSrc is u with its operands mapped, made in table t; u itself when nothing changes.
func (u *UOp) WithSrc(t *Table, f func(*UOp) *UOp) *UOp {
	var src []*UOp // made when something changes
	if t != u.home {
		src = make([]*UOp, len(u.src))
	}
	for i, s := range u.src {
		v := f(s)
		if src == nil && v != s {
			src = slices.Clone(u.src)
		}
		if src != nil {
			src[i] = v
		}
	}
	if src == nil && t == u.home {
		return u
	}
	v := t.Make(u.op, u.dtype, u.arg, src...)
	if o := u.origin.Load(); o != nil {
		v.origin.CompareAndSwap(nil, o)
	}
	return v
}

// String names the node briefly: op, type, shape.
func (u *UOp) String() string {
	switch a := u.arg.(type) {
	case ConstArg:
		return u.constString()
	case RangeArg:
		if a.Name != "" {
			return a.Name
		}
		return fmt.Sprintf("r%d", a.ID)
	case ParamArg:
		if a.Scratch {
			return fmt.Sprintf("scratch%d", a.Slot)
		}
		return fmt.Sprintf("p%d", a.Slot)
	case RegArg:
		return fmt.Sprintf("v%d", a.ID)
	case VarArg:
		return a.Name
	case CallArg:
		return fmt.Sprintf("call %s.%s%v", a.Name, u.dtype.Short(), []int(u.shape))
	}
	return fmt.Sprintf("%s.%s%v", u.op, u.dtype.Short(), []int(u.shape))
}

func (u *UOp) constString() string {
	v := u.arg.(ConstArg).Value
	switch {
	case u.dtype.IsFloat():
		return fmt.Sprintf("%v", v.Float())
	case u.dtype == dtype.Bool:
		return fmt.Sprint(v.Bool())
	case u.dtype.IsUnsigned():
		return fmt.Sprint(uint64(v))
	}
	return fmt.Sprint(v.Int())
}
