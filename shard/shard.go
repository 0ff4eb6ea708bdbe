// Package shard turns a graph over arrays that lie on several devices into one graph for each device. Where a device needs what another
// has there is a Copy node between them, and nothing else joins the graphs: each is computed by itself.
//
// It knows how a cut goes through each op, and the traffic of sums that are spread over devices (reduce.go). It refuses to know devices,
// memory and when anything runs: package engine carries out what it says. The idea of one program whose arrays are annotated with cuts,
// which ops hand on, is that of GSPMD (Xu and others, 2021); here a cut that an op cannot hand on is an error and not a guess.
package shard

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weft-ml/weft/uop"
)

// Whole is the cut of an array that every device has all of.
const Whole = -1

// Value is what a node has become: an array on each device.
type Value struct {
	Cut   int        // the axis that it is cut along into equal parts, one a device in their order; or Whole
	Parts []*uop.UOp // by device
	Free  bool       // it is computed from no array, so that each device can make any part of it
	Shape uop.Shape  // of the parts together

	failed error        // why an array cannot be seen as of one axis, should that be wanted
	many   [][]*uop.UOp // of a reduction or scan with several results: by result and device
}

// Move is a Copy node and between which devices it brings its operand.
type Move struct {
	Node     *uop.UOp
	From, To int
}

// Bytes is how much it moves.
func (m Move) Bytes() int { return m.Node.Shape().Numel() * m.Node.DType().Size() }

// Hold is a node that a device computes once and keeps until the graph is done, as others build on its stored value.
type Hold struct {
	Node *uop.UOp
	On   int
}

// Spreader turns graphs into those of devices. What graphs share they share afterwards too.
type Spreader struct {
	Moves []Move
	Holds []Hold

	names []string
	leaf  func(u *uop.UOp) (Value, error)
	done  uop.Map[Value]
	moved map[move]*uop.UOp
	held  map[Hold]bool
	reads uop.Map[bool] // see free
}

// move tells copies apart.
type move struct {
	node     *uop.UOp
	from, to int
}

// New makes a Spreader for devices of these names. leaf gives the Value of a Buffer, Param or Var; of an array, which has one axis, the shape
// that the parts have together is that which the cut is stated for.
func New(names []string, leaf func(u *uop.UOp) (Value, error)) *Spreader {
	return &Spreader{names: names, leaf: leaf, moved: map[move]*uop.UOp{}, held: map[Hold]bool{}}
}

// CutError says that an op cannot be carried out on an array as it is cut.
type CutError struct {
	Op      string
	Method  string    // that the program called, of which the op is a part; "": not known
	Shape   uop.Shape // of the operand that is cut
	Axis    int       // along which it is
	Devices []string
	Reason  string
}

func (e *CutError) Error() string {
	name := e.Op
	if e.Method != "" {
		first, n := utf8.DecodeRuneInString(e.Method)
		name = string(unicode.ToLower(first)) + e.Method[n:]
	}
	return fmt.Sprintf("%s of %v: axis %d is cut over %s, %s; bring the array together before, whole on each device, or cut another axis",
		name, []int(e.Shape), e.Axis, strings.Join(e.Devices, ", "), e.Reason)
}

func (s *Spreader) fail(u *uop.UOp, of uop.Shape, axis int, format string, a ...any) *CutError {
	e := &CutError{Op: u.Op().String(), Shape: of, Axis: axis, Devices: s.names, Reason: fmt.Sprintf(format, a...)}
	if o := u.Origin(); o != nil {
		e.Method = o.Method
	}
	return e
}

// Spread gives what a graph of pure nodes becomes.
func (s *Spreader) Spread(root *uop.UOp) (Value, error) {
	for _, u := range uop.Topo(root) {
		if _, ok := s.done.Get(u); ok {
			continue
		}
		v, err := s.checked(u)
		if err != nil {
			return Value{}, err
		}
		v.Shape = u.Shape()
		s.done.Set(u, v)
	}
	v, _ := s.done.Get(root)
	return v, v.failed
}

// checked spreads one node unless an operand could not be.
func (s *Spreader) checked(u *uop.UOp) (Value, error) {
	for _, x := range u.Src() {
		if err := s.of(x).failed; err != nil && u.Op() != uop.Reshape {
			return Value{}, err
		}
	}
	v, err := s.node(u)
	if array(u) && err != nil {
		return Value{failed: err}, nil
	}
	return v, err
}

func (s *Spreader) of(u *uop.UOp) Value {
	v, ok := s.done.Get(u)
	if !ok {
		panic("BUG: a node before its operands: " + u.String())
	}
	return v
}

