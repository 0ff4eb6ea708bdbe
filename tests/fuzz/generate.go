package fuzz

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// Generated is a program with what every value may be.
type Generated struct {
	Program *Program
	Want    [][]result // of each run, of each root
	Unknown int        // elements of the roots that may be anything
	Fixed   int        // elements that must be one number
	Total   int
	Broken  *Finding // an op that panicked while it was built
}

// result is what is known of a root, in each run.
type result struct {
	dtype  dtype.DType
	shape  []int
	bounds []bound
}

// generator makes a program op by op. Each op is carried out on graphs at once, which says its shape, and its bounds are
// computed, which says whether it is worth going on with.
type generator struct {
	*Rand
	prog    *Program
	state   *state
	info    []info
	exact   bool // prefer ops whose results are exact
	kinds   []dtype.DType
	budget  int
	flow    bool // assignments happen
	inMotif bool // inexact results are taken
	broken  *Finding
}

// info is what the generator knows of a value.
type info struct {
	dead    bool // not to be used any more
	none    bool // no value: realizeOp
	known   bool // no element is unknown
	fixed   bool // every element is one number
	most    float64
	leaf    bool
	index   bool         // a leaf of indices
	reach   map[int]bool // values that gradients can be asked for
	cut     map[int]bool // values behind something that was realized since
	reads   map[int]int  // mutable values that it depends on, and their versions
	version int          // of a mutable value
	real    bool         // was realized
}

// Size limits of values and programs.
const (
	maxElements = 3000
	maxRank     = 6
	maxOps      = 30
	effort      = 3_000_000 // elements that bounds are computed of, in all
)

// Generate makes the program of a seed. The default engine must be one that evaluates nothing while graphs are built.
func Generate(seed uint64) *Generated {
	g := &generator{Rand: newRand(seed), prog: &Program{Seed: seed, Options: OptionsOf(seed)}, state: newState(effort)}
	g.Uint64()
	g.settings()
	for range g.In(1, 3) {
		g.newLeaf(g.shape())
	}
	n := g.length()
	for tries := 0; g.ops() < n && tries < 12*n; tries++ {
		if g.state.eval.spent > effort/2 {
			break
		}
		g.step()
	}
	g.finish()
	return g.result()
}

// settings draws what holds for the whole program.
func (g *generator) settings() {
	g.exact = g.N(5) < 2
	switch g.N(10) {
	case 0, 1, 2, 3, 4:
		g.kinds = []dtype.DType{dtype.F32}
	case 5:
		g.kinds = []dtype.DType{dtype.F32, dtype.I32, dtype.Bool}
	case 6:
		g.kinds = []dtype.DType{dtype.I32, dtype.U32, dtype.U8, dtype.F32}
	case 7:
		g.kinds = []dtype.DType{dtype.F16, dtype.BF16, dtype.F32}
	case 8:
		g.kinds = []dtype.DType{dtype.F64, dtype.I64, dtype.F32}
	default:
		g.kinds = dtype.All
	}
	g.flow = g.One(6)
}

// OptionsOf are the options of a seed's program. Programs of the same options run in one process: an engine leaves its mark
// on nodes that read nothing, which all engines share.
func OptionsOf(seed uint64) (o Options) {
	r := newRand(seed ^ 0x6f7074696f6e73)
	switch r.N(12) {
	case 0:
		o.NoOpt = true
	case 1:
		o.StoreAll = true
	case 2:
		o.Moves = 1 + uint64(r.N(2))
	}
	return o
}

// length is how many ops the program is to have.
func (g *generator) length() int {
	switch g.N(10) {
	case 0, 1:
		return g.In(2, 5)
	case 2, 3:
		return g.In(4, 9)
	case 4, 5, 6:
		return g.In(8, 16)
	}
	return g.In(14, maxOps-4)
}

