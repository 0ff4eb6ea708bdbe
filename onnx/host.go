package onnx

import (
	"slices"

	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// constant is the value of a tensor in the file, which lies on the device once for all runs.
func (r *runner) constant(key any, v *Value) *Value {
	if v.elem == String {
		return v
	}
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	at := placedKey{r.eng, key}
	p := r.m.placed[at]
	if p == nil {
		p = &Value{elem: v.elem, shape: v.shape, raw: v.raw, known: true, fixed: len(r.m.placed) + 1}
		if count(v.shape) > 1 {
			if u, err := r.eng.FromBytes(v.elem.DType(), v.shape, v.raw); err == nil {
				p.t = tensor.FromNode(u, r.eng)
			}
		}
		r.m.placed[at] = p
	}
	r.knows(p)
	return p
}

// knows has the elements of a constant at hand where its array is met.
func (r *runner) knows(v *Value) {
	if v.t != nil {
		r.raws[leafOf(v.t.Node())] = v.raw
	}
}

// tableKey names what a node makes of its attributes, by the first of these: a function has copies of its nodes.
type tableKey struct {
	first *attrProto
	name  string
	elem  Elem
}

// table is an array that a node makes of its attributes alone. It lies on the device once for all runs: graphs that had one each would have nothing in
// common. Attributes that a function is given are others at each call.
func (c *call) table(name string, v *Value) t {
	if len(c.node.attrs) > 0 && !slices.ContainsFunc(c.node.attrs, func(a *attrProto) bool { return a.ref != "" }) {
		v = c.r.constant(tableKey{c.node.attrs[0], name, v.elem}, v)
	}
	return c.r.tensor(v).Reshape(v.shape...)
}

// leafOf looks through the shape of a leaf.
func leafOf(u *uop.UOp) *uop.UOp {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	return u
}

// tensor is an array of numbers as a tensor.
func (r *runner) tensor(v *Value) *tensor.Tensor {
	if v.t != nil {
		return v.t
	}
	d := v.elem.DType()
	if count(v.shape) == 1 {
		u := uop.NewConst(d, elementsOf(d, v.raw)[0])
		return tensor.FromNode(u.Reshape(v.shape...), r.eng)
	}
	u, err := r.eng.FromBytes(d, v.shape, v.raw)
	if err != nil {
		panic(&opError{err})
	}
	r.raws[leafOf(u)] = v.raw
	v.t = tensor.FromNode(u, r.eng)
	return v.t
}

// host are the elements of an array, which are computed if need be.
func (r *runner) host(v *Value) []byte { return r.deciding(v, 0) }

// deciding are the elements of an array for whose sake inputs of so many elements may decide about plans.
func (r *runner) deciding(v *Value, most int) []byte {
	if v.raw != nil {
		return v.raw
	}
	if n := count(v.shape); n == 0 {
		v.raw = []byte{}
		return v.raw
	}
	u := v.t.Node()
	if r.trace && !v.known {
		need := &needValue{most: most}
		for _, leaf := range uop.Topo(u) {
			if i, ok := r.slots[leaf.Slot()]; ok && leaf.Op() == uop.Param {
				need.inputs = append(need.inputs, i)
			}
		}
		panic(need)
	}
	if raw, ok := r.evaluate(u, hostWork); ok {
		v.raw, v.t = raw, nil
		return v.raw
	}
	err := r.realize(v)
	var raw []byte
	if err == nil {
		raw, err = v.t.Bytes(r.ctx)
	}
	if err != nil {
		panic(&opError{err})
	}
	v.raw = raw
	return raw
}

// settle computes one integer that is known, if that takes little: as a size of an array it is a constant then, and not an element of an array of sizes,
// which would be another array in each graph. Graphs of other sizes could share no plan.
func (r *runner) settle(v *Value) {
	if raw, ok := r.evaluate(v.t.Node(), settledWork); ok {
		v.raw, v.t = raw, nil
	}
}

// atHand says that elements are to be had without a device computing them for this, and waiting for it.
func (r *runner) atHand(v *Value) bool { return v.raw != nil || r.trace && v.known }

// evaluate computes a graph of at most so many elements in the program, if all that it is made of is known there.
func (r *runner) evaluate(u *uop.UOp, most int) (raw []byte, ok bool) {
	calls, ok := r.little(u, most)
	if ok && calls {
		u = uop.Inline(u)[0]
		_, ok = r.little(u, most)
	}
	if !ok {
		return nil, false
	}
	got := ref.Eval(func(leaf *uop.UOp) []uop.Value { return elementsOf(leaf.DType(), r.raws[leaf]) }, u)[0]
	d := u.DType()
	for _, v := range got {
		bits := uop.ToBits(d, v)
		for range d.Size() {
			raw = append(raw, byte(bits))
			bits >>= 8
		}
	}
	return raw, true
}

// little says that a graph has at most so many elements, all of which the program can compute, and whether it has calls. Large graphs are left early.
func (r *runner) little(u *uop.UOp, most int) (calls, ok bool) {
	work, ok := 0, true
	uop.Walk([]*uop.UOp{u}, func(n *uop.UOp) bool {
		if !ok {
			return true
		}
		switch n.Op() {
		case uop.Buffer, uop.Param:
			_, ok = r.raws[n]
		case uop.After, uop.Store, uop.Check, uop.Extent, uop.Copy, uop.Var, uop.Foreign, uop.Loop:
			ok = false
		case uop.Call:
			calls = true
		}
		work += n.Shape().Numel()
		ok = ok && work <= most
		return !ok
	}, func(*uop.UOp) {})
	return calls, ok
}

// realize computes what values stand for, and with them what is made of the same, so that none of it is computed again.
func (r *runner) realize(vs ...*Value) error {
	var list []*tensor.Tensor
	var collect func(v *Value)
	collect = func(v *Value) {
		switch {
		case v == nil:
		case v.kind != IsTensor:
			for _, item := range v.items {
				collect(item)
			}
		case v.elem != String && v.raw == nil:
			list = append(list, v.t)
		}
	}
	for _, v := range vs {
		collect(v)
	}
	if len(list) == 0 {
		return nil
	}
	list = append(list, r.shared(list)...)
	r.waits.forget(list)
	return tensor.Realize(r.ctx, list...)
}

// shared are the tensors that this node or others further on read and that have to compute something which these have to compute too.
func (r *runner) shared(list []*tensor.Tensor) (more []*tensor.Tensor) {
	type place struct {
		v    *Value
		node *uop.UOp
	}
	var waiting []place
	for _, s := range r.scopes {
		left := s.pending[:0]
		for _, name := range s.pending {
			v := s.values[name]
			if v == nil || v.kind != IsTensor || v.raw != nil || v.t == nil || lies(v.t.Node()) || !s.read(name) {
				continue
			}
			left, waiting = append(left, name), append(waiting, place{v, v.t.Node()})
		}
		s.pending = left
	}
	anew := len(r.waits.made) >= r.waits.room
	if anew {
		r.waits.made = map[*uop.UOp][]*uop.UOp{}
	}
	for _, p := range waiting {
		r.waits.add(p.node)
	}
	if anew {
		r.waits.room = 2*len(r.waits.made) + 256
	}
	above := r.waits.above(list)
	for _, p := range waiting {
		if above[p.node] {
			more = append(more, p.v.t)
		}
	}
	return more
}

// waits are the nodes of values that wait to be computed, with what is made of each: a run that asks for hundreds of values is not to go through
// all that waits for each of them.
type waits struct {
	made map[*uop.UOp][]*uop.UOp
	room int // so many that most may be of values that nothing reads any more, and which hold arrays
}

func (w *waits) add(u *uop.UOp) {
	uop.Walk([]*uop.UOp{u}, func(u *uop.UOp) bool {
		_, known := w.made[u]
		return known || lies(u)
	}, func(u *uop.UOp) {
		w.made[u] = nil
		for _, x := range u.Src() {
			if users, known := w.made[x]; known {
				w.made[x] = append(users, u)
			}
		}
	})
}

// above are the nodes that have to be computed for a list, and what is made of them.
func (w *waits) above(list []*tensor.Tensor) map[*uop.UOp]bool {
	var next []*uop.UOp
	found := map[*uop.UOp]bool{}
	meet := func(u *uop.UOp) {
		if !found[u] && !lies(u) {
			found[u] = true
			next = append(next, u)
		}
	}
	for _, t := range list {
		uop.Walk([]*uop.UOp{t.Node()}, lies, meet)
	}
	for len(next) > 0 {
		u := next[len(next)-1]
		next = next[:len(next)-1]
		for _, user := range w.made[u] {
			meet(user)
		}
	}
	return found
}

// forget leaves out what is about to be computed.
func (w *waits) forget(list []*tensor.Tensor) {
	for _, t := range list {
		uop.Walk([]*uop.UOp{t.Node()}, lies, func(u *uop.UOp) { delete(w.made, u) })
	}
}

// read says whether a node further on reads a name, or the present one, as a loop does in every round.
func (s *scope) read(name string) bool {
	last, ok := s.reads.last[name]
	return ok && last >= s.at
}

// lies says that a node's value lies in memory, but for its shape, or is a constant.
func lies(u *uop.UOp) bool {
	for u.Op().IsMovement() && u.Realized() == nil {
		u = u.At(0)
	}
	return u.Realized() != nil || len(u.Src()) == 0
}