// node spreads one node; its operands are done.
func (s *Spreader) node(u *uop.UOp) (Value, error) {
	switch u.Op() {
	case uop.Buffer, uop.Param:
		return s.buffer(u, u.Shape())
	case uop.Var:
		return s.leaf(u)
	case uop.Const, uop.Range:
		return s.same(u), nil
	case uop.Reshape:
		if array(u.At(0)) { // the shape of an array is its own affair
			return s.buffer(u.At(0), u.Shape())
		}
	}
	if u.Shape().Numel() == 0 {
		return s.same(filled(u.DType(), 0, u.Shape())), nil
	}
	switch {
	case u.Op().Elementwise(), u.Op() == uop.Contiguous:
		return s.elementwise(u)
	case u.Op().IsMovement():
		return s.movement(u)
	}
	switch u.Op() {
	case uop.Reduce:
		return s.reduce(u)
	case uop.Scan:
		return s.scan(u)
	case uop.ArgSort:
		return s.argSort(u)
	case uop.Part:
		return s.part(u)
	case uop.Gather:
		return s.gather(u)
	case uop.Scatter:
		return s.scatter(u)
	case uop.Foreign:
		return s.foreign(u)
	case uop.Copy:
		to := u.Arg().(uop.DeviceArg).Cut - 1
		return s.Recut(s.of(u.At(0)), to)
	}
	return Value{}, fmt.Errorf("%v cannot be computed on several devices", u)
}

// array says that a node is an array.
func array(u *uop.UOp) bool { return u.Op() == uop.Buffer || u.Op() == uop.Param }

// buffer is an array, seen in a shape.
func (s *Spreader) buffer(b *uop.UOp, shape uop.Shape) (Value, error) {
	v, err := s.leaf(b)
	if err != nil || v.Shape.Equal(shape) {
		return v, err
	}
	if shape.Numel() == 0 {
		return s.same(filled(b.DType(), 0, shape)), nil
	}
	return s.reshape(b, v, shape)
}

// same is a node that every device computes for itself.
func (s *Spreader) same(u *uop.UOp) Value {
	v := Value{Cut: Whole, Free: true, Parts: make([]*uop.UOp, len(s.names)), Shape: u.Shape()}
	for i := range v.Parts {
		v.Parts[i] = u
	}
	return v
}

// mapped is f of each part.
func (s *Spreader) mapped(v Value, cut int, f func(i int, p *uop.UOp) *uop.UOp) Value {
	out := Value{Cut: cut, Free: v.Free, Parts: make([]*uop.UOp, len(s.names))}
	for i, p := range v.Parts {
		out.Parts[i] = f(i, p)
	}
	return out
}

// together brings operands of one shape, among which may be scalars, to one cut: those that are whole are cut like the others, which
// moves nothing. It gives them by device.
func (s *Spreader) together(u *uop.UOp, us []*uop.UOp) (cut int, free bool, by [][]*uop.UOp, err error) {
	cut, free = Whole, true
	for _, x := range us {
		v := s.of(x)
		free = free && v.Free
		switch {
		case v.Cut == Whole:
		case cut == Whole:
			cut = v.Cut
		case cut != v.Cut:
			return 0, false, nil, s.fail(u, x.Shape(), v.Cut, "and that of another operand is cut along axis %d", cut)
		}
	}
	by = make([][]*uop.UOp, len(s.names))
	for i := range by {
		by[i] = make([]*uop.UOp, len(us))
		for k, x := range us {
			v := s.of(x)
			by[i][k] = v.Parts[i]
			if cut != Whole && v.Cut == Whole && len(x.Shape()) > 0 {
				by[i][k] = s.slice(v.Parts[i], cut, i)
			}
		}
	}
	return cut, free, by, nil
}

func (s *Spreader) elementwise(u *uop.UOp) (Value, error) {
	cut, free, by, err := s.together(u, u.Src())
	if err != nil {
		return Value{}, err
	}
	out := Value{Cut: cut, Free: free, Parts: make([]*uop.UOp, len(by))}
	for i, src := range by {
		out.Parts[i] = u.Home().Make(u.Op(), u.DType(), u.Arg(), src...)
	}
	return out, nil
}

// slice is part i of an array that every device has.
func (s *Spreader) slice(p *uop.UOp, axis, i int) *uop.UOp {
	shape := p.Shape()
	n := shape[axis] / len(s.names)
	if p.Op() == uop.Expand && p.At(0).Shape()[axis] == 1 && shape[axis] > 1 {
		return p.At(0).Expand(with(shape, axis, n)...)
	}
	return between(p, axis, i*n, (i+1)*n)
}

// between is a stretch of an axis.
func between(p *uop.UOp, axis, lo, hi int) *uop.UOp {
	los, his := make([]int, len(p.Shape())), append([]int{}, p.Shape()...)
	los[axis], his[axis] = lo, hi
	return p.Shrink(los, his)
}

// with is a shape with another size of an axis.
func with(shape []int, axis, n int) []int {
	out := append([]int{}, shape...)
	out[axis] = n
	return out
}