// ops counts the values that are no leaves.
func (g *generator) ops() int {
	n := 0
	for _, o := range g.prog.Ops {
		if o.Name != leafOp {
			n++
		}
	}
	return n
}

// t is the tensor of a value.
func (g *generator) t(v int) T { return g.state.values[v] }

func (g *generator) rank(v int) int         { return g.t(v).Rank() }
func (g *generator) dim(v, a int) int       { return g.t(v).Dim(a) }
func (g *generator) kind(v int) dtype.DType { return g.t(v).DType() }
func (g *generator) numel(v int) int        { return g.t(v).Numel() }

// axis is a random axis, sometimes counted from the end. Only values with axes are asked.
func (g *generator) axis(v int) int {
	a := g.N(g.rank(v))
	if g.One(4) {
		a -= g.rank(v)
	}
	return a
}

// size is a random size of an axis.
func (g *generator) size() int {
	if g.One(25) {
		return pick(g.Rand, 31, 33, 65, 100)
	}
	if g.One(60) {
		return 0
	}
	return pick(g.Rand, 1, 2, 2, 3, 3, 4, 5, 5, 7, 8, 9, 16, 17)
}

// shape is a random shape.
func (g *generator) shape() []int {
	s := make([]int, pick(g.Rand, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4))
	n := 1
	for i := range s {
		s[i] = g.size()
		for n*s[i] > 600 {
			s[i] = 1 + g.N(4)
		}
		n *= max(1, s[i])
	}
	return s
}

// fill is a random fill for leaves of a type.
func (g *generator) fill() Fill {
	if g.exact {
		return pick(g.Rand, Quarters, Quarters, Small, Signs, Halves, Counted, Small)
	}
	return pick(g.Rand, Smooth, Smooth, Smooth, Positive, Positive, Quarters)
}

// newLeaf adds a leaf of a random type.
func (g *generator) newLeaf(shape []int) int { return g.typedLeaf(pick(g.Rand, g.kinds...), shape) }

func (g *generator) typedLeaf(d dtype.DType, shape []int) int {
	f := g.fill()
	if g.One(40) {
		f = Edges
	}
	return g.leaf(&Leaf{Type: d, Shape: shape, Fill: f})
}

// places is a leaf of indices into n places.
func (g *generator) places(n int, shape ...int) int {
	v := g.leaf(&Leaf{Type: pick(g.Rand, dtype.I32, dtype.I32, dtype.I64), Shape: shape, Fill: Places, Top: n})
	g.info[v].index = true
	return v
}

func (g *generator) leaf(l *Leaf) int {
	l.Seed = g.Uint64() >> 32
	g.prog.Ops = append(g.prog.Ops, Op{Name: leafOp, Leaf: l})
	v := len(g.prog.Ops) - 1
	g.state.leaf(l, 0, true)
	g.info = append(g.info, info{})
	g.learn(v)
	g.info[v].leaf = true
	g.info[v].reach = map[int]bool{v: true}
	return v
}

// choose is an operand: most often a late one, so that ops stand one upon the other, often one that is used already.
func (g *generator) choose() int {
	for {
		n := len(g.prog.Ops)
		v := 0
		switch g.N(8) {
		case 0, 1, 2, 3:
			v = n - 1
		case 4, 5:
			v = n - 1 - g.N(min(n, 4))
		default:
			v = g.N(n)
		}
		for v >= 0 && !g.usable(v) {
			v--
		}
		if v >= 0 {
			return v
		}
		g.newLeaf(g.shape())
	}
}

func (g *generator) usable(v int) bool {
	i := &g.info[v]
	return !i.dead && !i.none && (!i.index || g.One(6))
}

// step tries to add an op.
func (g *generator) step() {
	if len(g.prog.Ops) > 3*maxOps {
		return
	}
	before := len(g.prog.Ops)
	o, ok := Op{}, false
	g.inMotif = false
	err := tensor.Try(func() { o, ok = g.propose() })
	if err != nil || !ok || !g.try(o) {
		g.drop(before)
	}
}

