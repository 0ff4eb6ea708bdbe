package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// Variables of a graph are arguments of its plan, numbered in the order of first use: a graph with other values of them is the same
// graph. Names in plans are numbers, so that kernels are shared by plans whose variables are called otherwise.

// Bindings gives values of variables in place of those that a graph was built with.
type Bindings func(v uop.VarArg) (value int, ok bool)

// UnboundError says that a variable has no value, or one outside of its bounds.
type UnboundError struct {
	Var    uop.VarArg
	Reason string
}

func (e *UnboundError) Error() string { return fmt.Sprintf("variable %s %s", e.Var.Name, e.Reason) }

// CheckValue says what is wrong with the value of a variable, or nil.
func CheckValue(v uop.VarArg, n int) error {
	if n < v.Lo || n > v.Hi {
		return &UnboundError{v, fmt.Sprintf("is %d, not within its bounds %d…%d", n, v.Lo, v.Hi)}
	}
	return nil
}

// variable is the argument that a variable of the graph becomes. It may be several nodes, of which some were made when the table of nodes no longer
// held the others.
func (c *canonical) variable(u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.VarArg)
	t := c.graph.Table
	if a.Lo == a.Hi {
		return t.ConstOf(u.DType(), uop.ValueOf(u.DType(), a.Lo))
	}
	if a.Lo < math.MinInt32 || a.Hi > math.MaxInt32 || a.Lo > a.Hi {
		panic("BUG: a variable with bounds that no plan has: " + a.String())
	}
	if i := slices.Index(c.vars, a); i >= 0 {
		return c.graph.Vars[i]
	}
	c.vars = append(c.vars, a)
	v := t.Make(uop.Var, u.DType(), uop.VarArg{Name: fmt.Sprintf("n%d", len(c.vars)-1), Lo: a.Lo, Hi: a.Hi})
	c.graph.Vars = append(c.graph.Vars, v)
	return v
}

// planVars are the variables of a plan as the plan says them.
func planVars(vars []*uop.UOp) []plan.Var {
	var out []plan.Var
	for _, u := range vars {
		a := u.Arg().(uop.VarArg)
		out = append(out, plan.Var{Name: a.Name, Lo: int32(a.Lo), Hi: int32(a.Hi)})
	}
	return out
}

// valuesOf are the variables' values for a play.
func valuesOf(vars []uop.VarArg, with Bindings) ([]int32, error) {
	var out []int32
	for _, a := range vars {
		n, ok := a.Value, a.Bound
		if with != nil {
			if m, given := with(a); given {
				n, ok = m, true
			}
		}
		if !ok {
			return nil, &UnboundError{a, fmt.Sprintf("has no value; give it one of its bounds %d…%d", a.Lo, a.Hi)}
		}
		if err := CheckValue(a, n); err != nil {
			return nil, err
		}
		out = append(out, int32(n))
	}
	return out, nil
}

// counted is what a node is where its elements count, and 0 elsewhere: v is its value, which does not say what counts.
func counted(u, v *uop.UOp) *uop.UOp {
	for axis, n := range u.Sizes() {
		if n.Varies() {
			v = uop.Within(axis, v.Shape(), n).Where(v, v.Int(0))
		}
	}
	return v
}

// valueOfLeaf is the value of a variable of a graph that is evaluated.
func valueOfLeaf(u *uop.UOp) (uop.Value, error) {
	n, err := valuesOf([]uop.VarArg{u.Arg().(uop.VarArg)}, nil)
	if err != nil {
		return 0, err
	}
	return uop.ValueOf(dtype.Index, int(n[0])), nil
}
