package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// A program that multiplies by a Go number, or takes a row at a Go index, makes another graph with each number. The
// first of such graphs is compiled as it is. From the second on, the numbers that differ are arguments of one plan:
// elements of small arrays that come after its inputs, one array a type. Numbers that were equal in all graphs seen share
// an argument, so that kernels that are alike stay alike.

// family is what graphs of one outline have in common.
type family struct {
	first    []uop.Value   // numbers of the first graph
	class    []int         // of each place: its argument, counted from 1; 0: as in the first graph
	types    []dtype.DType // of the arguments
	ops      string        // see debugAlike
	compiled int
	used     int    // see compiled.used
	plan     string // the key of its plan for these arguments; "" where there is none

	arrays []*storage // of the arguments of known graphs, which are written anew for each play
}

// split gives places with new numbers arguments of their own.
func (f *family) split(places []place) {
	type group struct { // places that are to share an argument
		place
		was   uop.Value // of class 0
		class int
		to    int
	}
	var groups []group
next:
	for i, p := range places {
		g := group{place: p, class: f.class[i]}
		if g.class == 0 {
			if g.was = f.first[i]; g.was == p.value {
				continue
			}
		}
		kept := g.class > 0 // the first of a class keeps its argument
		for _, h := range groups {
			if h.class != g.class {
				continue
			}
			if h.place == p && h.was == g.was {
				f.class[i] = h.to
				continue next
			}
			kept = false
		}
		g.to = g.class
		if !kept {
			f.types = append(f.types, p.dtype)
			g.to = len(f.types)
		}
		f.class[i] = g.to
		groups = append(groups, g)
	}
}

// key is that of the family's plan.
func (f *family) key(outline string) string {
	b := append([]byte("numbers "), outline...)
	for i, c := range f.class {
		b = binary.AppendVarint(b, int64(c))
		if c == 0 {
			b = binary.LittleEndian.AppendUint64(b, uint64(f.first[i]))
		}
	}
	return string(b)
}

// generalise finds the family of a graph that has no plan. If its numbers differ from those of another graph, they become inputs,
// and the key is that of a plan for all of them.
func (e *Engine) generalise(c *canonical) (*family, error) {
	o := c.outline()
	outline, places := string(o.w.buf), o.places
	f := e.families[outline]
	if f == nil {
		ops := keyWriter{buf: o.ops}
		ops.inputs(c.graph)
		f = &family{ops: string(ops.buf), class: make([]int, len(places))}
		for _, p := range places {
			f.first = append(f.first, p.value)
		}
		e.forgetFamily()
		e.families[outline] = f
	}
	f.used = e.clock
	if f.compiled == 0 && !e.opts.Numbers {
		return f, nil
	}
	f.split(places)
	if e.opts.Numbers {
		f.all(places)
	}
	if len(f.types) == 0 {
		return f, nil
	}
	if c.key = f.key(outline); c.key != f.plan {
		f.plan, f.arrays = c.key, nil
	}
	c.numbered = f
	return f, e.bind(c, f, places)
}

// holds says whether the family's plan is the one that these numbers are played by, as it is.
func (f *family) holds(places []place) bool {
	values := make([]uop.Value, len(f.types))
	seen := make([]bool, len(f.types))
	others := false
	for i, p := range places {
		others = others || p.value != f.first[i]
		k := f.class[i] - 1
		switch {
		case k < 0 && p.value != f.first[i], k >= 0 && seen[k] && p.value != values[k]: // they get arguments of their own
			return false
		case k >= 0:
			values[k], seen[k] = p.value, true
		}
	}
	return others // the first graph has a plan without arguments
}

// all makes an argument of every number.
func (f *family) all(places []place) {
	for i, p := range places {
		if f.class[i] == 0 {
			f.types = append(f.types, p.dtype)
			f.class[i] = len(f.types)
		}
	}
}

// forgetFamily gives up the family that was not used for the longest time, when there are too many.
func (e *Engine) forgetFamily() {
	if len(e.families) < maxPlans {
		return
	}
	oldest := ""
	for key, f := range e.families {
		if oldest == "" || f.used < e.families[oldest].used {
			oldest = key
		}
	}
	delete(e.families, oldest)
}

// slots gives each argument its array and its element there, and the arrays' types and lengths.
func (f *family) slots() (types []dtype.DType, n, slot, element []int) {
	for _, d := range f.types {
		i := 0
		for i < len(types) && types[i] != d {
			i++
		}
		if i == len(types) {
			types, n = append(types, d), append(n, 0)
		}
		slot, element = append(slot, i), append(element, n[i])
		n[i]++
	}
	return types, n, slot, element
}

// arguments are the elements of the arrays of the arguments.
func (f *family) arguments(places []place) (types []dtype.DType, elements [][]uop.Value) {
	types, n, slot, element := f.slots()
	values := make([][]uop.Value, len(types))
	for i := range values {
		values[i] = make([]uop.Value, n[i])
	}
	for i, p := range places {
		if k := f.class[i] - 1; k >= 0 {
			values[slot[k]][element[k]] = p.value
		}
	}
	return types, values
}

// bind puts the numbers of a graph into arrays, which become its last inputs.
func (e *Engine) bind(c *canonical, f *family, places []place) error {
	types, values := f.arguments(places)
	for i, d := range types {
		_, s, err := e.newBuffer(d, []int{len(values[i])})
		if err != nil {
			return err
		}
		c.inputs, c.numbers = append(c.inputs, s), append(c.numbers, s)
		if err := e.writeNumbers(s, d, values[i]); err != nil {
			return err
		}
	}
	return nil
}

// rebind is bind with the arrays that the family has for known graphs.
func (e *Engine) rebind(c *canonical, f *family, places []place) error {
	types, values := f.arguments(places)
	for i, d := range types {
		if i == len(f.arrays) {
			_, s, err := e.newBuffer(d, []int{len(values[i])})
			if err != nil {
				return err
			}
			f.arrays = append(f.arrays, s)
		}
		if err := e.writeNumbers(f.arrays[i], d, values[i]); err != nil {
			return err
		}
	}
	c.inputs = append(c.inputs, f.arrays...)
	return nil
}

func (e *Engine) writeNumbers(s *storage, d dtype.DType, values []uop.Value) error {
	if err := e.write(s, encode(d, values)); err != nil {
		return fmt.Errorf("write the numbers of a graph: %w", err)
	}
	return nil
}

// number puts arguments into the graph, where numbers were bound.
func (c *canonical) number() {
	f := c.numbered
	if f == nil {
		return
	}
	types, n, slot, element := f.slots()
	t := uop.NewArena()
	inputs := c.graph.Inputs
	roots := replaced(c, t, func(i int) *uop.UOp {
		k := f.class[i] - 1
		if k < 0 {
			return nil
		}
		s := slot[k]
		return t.Param(len(inputs)+s, n[s], types[s]).Shrink([]int{element[k]}, []int{element[k] + 1}).Reshape()
	})
	g := &schedule.Graph{Table: t, Inputs: inputs[:len(inputs):len(inputs)], Uniform: len(types)}
	for _, v := range c.graph.Vars {
		g.Vars = append(g.Vars, t.Make(uop.Var, v.DType(), v.Arg()))
	}
	for i, d := range types {
		g.Inputs = append(g.Inputs, schedule.Input{DType: d, N: n[i]})
	}
	for i, r := range c.graph.Roots {
		g.Roots = append(g.Roots, schedule.Root{Value: roots[i], Dest: r.Dest})
	}
	c.graph = g
}