// drop takes values back that were made for an op that came to nothing.
func (g *generator) drop(n int) {
	g.prog.Ops, g.info, g.state.values = g.prog.Ops[:n], g.info[:n], g.state.values[:n]
}

// try adds an op unless it does not fit, or leads nowhere.
func (g *generator) try(o Op) bool {
	n := len(g.prog.Ops)
	switch {
	case o.mutates():
		return g.mutate(o)
	case o.Name == realizeOp:
		return g.realize(o)
	}
	if err := g.state.apply(&o, 0); err != nil {
		var b *Broken
		if errors.As(err, &b) && g.broken == nil {
			g.broken = &Finding{Seed: g.prog.Seed, What: Panics, Text: b.Error(), Program: g.prog.clone()}
			g.broken.Program.Ops = append(g.broken.Program.Ops, o)
		}
		return false
	}
	t := g.state.values[n]
	if slices.Contains(g.state.values[:n], t) || t.Numel() > maxElements || t.Rank() > maxRank || t.Numel() == 0 && !g.One(10) {
		g.drop(n)
		return false
	}
	g.prog.Ops = append(g.prog.Ops, o)
	g.info = append(g.info, info{})
	if !g.learn(n) || !g.worth(n) {
		g.drop(n)
		return false
	}
	g.inherit(n, &o)
	return true
}

// learn computes the bounds of a value.
func (g *generator) learn(v int) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, much := p.(tooMuch); !much {
				panic(p)
			}
			g.state.eval.spent -= effort / 4
			ok = false
		}
	}()
	i := &g.info[v]
	d := g.kind(v)
	i.known, i.fixed, i.most = true, true, 0
	for _, b := range g.state.bounds(v) {
		if isUnknown(d, b) && d != dtype.Bool || d == dtype.Bool && b.lo != b.hi {
			i.known = false
		}
		if d.IsFloat() {
			i.fixed = i.fixed && b.fixed()
			i.most = max(i.most, math.Abs(b.flo()), math.Abs(b.fhi()))
		} else {
			i.fixed = i.fixed && b.lo == b.hi
			if d != dtype.U64 {
				i.most = max(i.most, math.Abs(float64(b.lo.Int())))
			}
		}
	}
	return true
}

// worth says whether a value can be compared well and gone on with.
func (g *generator) worth(v int) bool {
	i := &g.info[v]
	switch {
	case !i.known && !g.One(20),
		g.exact && !g.inMotif && !i.fixed && !g.One(5),
		i.most > 1<<20 && !g.One(16),
		g.kind(v) == dtype.F16 && i.most > 1<<10 && !g.One(4):
		return false
	}
	return true
}

// inherit notes what a new value depends on.
func (g *generator) inherit(v int, o *Op) {
	i := &g.info[v]
	i.reach, i.cut, i.reads = map[int]bool{}, map[int]bool{}, map[int]int{}
	for _, x := range o.operands() {
		from := &g.info[x]
		for r := range from.reach {
			i.reach[r] = true
		}
		for r := range from.cut {
			i.cut[r] = true
		}
		for s, n := range from.reads {
			i.reads[s] = n
		}
		if from.version > 0 || from.leaf {
			i.reads[x] = from.version
		}
	}
	if g.kind(v).IsFloat() {
		i.reach[v] = true
	}
}

