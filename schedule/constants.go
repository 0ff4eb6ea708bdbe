package schedule

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Layers of a quantised network, and the steps of a sampler that are written out, compute the same with other constants. To a compiler each is a
// kernel of its own. So kernels that are alike but for constants get these as an array, whose elements the schedule says, and are one kernel. So do those
// that differ in where a mask of indices begins, as the chunks of causal attention.

// constants gives kernels that are alike their constants as arrays, where enough need not be compiled then.
func (s *scheduler) constants() {
	if s.config.Alike == 0 || len(s.kernels) < 2 {
		return
	}
	groups := map[string][]*outline{}
	var forms []string // in the order of their first kernels
	for _, k := range s.kernels {
		if k.opaque() || s.config.MaxBindings > 0 && len(k.bufs) >= s.config.MaxBindings {
			continue
		}
		if p := s.outlineOf(k); p != nil {
			if groups[p.form] == nil {
				forms = append(forms, p.form)
			}
			groups[p.form] = append(groups[p.form], p)
		}
	}
	for _, f := range forms {
		s.share(groups[f])
	}
}

// outline is a kernel and, apart from it, its constants.
type outline struct {
	*kernel
	nodes  int // that it computes with
	places []constantPlace
	form   string // equal for kernels that differ in constants only
}

// constantPlace is where a node has a constant as an operand.
type constantPlace struct {
	user, constant *uop.UOp
}

// outlineOf finds the constants of a kernel that elements of an array can take the place of; nil: it has none. Sums of integers keep theirs: units that multiply
// narrow numbers know what is behind an end of an axis.
func (s *scheduler) outlineOf(k *kernel) *outline {
	p := &outline{kernel: k}
	topo := uop.Topo(k.expressions()...)
	p.nodes = len(topo)
	inside, decides := map[*uop.UOp]bool{}, map[*uop.UOp]bool{} // of what a sum is of; of indices, of which bounds are known
	for _, o := range k.spec.Outs {
		for _, x := range append(slices.Clip(o.Index), o.Gate) {
			decides[x] = true
		}
	}
	for _, u := range slices.Backward(topo) {
		for i, x := range u.Src() {
			inside[x] = inside[x] || inside[u] || u.Op() == uop.Reduce
			decides[x] = decides[x] || decides[u] && !isByteOfFloat(u) || u.Op() == uop.Load && i > 0
		}
	}
	for _, u := range topo {
		if decides[u] {
			continue
		}
		for _, x := range u.Src() {
			if x.Op() == uop.Const && (weighs(u.Op()) && (x.DType().IsFloat() || x.DType() == dtype.I32 && !inside[u]) || u.Op() == uop.Less && isPosition(x)) {
				p.places = append(p.places, constantPlace{u, x})
			}
		}
	}
	if len(p.places) == 0 {
		return nil
	}
	each := make([]element, len(p.places))
	for i, x := range p.places {
		each[i] = element{storedAs(x.constant), i}
	}
	p.form = s.form(s.numbered(p, each, constantArrays(each)))
	return p
}

// isByteOfFloat says that a node is a byte that is made of a float: its bounds are those of its type, whatever the float is computed with. Tables of 256 elements are
// read so.
func isByteOfFloat(u *uop.UOp) bool {
	if u.Op() != uop.Cast || u.DType().Size() != 1 || u.DType() == dtype.Bool {
		return false
	}
	x := u.At(0)
	for x.Op() == uop.Cast {
		x = x.At(0)
	}
	return x.DType().IsFloat()
}

// element is where a constant lies: in the array of a type, which may be another than its own, of numbers without a fraction. In none: −1.
type element struct {
	of dtype.DType
	at int
}

// weighs says that an op computes with its operands.
func weighs(o uop.Op) bool { return o == uop.Add || o == uop.Mul || o == uop.Div || o == uop.Max }

// constantArrays are the arrays in which elements lie, one for each type.
func constantArrays(to []element) (arrays []codegen.Param) {
	for _, e := range to {
		if e.at < 0 {
			continue
		}
		n := holding(arrays, e)
		if n < 0 {
			n, arrays = len(arrays), append(arrays, codegen.Param{DType: e.of, Dims: []int{0}})
		}
		arrays[n].Dims[0] = max(arrays[n].Dims[0], e.at+1)
	}
	return arrays
}

// holding is which of the arrays an element lies in.
func holding(arrays []codegen.Param, e element) int {
	return slices.IndexFunc(arrays, func(a codegen.Param) bool { return a.DType == e.of })
}

// numbered is a copy of a kernel with elements of arrays, which lie behind its other Params, in the place of constants.
func (s *scheduler) numbered(p *outline, to []element, arrays []codegen.Param) *kernel {
	out := &kernel{spec: copied(p.spec)}
	with := map[constantPlace]*uop.UOp{}
	for i, x := range p.places {
		if e := to[i]; e.at >= 0 {
			n := holding(arrays, e)
			with[x] = s.t.Load(s.t.Param(len(p.spec.Params)+n, arrays[n].Dims[0], e.of), s.t.True(), s.t.Index(e.at)).Cast(x.constant.DType())
		}
	}
	out.spec.Params = append(slices.Clip(out.spec.Params), arrays...)
	done := map[*uop.UOp]*uop.UOp{}
	for _, u := range uop.Topo(p.expressions()...) {
		done[u] = u.WithSrc(s.t, func(x *uop.UOp) *uop.UOp {
			if e := with[constantPlace{u, x}]; e != nil {
				return e
			}
			return done[x]
		})
	}
	out.replace(done)
	return out
}

