package engine

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// IntoError says why a captured function cannot write a result into an array.
type IntoError struct {
	Result int
	Reason string
}

func (e *IntoError) Error() string {
	return fmt.Sprintf("result %d of a captured function: %s", e.Result, e.Reason)
}

// into checks the places of outputs and gives those that can be written into, by node. A kernel writes part of its output before it
// has read all of its inputs, so none of them may lie there.
func (c *Captured) into(dst, inputs []*uop.UOp, bound []*storage) (map[*uop.UOp]*uop.UOp, error) {
	if c.folded != nil { // what is computed once is made of arrays that the function reads too
		bound = slices.Concat(bound, c.folded.inputs)
	}
	var places map[*uop.UOp]*uop.UOp
	taken := map[*storage]int{}
	for i, d := range dst {
		if d == nil {
			continue
		}
		if i >= len(c.outs) {
			return nil, &IntoError{i, fmt.Sprintf("there are %d", len(c.outs))}
		}
		if r := d.Realized(); r != nil {
			d = r
		}
		b, s := buffer(d)
		if why := c.unfit(i, d, s); why != "" {
			return nil, &IntoError{i, why}
		}
		if err := s.check(b, nil); err != nil {
			return nil, err
		}
		if why := clash(s, inputs, bound); why != "" {
			return nil, &IntoError{i, why}
		}
		if k, ok := taken[s]; ok {
			return nil, &IntoError{i, fmt.Sprintf("result %d is to be written into the same tensor; give each its own", k)}
		}
		taken[s] = i
		if s.shared.Load() {
			continue
		}
		if places == nil {
			places = map[*uop.UOp]*uop.UOp{}
		}
		places[c.outs[i]] = b
	}
	return places, nil
}

// unfit says why output i cannot lie in d, which is over s.
func (c *Captured) unfit(i int, d *uop.UOp, s *storage) string {
	o := c.outs[i]
	switch {
	case !c.Own(i):
		return "the function returns a tensor that exists, or the same one twice, so that it has no elements of its own to write; give nil for it, or return a copy (Contiguous)"
	case s == nil || s.engine != c.engine:
		return fmt.Sprintf("the tensor for it is not realized on %s", c.engine.name)
	case d.DType() != o.DType():
		return fmt.Sprintf("it is %v, and the tensor for it %v", o.DType(), d.DType())
	case !d.Shape().Equal(o.Shape()):
		return fmt.Sprintf("it is %v, and the tensor for it %v", o.Shape(), d.Shape())
	}
	return ""
}

// clash says what of a run lies in s.
func clash(s *storage, inputs []*uop.UOp, bound []*storage) string {
	for i, in := range inputs {
		if r := in.Realized(); r != nil {
			in = r
		}
		if _, x := buffer(in); x == s {
			return fmt.Sprintf("the tensor for it is input %d too, which would be overwritten while it is read; give another", i)
		}
	}
	for _, x := range bound {
		if x == s {
			return "the tensor for it is one that the function reads or assigns; give another"
		}
	}
	return ""
}