// mutate carries an assignment out. What was built before keeps the old content.
func (g *generator) mutate(o Op) bool {
	target := o.Args[0].N
	if !g.info[target].leaf || g.info[target].index {
		return false
	}
	n := len(g.prog.Ops)
	old := g.state.values[target].Node()
	if err := g.state.apply(&o, 0); err != nil {
		return false
	}
	g.prog.Ops = append(g.prog.Ops, o)
	g.info = append(g.info, info{})
	if !g.learn(n) || !g.info[n].known {
		g.drop(n)
		g.state.values[target] = tensor.FromNode(old, g.state.values[target].Engine())
		g.info[target].dead = true // its handle is another one now
		return false
	}
	i := &g.info[n]
	g.info[target].version++
	i.none, i.dead = true, true // the target is the value
	g.info[target].reach, g.info[target].cut = map[int]bool{}, map[int]bool{}
	g.info[target].known, g.info[target].fixed, g.info[target].most = i.known, i.fixed, i.most
	return true
}

// realize adds a place where some values are realized. What was built on an assigned value before must not be realized
// later.
func (g *generator) realize(o Op) bool {
	vs := o.operands()
	n := len(g.prog.Ops)
	if err := g.state.apply(&o, 0); err != nil {
		return false
	}
	g.prog.Ops = append(g.prog.Ops, o)
	g.info = append(g.info, info{none: true})
	if !g.learnAgain(vs) {
		g.drop(n)
		return false
	}
	for _, v := range vs {
		i := &g.info[v]
		i.real = true
		if i.leaf && i.version > 0 {
			g.stale(v, vs)
		}
		i.cut, i.reach = union(i.cut, i.reach), map[int]bool{}
		if !i.leaf {
			i.reads = map[int]int{}
		}
	}
	return true
}

func (g *generator) learnAgain(vs []int) bool {
	for _, v := range vs {
		if !g.learn(v) {
			return false
		}
	}
	return true
}

// stale gives up the values that read what a mutable value was before, unless they are realized with it.
func (g *generator) stale(state int, with []int) {
	for v := range g.info {
		if n, reads := g.info[v].reads[state]; reads && n < g.info[state].version && !slices.Contains(with, v) && !g.info[v].real {
			g.info[v].dead = true
		}
	}
}

func union(a, b map[int]bool) map[int]bool {
	out := map[int]bool{}
	for v := range a {
		out[v] = true
	}
	for v := range b {
		out[v] = true
	}
	return out
}

// finish chooses the roots, how they are realized, and whether the program is captured.
func (g *generator) finish() {
	var more []int
	if g.One(2) {
		more = g.backward()
	}
	var live, mutable []int
	for v := range g.info {
		i := &g.info[v]
		if i.leaf && i.version > 0 && !i.dead {
			mutable = append(mutable, v)
		}
		if !i.dead && !i.none && !i.leaf {
			live = append(live, v)
		}
	}
	if len(live) == 0 {
		g.prog.Ops = append(g.prog.Ops, Op{Name: "Neg", Args: []Arg{val(0)}})
		if g.state.apply(&g.prog.Ops[len(g.prog.Ops)-1], 0) != nil {
			g.drop(len(g.prog.Ops) - 1)
			g.prog.Ops = g.prog.Ops[:len(g.prog.Ops)-1]
			live = []int{0}
		} else {
			live = []int{len(g.prog.Ops) - 1}
		}
	}
	roots := g.sinks(live)
	for range g.N(3) {
		if v := pick(g.Rand, live...); !slices.Contains(roots, v) {
			roots = append(roots, v)
		}
	}
	for _, v := range slices.Concat(mutable, more) {
		if !slices.Contains(roots, v) {
			roots = append(roots, v)
		}
	}
	g.prog.Parts = [][]int{roots}
	if len(roots) > 1 && len(mutable) == 0 && g.One(2) {
		g.prog.Parts = nil
		order := g.Perm(len(roots))
		for len(order) > 0 {
			n := g.In(1, len(order))
			var part []int
			for _, i := range order[:n] {
				part = append(part, roots[i])
			}
			g.prog.Parts, order = append(g.prog.Parts, part), order[n:]
		}
	}
	if g.One(5) {
		g.capture()
	}
	g.prog.prune()
}

