package tensor

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/uop"
)

// onlyName is the name of a function that was saved by itself.
const onlyName = "main"

// Save writes the captured function to a file for LoadCaptured: what it computes, the shapes, types and names of its inputs and results, its
// variables with their bounds, and the elements of all tensors that it uses or assigns, as they are now. Where it draws random
// numbers, the state of their generator goes with it; values that With gave stay behind. Nothing may assign these tensors meanwhile.
func (c *Captured) Save(ctx context.Context, w io.Writer) error {
	return SaveFunctions(ctx, w, map[string]*Captured{onlyName: c})
}

// SaveFunctions writes captured functions of one device to a file for LoadFunctions, by name. Tensors and generators that several of them use,
// such as the weights that one trains and another reads, are one there too.
func SaveFunctions(ctx context.Context, w io.Writer, functions map[string]*Captured) error {
	p, elements, err := Program(ctx, functions)
	if err != nil {
		return err
	}
	return saved.Write(w, p, elements)
}

// LoadCaptured makes a captured function of a file of Save, on a device ("": the default one), whichever it was saved on. It goes on where the
// saved one stood, and gives the same bits on the same kind of device. It assigns tensors of its own: see States.
//
// A file needs no trust: it has no code, and what it says is checked and compiled as if it had been captured here. It can
// ask for more memory or time than there is, as any computation can.
func LoadCaptured(ctx context.Context, r io.Reader, device string) (*Captured, error) {
	all, err := LoadFunctions(ctx, r, device)
	if err != nil {
		return nil, err
	}
	if c := all[onlyName]; c != nil && len(all) == 1 {
		return c, nil
	}
	return nil, fmt.Errorf("tensor: LoadCaptured: the file has the functions %q; load it with LoadFunctions", slices.Sorted(maps.Keys(all)))
}

