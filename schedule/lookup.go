package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Between one byte of a quantised network and the next lies what an activation computes in floats. A function of one byte has 256 values:
// kernels that compute it for many more elements look it up in a table, which comes with the plan as constants do.

const (
	byteValues = 256     // that a number of 8 bits has
	leastSaved = 1 << 16 // operations of all elements, for which it is worth to make a table and to keep it
)

// lookup gives kernels tables for functions of one byte.
func (s *scheduler) lookup() {
	if s.config.Lookup == 0 {
		return
	}
	for _, k := range s.kernels {
		if !k.opaque() {
			s.lookUp(k)
		}
	}
}

// lookUp has a kernel look functions of one byte up.
func (s *scheduler) lookUp(k *kernel) {
	var elements int
	for _, o := range k.spec.Outs {
		elements = max(elements, uop.Shape(k.spec.Params[o.Param].Dims).Numel())
	}
	if elements <= byteValues {
		return
	}
	topo := uop.Topo(k.expressions()...)
	of, needed := functionsOfBytes(topo), map[*uop.UOp]bool{}
	for _, x := range k.expressions() {
		needed[x] = true
	}
	tables := map[*uop.UOp]*uop.UOp{} // the Param of each function's table
	spec := copied(k.spec)
	for _, u := range slices.Backward(topo) {
		switch b := of[u]; {
		case !needed[u]:
			continue
		case b != nil && b != u && isByte(u) && (s.config.MaxBindings == 0 || len(k.bufs) < s.config.MaxBindings):
			between := nodesBetween(u, b)
			if (operations(between)-float64(s.config.Lookup))*float64(elements-byteValues) < leastSaved {
				break
			}
			buf := s.constantBuf(u.DType())
			k.bufs, k.from = append(slices.Clip(k.bufs), buf), append(slices.Clip(k.from), s.keepValues(buf, valuesOf(u, b, between)))
			tables[u] = s.t.Param(len(spec.Params), byteValues, u.DType())
			spec.Params = append(slices.Clip(spec.Params), codegen.Param{DType: u.DType(), Dims: []int{byteValues}})
			needed[b] = true
			continue
		}
		for _, x := range u.Src() {
			needed[x] = true
		}
	}
	if len(tables) == 0 {
		return
	}
	k.spec = spec
	done := map[*uop.UOp]*uop.UOp{}
	for _, u := range topo {
		if p := tables[u]; p != nil {
			done[u] = s.t.Load(p, s.t.True(), done[of[u]].Bitcast(dtype.U8).Cast(dtype.Index))
			continue
		}
		done[u] = u.WithSrc(s.t, func(x *uop.UOp) *uop.UOp { return done[x] })
	}
	k.replace(done)
}

// operations are those that nodes take for each element.
func operations(nodes []*uop.UOp) (n float64) {
	for _, u := range nodes {
		n += uop.Info(u.Op()).Cost.Element
	}
	return n
}

// isByte says that a value is a number of 8 bits.
func isByte(u *uop.UOp) bool { return u.DType() == dtype.I8 || u.DType() == dtype.U8 }

// functionsOfBytes says of which byte a value is a function, if of one and else of constants. A byte that is none of another is one of itself.
func functionsOfBytes(topo []*uop.UOp) map[*uop.UOp]*uop.UOp {
	of := map[*uop.UOp]*uop.UOp{}
	for _, u := range topo {
		var one *uop.UOp
		function := u.Op().Elementwise()
		for _, x := range u.Src() {
			if function && x.Op() != uop.Const {
				function = of[x] != nil && (one == nil || one == of[x])
				one = of[x]
			}
		}
		switch {
		case function && one != nil:
			of[u] = one
		case isByte(u) && (u.Op() == uop.Load || u.Op().Elementwise()):
			of[u] = u
		}
	}
	return of
}

// nodesBetween are those that make a value of a byte, operands first.
func nodesBetween(u, of *uop.UOp) (nodes []*uop.UOp) {
	seen := map[*uop.UOp]bool{of: true}
	var visit func(u *uop.UOp)
	visit = func(u *uop.UOp) {
		if seen[u] {
			return
		}
		seen[u] = true
		for _, x := range u.Src() {
			visit(x)
		}
		nodes = append(nodes, u)
	}
	visit(u)
	return nodes
}

// valuesOf are those of a function of a byte, in the order of the byte's bits. They are what the graph says, rounded as it says.
func valuesOf(u, of *uop.UOp, between []*uop.UOp) []uop.Value {
	at := map[*uop.UOp][]uop.Value{of: make([]uop.Value, byteValues)}
	for i := range byteValues {
		at[of][i] = uop.IntValue(of.DType(), int64(i))
	}
	none := make([]uop.Value, byteValues)
	for _, x := range between {
		values := make([]uop.Value, byteValues)
		at[x] = values
		if v, ok := x.ConstValue(); ok {
			for i := range values {
				values[i] = v
			}
			continue
		}
		src := [3][]uop.Value{none, none, none}
		for i, y := range x.Src() {
			src[i] = at[y]
		}
		for i := range values {
			values[i] = uop.Apply(x.Op(), x.At(0).DType(), x.DType(), src[0][i], src[1][i], src[2][i])
		}
	}
	return at[u]
}