// backward asks for the gradients of a late value for several that it depends on, all at once.
func (g *generator) backward() []int {
	for v := len(g.prog.Ops) - 1; v >= 0; v-- {
		i := &g.info[v]
		if i.dead || i.none || i.leaf || !g.kind(v).IsFloat() || g.One(4) {
			continue
		}
		var to []int
		for _, x := range g.sources(v) {
			if g.info[x].leaf || g.One(4) {
				to = append(to, x)
			}
		}
		if len(to) == 0 {
			continue
		}
		y := v
		if g.numel(y) != 1 {
			o, _ := on("Sum", y, list())
			if !g.add(o) {
				continue
			}
			y = len(g.prog.Ops) - 1
		}
		to = to[:min(len(to), 3)]
		var out []int
		for k := range to {
			if g.add(Op{Name: gradOp, Args: []Arg{val(y), vals(to...)}, Out: k}) {
				out = append(out, len(g.prog.Ops)-1)
			}
		}
		return out
	}
	return nil
}

// sources are the values that a gradient of y can be asked for: y depends on them, and nothing on the way was realized.
func (g *generator) sources(y int) []int {
	i := &g.info[y]
	if len(i.cut) > 0 || i.real {
		return nil
	}
	var to []int
	for x := range g.prog.Ops {
		if i.reach[x] && x != y && g.kind(x).IsFloat() && g.info[x].version == 0 && (!g.info[x].real || g.info[x].leaf) && !g.info[x].dead {
			to = append(to, x)
		}
	}
	return to
}

// sinks are the last values that no other reads, a few.
func (g *generator) sinks(live []int) []int {
	used := map[int]bool{}
	for _, o := range g.prog.Ops {
		if o.Name != realizeOp {
			for _, v := range o.operands() {
				used[v] = true
			}
		}
	}
	roots := []int{live[len(live)-1]}
	for _, v := range slices.Backward(live[:len(live)-1]) {
		if !used[v] && len(roots) < 5 {
			roots = append(roots, v)
		}
	}
	return roots
}

// capture makes leaves inputs of a captured function. Nothing in it is realized on the way.
func (g *generator) capture() {
	for i := range g.prog.Ops {
		if g.prog.Ops[i].Name == realizeOp {
			return
		}
	}
	for v := range g.info {
		if g.info[v].leaf && g.info[v].version == 0 && !g.info[v].dead && (len(g.prog.Inputs) == 0 || g.One(2)) {
			g.prog.Inputs = append(g.prog.Inputs, v)
		}
	}
	if len(g.prog.Inputs) > 0 {
		g.prog.Runs = 3
	}
}

// result computes what the program may give, run by run.
func (g *generator) result() *Generated {
	out, err := Expect(g.prog)
	if err != nil {
		panic(fmt.Sprintf("BUG: seed %d: %v", g.prog.Seed, err))
	}
	out.Broken = g.broken
	return out
}

// Expect computes what each root of a program may be.
func Expect(p *Program) (out *Generated, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(tooMuch); !ok {
				panic(r)
			}
			err = fmt.Errorf("too large")
		}
	}()
	out = &Generated{Program: p}
	s := newState(4 * effort)
	for run := range max(1, p.Runs) {
		if err := s.play(p, run); err != nil {
			return nil, err
		}
		var rs []result
		for _, v := range p.roots() {
			t := s.values[v]
			b := s.bounds(v)
			rs = append(rs, result{t.DType(), t.Shape(), b})
			out.count(t.DType(), b)
		}
		out.Want = append(out.Want, rs)
	}
	return out, nil
}

func (g *Generated) count(d dtype.DType, bs []bound) {
	g.Total += len(bs)
	for _, b := range bs {
		switch {
		case isUnknown(d, b):
			g.Unknown++
		case b.lo == b.hi, d.IsFloat() && b.fixed():
			g.Fixed++
		}
	}
}

// state is a program being built as graphs that nothing computes: a realized value loses its history by Detach.
type state struct {
	values []T
	eval   *evaluator
}