// LoadFunctions makes captured functions of a file of SaveFunctions, or of Save, where the name is "main".
func LoadFunctions(ctx context.Context, r io.Reader, device string) (map[string]*Captured, error) {
	f, err := saved.Read(r)
	if err != nil {
		return nil, fmt.Errorf("tensor: LoadFunctions: %w", err)
	}
	e, err := engine.UseContext(ctx, device)
	if err != nil {
		return nil, err
	}
	l := loader{file: f, eng: e, arrays: make([]*Tensor, len(f.Arrays))}
	err = f.Contents(func(i int, elements []byte) error {
		u, err := e.FromBytes(f.Arrays[i].DType, []int{f.Arrays[i].N}, elements)
		if err == nil {
			l.arrays[i] = newTensor(u, e)
			l.arrays[i].owned.Store(true)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("tensor: LoadFunctions: %w", err)
	}
	for _, g := range f.Generators {
		l.generators = append(l.generators, &Generator{state: GeneratorState(g)})
	}
	out := map[string]*Captured{}
	for i := range f.Functions {
		if out[f.Functions[i].Name], err = l.load(ctx, &f.Functions[i]); err != nil {
			return nil, fmt.Errorf("tensor: LoadFunctions: function %q: %w", f.Functions[i].Name, err)
		}
	}
	return out, nil
}

// loader makes captured functions over the arrays of a file.
type loader struct {
	file       *saved.File
	eng        *engine.Engine
	arrays     []*Tensor
	generators []*Generator
}

func (l *loader) load(ctx context.Context, f *saved.Function) (*Captured, error) {
	c := &Captured{eng: l.eng, past: make([]outcome, len(f.Results))}
	for _, in := range f.Inputs {
		c.shapes, c.types = append(c.shapes, in.Shape), append(c.types, in.DType)
		c.names.inputs = append(c.names.inputs, in.Name)
	}
	for _, r := range f.Results {
		c.sizes = append(c.sizes, r.Sizes)
		c.names.results = append(c.names.results, r.Name)
	}
	array := func(slot int) *Tensor { return l.arrays[f.Arrays[slot-len(f.Inputs)]] }
	for _, t := range f.Targets {
		if t.Dest >= 0 {
			x := array(t.Dest)
			x.graph.Store(x.node().Reshape(t.Shape...))
			c.states = append(c.states, x)
		}
	}
	var renewals []engine.Renewal
	for _, d := range f.Draws {
		renewals = append(renewals, draw{l.generators[d.Generator], d.Words}.renewal(array(d.Slot).node()))
	}
	var leaves []*uop.UOp
	for _, a := range f.Arrays {
		leaves = append(leaves, l.arrays[a].node())
	}
	var err error
	c.plan, err = l.eng.Restore(ctx, f, leaves, renewals)
	return c, err
}

// Program is what SaveFunctions writes, and what gives the elements of its arrays, for packages that write it in another form.
func Program(ctx context.Context, functions map[string]*Captured) (*saved.Program, func(i int) ([]byte, error), error) {
	s := &saver{p: &saved.Program{}, numbers: map[int]int{}, generators: map[*Generator]int{}}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if err := s.add(name, functions[name]); err != nil {
			return nil, nil, err
		}
	}
	if len(functions) == 0 {
		return nil, nil, &ArgumentError{Op: "SaveFunctions", Reason: "there is no function to save", At: caller()}
	}
	read := func(i int) ([]byte, error) {
		u := engine.Current(s.arrays[i])
		raw := make([]byte, u.Shape().Numel()*u.DType().Size())
		return raw, s.eng.Read(ctx, u, raw)
	}
	return s.p, read, nil
}

// saver collects functions, and the arrays that they share.
type saver struct {
	p          *saved.Program
	eng        *engine.Engine
	arrays     []*uop.UOp
	numbers    map[int]int // of arrays, by key
	generators map[*Generator]int
}

func (s *saver) add(name string, c *Captured) error {
	if c == nil {
		return &ArgumentError{Op: "SaveFunctions", Reason: fmt.Sprintf("function %q is nil", name), At: caller()}
	}
	if c.plan.Crosses() {
		return &ArgumentError{Op: "SaveFunctions", Reason: fmt.Sprintf("function %q computes on several devices, with copies between them, which a file does not hold; capture each device's part by itself", name), At: caller()}
	}
	if s.eng == nil {
		s.eng = c.eng
	}
	if c.eng != s.eng {
		return &ArgumentError{Op: "SaveFunctions", Reason: fmt.Sprintf("function %q runs on %s and another on %s; save each by itself", name, c.eng.Name(), s.eng.Name()), At: caller()}
	}
	f, arrays, renewals, slots := c.plan.Saved()
	f.Name = name
	for i := range f.Inputs {
		f.Inputs[i].Name = c.InputName(i)
	}
	// What the function assigned comes after what it returned.
	f.Results = f.Results[:len(c.sizes)]
	for i := range f.Results {
		f.Results[i].Name, f.Results[i].Sizes = c.ResultName(i), c.sizes[i]
	}
	for _, a := range arrays {
		f.Arrays = append(f.Arrays, s.number(a))
	}
	for i, t := range f.Targets {
		for _, state := range c.states {
			if t.Dest >= 0 && key(state.node()) == key(arrays[t.Dest-len(f.Inputs)]) {
				f.Targets[i].Shape = state.room()
			}
		}
	}
	for i, r := range renewals {
		d, ok := r.From.(draw)
		if !ok {
			return fmt.Errorf("BUG: a renewal of %T", r.From)
		}
		f.Draws = append(f.Draws, saved.Draw{Slot: slots[i], Generator: s.generator(d.from), Words: d.n})
	}
	s.p.Functions = append(s.p.Functions, f)
	return nil
}

// number is that of an array in the file.
func (s *saver) number(a *uop.UOp) int {
	i, ok := s.numbers[key(a)]
	if !ok {
		i = len(s.arrays)
		s.numbers[key(a)] = i
		s.arrays = append(s.arrays, a)
		s.p.Arrays = append(s.p.Arrays, saved.Array{DType: a.DType(), N: a.Shape().Numel()})
	}
	return i
}

func (s *saver) generator(g *Generator) int {
	i, ok := s.generators[g]
	if !ok {
		i = len(s.p.Generators)
		s.generators[g] = i
		s.p.Generators = append(s.p.Generators, saved.Generator(g.State()))
	}
	return i
}

// names are what inputs and results are called.
type names struct{ inputs, results []string }

// Named is the captured function with names for its inputs and results, which a file keeps and a page calls them by; without them
// they are in0, in1, … and out0, out1, …
func (c *Captured) Named(inputs, results []string) *Captured {
	if len(inputs) != len(c.shapes) || len(results) != len(c.sizes) {
		failArg("Named", "%d and %d names for %d inputs and %d results", len(inputs), len(results), len(c.shapes), len(c.sizes))
	}
	for _, list := range [][]string{inputs, results} {
		for i, n := range list {
			if n == "" || slices.Contains(list[:i], n) {
				failArg("Named", "the name %q is empty or comes twice", n)
			}
		}
	}
	d := *c
	d.names = names{slices.Clone(inputs), slices.Clone(results)}
	return &d
}

// InputName is what input i is called.
func (c *Captured) InputName(i int) string { return nameOf(c.names.inputs, "in", i) }

// ResultName is what result i is called.
func (c *Captured) ResultName(i int) string { return nameOf(c.names.results, "out", i) }

// ResultShapes gives the sizes of each result, and nil for one whose sizes vary: of that each run's result tells them.
func (c *Captured) ResultShapes() [][]int {
	out := make([][]int, len(c.sizes))
	for i, sizes := range c.sizes {
		if sizes == nil {
			shape, _ := c.plan.Result(i)
			out[i] = append([]int{}, shape...)
		}
	}
	return out
}

func nameOf(list []string, kind string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return fmt.Sprint(kind, i)
}

// States are the tensors that the function assigns. Those of a function that was loaded are its own, or of the functions that were loaded with it.
func (c *Captured) States() []*Tensor { return slices.Clone(c.states) }
