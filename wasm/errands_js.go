package main

import (
	"slices"
	"strconv"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
	"github.com/weft-ml/weft/wasm/wire"
)

const mostVain = 6 // after which one run in 64 is handed out

// mostErrands is how many bytes results have at most of which the engine does not know.
const mostErrands = 1 << 25

// mostRead is how many bytes the worker reads by itself: for as many the page has arrays ready (MOST of spares.js).
const mostRead = 1 << 24

// mostNear is how many tensors the worker is told of.
const mostNear = 32

// entruster tells the worker what it has to know.
type entruster struct {
	*server
	nearby []wire.Ref // tensors that runs had lately
}

// errands is what the worker has to know to run again what the last batch ran: [player, room, functions, tensors]. It is nil if there is nothing.
func (s *entruster) errands() []byte {
	d, ok := s.engine.Device().(errander)
	if !ok {
		return nil
	}
	functions, tensors := []any{}, []any{}
	var player, plan int32
	var room int64
	handed := map[wire.Ref]bool{} // each function of the batch, which may run one many times
	for _, q := range s.ran {
		if _, seen := handed[q.function]; !seen {
			e := s.errandOf(q.function)
			if e != nil {
				if player, plan, room, ok = d.Entrust(e.Plan); !ok {
					return nil
				}
				functions = append(functions, function(q.function, plan, e, d))
			}
			handed[q.function] = e != nil
		}
		if handed[q.function] {
			s.near(q.inputs)
			s.near(q.outs)
		}
	}
	if len(functions) == 0 {
		return nil
	}
	for _, ref := range s.nearby {
		if t, ok := s.tensors[ref].(*tensor.Tensor); ok {
			if m := s.engine.Memory(t.Node()); m != nil {
				tensors = append(tensors, append([]any{ref, d.Place(m)}, known(t.DType(), t.Shape())...))
			}
		}
	}
	return wire.Append(nil, []any{int(player), float64(min(room, mostErrands)), functions, tensors})
}

// errandOf is what a function needs to be run by the worker; nil where it is not to be, this time or ever.
func (s *entruster) errandOf(f wire.Ref) *engine.Errand {
	r := s.plays[f]
	if r == nil || r.runs&(1<<r.vain-1) != 0 {
		return nil
	}
	r.vain = min(r.vain+1, mostVain)
	e := r.captured.Errand()
	if e != nil {
		r.results = e.Outputs
	}
	return e
}

// function is what the worker is told of one: [function, plan, arguments, places of inputs among them, forms of inputs, results].
func function(f wire.Ref, plan int32, e *engine.Errand, d errander) []any {
	args, places, forms, results := []any{}, []any{}, []any{}, []any{}
	for _, m := range e.Args {
		at := 0.
		if m != nil {
			at = d.Place(m)
		}
		args = append(args, at)
	}
	for _, in := range e.Inputs {
		places, forms = append(places, in.Arg), append(forms, formOf(in.DType, in.Shape))
	}
	for _, o := range e.Outputs {
		results = append(results, append([]any{o.Arg, float64(o.Bytes)}, known(o.DType, o.Shape)...))
	}
	return []any{f, int(plan), args, places, forms, results}
}

// near notes tensors that runs had: the next ones are likely to have them too.
func (s *entruster) near(refs []wire.Ref) {
	for _, ref := range refs {
		s.nearby = append(slices.DeleteFunc(s.nearby, func(r wire.Ref) bool { return r == ref || s.tensors[r] == nil }), ref)
	}
	s.nearby = slices.Delete(s.nearby, 0, max(len(s.nearby)-mostNear, 0))
}

// known is what the worker knows of a tensor: its form, its shape, the type of its elements in the page, and how many bytes it reads; nil where elements
// are read in another way.
func known(d dtype.DType, shape []int) []any {
	var reads any
	if n := uop.Shape(shape).Numel() * d.Size(); !d.IsNarrow() && n <= mostRead {
		reads = n
	}
	return []any{formOf(d, shape), numbers(shape), typeName(d), reads}
}

// formOf is equal for tensors of one type and shape.
func formOf(d dtype.DType, shape []int) string {
	b := []byte(d.Short())
	for _, n := range shape {
		b = strconv.AppendInt(append(b, ' '), int64(n), 10)
	}
	return string(b)
}
