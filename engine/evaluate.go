package engine

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// evaluate computes targets by the reference evaluator: all values first, then the effects.
func (e *Engine) evaluate(ctx context.Context, targets []target) error {
	var failed error
	load := func(leaf *uop.UOp) []uop.Value {
		if leaf.Op() == uop.Var {
			v, err := valueOfLeaf(leaf)
			failed = cmp.Or(failed, err)
			return []uop.Value{v}
		}
		b, s := buffer(leaf)
		raw := make([]byte, b.Shape().Numel()*b.DType().Size())
		if len(raw) > 0 {
			if err := e.machine.Device.Read(ctx, raw, s.mem, 0); err != nil {
				failed = err
			}
		}
		return decode(b.DType(), raw)
	}
	roots := make([]*uop.UOp, len(targets))
	for i, t := range targets {
		roots[i] = t.value
	}
	for _, u := range uop.Topo(roots...) { // each node is an array of its own there
		if n := u.Shape().Numel(); n > mostEvaluated {
			return fmt.Errorf("%s: %v has %d elements and the reference evaluator makes arrays of %d at most", e.name, u, n, mostEvaluated)
		}
	}
	if untoldBy != nil {
		if err := untoldBy(e.name, "", "graphs", roots); err != nil {
			return err
		}
	}
	values := e.machine.Evaluate(load, roots...)
	if failed != nil {
		return failed
	}
	stores := make([]*storage, len(targets))
	for i, t := range targets {
		raw := encode(storedType(t.value.DType()), values[i])
		if t.dest == nil {
			out, s, err := e.newBuffer(storedType(t.value.DType()), t.value.Shape())
			if err != nil {
				return err
			}
			t.store = s
			if t.flags == nil {
				t.node.SetRealized(out)
			}
		}
		stores[i] = t.store
		if len(raw) > 0 {
			if err := e.machine.Device.Write(t.store.mem, 0, raw); err != nil {
				return err
			}
		}
	}
	e.commit(targets)
	return e.inherit(ctx, targets, stores, func(i int, each func(*storage)) {
		for _, u := range uop.Topo(roots[i]) {
			if _, s := buffer(u); u.Op() == uop.Buffer && s.doubts != nil {
				each(s)
			}
		}
	})
}

// mostEvaluated is how many elements an array of the reference evaluator may have.
const mostEvaluated = 1 << 30

// commit gives buffers that were written to their next version.
func (e *Engine) commit(targets []target) {
	for _, t := range targets {
		if t.dest == nil && len(t.views) > 0 { // an assignment that another follows
			for _, n := range t.views {
				n.SetRealized(t.node.Realized().Reshape(n.Shape()...))
			}
		}
		if b := cmp.Or(t.dest, t.into); b != nil {
			for r := range e.records {
				if _, ok := r.was[t.store]; !ok {
					r.was[t.store] = t.store.current()
				}
			}
			t.store.version.Add(1)
			t.store.pending.CompareAndSwap(unshaped(t.node), nil)
			next := nextVersion(b, t.store)
			for _, n := range append(t.views, t.node, unshaped(t.node)) { // the assignment itself, whoever asks for it later
				n.SetRealized(next.Reshape(n.Shape()...))
			}
		}
	}
}

// storedType is the type in which an array is kept: index arithmetic has no storage of its own.
func storedType(d dtype.DType) dtype.DType {
	if d == dtype.Index {
		panic("BUG: an index grid must be cast before it is realized")
	}
	return d
}

func decode(d dtype.DType, raw []byte) []uop.Value {
	size := d.Size()
	out := make([]uop.Value, len(raw)/size)
	for i := range out {
		out[i] = uop.FromBits(d, littleEndian(raw[i*size:], size))
	}
	return out
}

func littleEndian(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	panic(fmt.Sprintf("BUG: element of %d bytes", size))
}

// FromValues is an array of these elements.
func (e *Engine) FromValues(d dtype.DType, v []uop.Value) (*uop.UOp, error) {
	return e.FromBytes(d, []int{len(v)}, encode(d, v))
}

func encode(d dtype.DType, v []uop.Value) []byte {
	size := d.Size()
	out := make([]byte, 0, len(v)*size)
	for _, x := range v {
		bits := uop.ToBits(d, x)
		for range size {
			out = append(out, byte(bits))
			bits >>= 8
		}
	}
	return out
}