// share makes kernels that are alike but for constants one.
func (s *scheduler) share(alike []*outline) {
	all := map[string]bool{}
	for _, p := range alike {
		all[s.table.tuple(p.constants()...)] = true
	}
	if (len(all)-1)*alike[0].nodes < s.config.Alike {
		return
	}
	to := s.elements(alike)
	arrays := constantArrays(to)
	if s.config.MaxBindings > 0 && len(alike[0].bufs)+len(arrays) > s.config.MaxBindings {
		return
	}
	from := map[string][]int{} // by constants: where these begin, in each array
	for _, p := range alike {
		key := s.table.tuple(p.constants()...)
		_, kept := from[key]
		for _, a := range arrays {
			buf := s.constantBuf(a.DType)
			p.bufs = append(slices.Clip(p.bufs), buf)
			if !kept {
				from[key] = append(from[key], s.keepConstants(buf, p, to))
			}
		}
		p.spec, p.from = s.numbered(p, to, arrays).spec, append(slices.Clip(p.from), from[key]...)
	}
}

// constantBuf is the buffer of all constants of a type.
func (s *scheduler) constantBuf(d dtype.DType) int {
	for i, b := range s.bufs {
		if b.Kind == ConstantBuf && b.DType == d {
			return i
		}
	}
	s.bufs, s.fixed = append(s.bufs, Buf{Kind: ConstantBuf, Index: len(s.fixed), DType: d}), append(s.fixed, nil)
	return len(s.bufs) - 1
}

// keepConstants keeps those of a kernel that lie in one buffer, and gives where.
func (s *scheduler) keepConstants(buf int, p *outline, to []element) int {
	d := s.bufs[buf].DType
	var values []uop.Value
	for i, x := range p.places {
		if to[i].at < 0 || to[i].of != d {
			continue
		}
		for len(values) <= to[i].at {
			values = append(values, 0)
		}
		v, _ := x.constant.ConstValue()
		if d != x.constant.DType() && x.constant.DType() != dtype.Index {
			v = uop.IntValue(d, int64(v.Float()))
		}
		values[to[i].at] = v
	}
	return s.keepValues(buf, values)
}

// keepValues puts values behind what a buffer holds, where a part may begin, and gives the element.
func (s *scheduler) keepValues(buf int, values []uop.Value) (from int) {
	b := &s.bufs[buf]
	kept := s.fixed[b.Index]
	for s.config.Align > 0 && len(kept)*b.DType.Size()%s.config.Align != 0 {
		kept = append(kept, 0)
	}
	from, kept = len(kept), append(kept, values...)
	s.fixed[b.Index], b.N = kept, len(kept)
	return from
}

// elements says where the constants of kernels that are alike lie: nowhere where all have the same, and in one element where each has the same in two places.
func (s *scheduler) elements(alike []*outline) []element {
	to := make([]element, len(alike[0].places))
	column, n := map[string]element{}, map[dtype.DType]int{}
	for i, first := range alike[0].places {
		constants, same, whole := make([]*uop.UOp, len(alike)), true, first.constant.DType() == dtype.F32
		for j, p := range alike {
			constants[j] = p.places[i].constant
			same, whole = same && constants[j] == first.constant, whole && isWhole(constants[j])
		}
		if to[i].at = -1; same {
			continue
		}
		key := s.table.tuple(constants...)
		e, ok := column[key]
		if !ok {
			if e.of = storedAs(first.constant); whole { // what is computed with them may need no rounding
				e.of = dtype.I32
			}
			e.at = n[e.of]
			column[key] = e
			n[e.of]++
		}
		to[i] = e
	}
	return to
}

// isPosition says that a constant is an index, and an int32 as well: compared with, it says where a mask begins.
func isPosition(c *uop.UOp) bool {
	v, _ := c.ConstValue()
	return c.DType() == dtype.Index && v.Int() == int64(int32(v.Int()))
}

// storedAs is the type of the array that a constant can be an element of.
func storedAs(c *uop.UOp) dtype.DType {
	if c.DType() == dtype.Index {
		return dtype.I32
	}
	return c.DType()
}

// isWhole says that a constant is an int32 as well, and the same one.
func isWhole(c *uop.UOp) bool {
	v, _ := c.ConstValue()
	x := v.Float()
	return x == math.Trunc(x) && math.Abs(x) <= 1<<22 && (x != 0 || !math.Signbit(x))
}

// constants are those of the places.
func (p *outline) constants() []*uop.UOp {
	list := make([]*uop.UOp, len(p.places))
	for i, x := range p.places {
		list[i] = x.constant
	}
	return list
}