func newState(limit int) *state { return &state{eval: newEvaluator(limit)} }

func (s *state) bounds(v int) []bound { return s.eval.of(s.values[v].Node()) }

// leaf adds a leaf.
func (s *state) leaf(l *Leaf, run int, add bool) T {
	v := l.values(run)
	t := tensor.FromBytes(l.Type, l.Shape, raw(l.Type, v))
	s.eval.set(t.Node(), v)
	if add {
		s.values = append(s.values, t)
	}
	return t
}

// play builds a whole program for a run. What is no input stays from run to run.
func (s *state) play(p *Program, run int) error {
	first := run == 0
	if first {
		s.values = nil
	}
	old := s.values
	s.values = nil
	for i := range p.Ops {
		o := &p.Ops[i]
		if o.Name == leafOp {
			if !first && !slices.Contains(p.Inputs, i) {
				s.values = append(s.values, old[i])
				continue
			}
			s.leaf(o.Leaf, run, true)
			continue
		}
		if err := s.apply(o, run); err != nil {
			return err
		}
	}
	return nil
}

// apply builds an op.
func (s *state) apply(o *Op, run int) error {
	if o.Name == realizeOp {
		for _, v := range o.operands() {
			old := s.values[v]
			for i, t := range s.values { // one tensor may be several values
				if t == old {
					s.values[i] = detached(old)
				}
			}
		}
		s.values = append(s.values, nil)
		return nil
	}
	t, err := attempt(o, s.values)
	if err == nil {
		s.values = append(s.values, t)
	}
	return err
}

// Broken is a panic that is no error in words: a bug in what builds graphs.
type Broken struct {
	Op    string
	Panic string
}

func (e *Broken) Error() string { return e.Op + " panics: " + e.Panic }

// attempt carries an op out; every panic is an error.
func attempt(o *Op, values []T) (t T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Broken{o.Name, fmt.Sprint(p)}
		}
	}()
	err = tensor.Try(func() { t = call(o, values) })
	return t, err
}

// detached has no history, like something realized. A leaf, which is in memory, stays what it is.
func detached(t T) T {
	u := t.Node()
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	if u.Op() == uop.Buffer || u.Op() == uop.After {
		return t
	}
	return t.Detach()
}

var background = context.Background()

// prune drops what nothing needs, and numbers the values anew.
func (p *Program) prune() {
	need := make([]bool, len(p.Ops))
	for _, v := range p.roots() {
		need[v] = true
	}
	for changed := true; changed; {
		changed = false
		for i := len(p.Ops) - 1; i >= 0; i-- {
			o := &p.Ops[i]
			switch {
			case o.mutates() && need[o.Args[0].N], o.Name == realizeOp && slices.ContainsFunc(o.operands(), func(v int) bool { return need[v] }):
				changed = changed || !need[i]
				need[i] = true
			}
			if !need[i] || o.Name == realizeOp {
				continue
			}
			for _, v := range o.operands() {
				changed = changed || !need[v]
				need[v] = true
			}
		}
	}
	to := make([]int, len(p.Ops))
	var ops []Op
	for i, o := range p.Ops {
		if !need[i] {
			continue
		}
		if o.Name == realizeOp {
			o.Args = slices.DeleteFunc(slices.Clone(o.Args), func(a Arg) bool { return !need[a.N] })
		}
		to[i] = len(ops)
		ops = append(ops, o.rename(func(v int) int { return to[v] }))
	}
	p.Ops = ops
	for _, part := range p.Parts {
		for i, v := range part {
			part[i] = to[v]
		}
	}
	p.Inputs = slices.DeleteFunc(p.Inputs, func(v int) bool { return !need[v] })
	for i, v := range p.Inputs {
		p.Inputs[i] = to[v]
	}
	if len(p.Inputs) == 0 {
		p.Runs = 0
	}
}
