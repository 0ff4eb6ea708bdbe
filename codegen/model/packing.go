package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// An operand whose lanes lie apart is staged: each run of a kernel brings it into the order in which the kernel walks. An operand that
// is the same in every run can lie in that order from the start. Who knows which operands those are asks here what order that is; the
// kernel then loads lanes densely, one block of them after the other, and needs to stage nothing.

// Packing is the order in which a kernel would like an array to lie. The array is the same for every target that asks for it; what it
// costs is as much memory as the array takes.
type Packing struct {
	Param int   // of the Spec
	Dims  []int // how the kernel sees the array now: axes in the order in which they lie,
	Flips []int // of which it walks these from their ends
	Lanes int   // the axis that goes to lanes
	Block int   // of how many of its elements lie together; a divisor of its size
	Order []int // the axes from the outermost; Lanes stands where its blocks do, and what is within a block comes last
	Steps int   // the axis of which Word elements lie behind those of a block, one word for each lane;
	Word  int   // a divisor of its size; 0: there is none
	Gain  float64
	Once  bool // the kernel reads each element once in a run, so that the copy takes much memory for what it saves
}

// Same says whether two kernels want the same order.
func (p *Packing) Same(q *Packing) bool {
	return p.Lanes == q.Lanes && p.Block == q.Block && p.Steps == q.Steps && p.Word == q.Word && slices.Equal(p.Dims, q.Dims) && slices.Equal(p.Flips, q.Flips) && slices.Equal(p.Order, q.Order)
}

// packingGain is the part of a kernel's time that has to be saved by an operand of other order.
const packingGain = 0.05

// Packings lists the operands that a kernel would rather find in another order, of those that may have one: constant says of which
// parameters that holds.
func Packings(spec *codegen.Spec, target *codegen.Target, constant func(param int) bool) (out []*Packing) {
	if target.Grid || target.NoOpt {
		return nil
	}
	defer affine.FewLoops(func() { out = nil })
	k := nest.New(spec, target)
	if len(k.Groups) == 0 || !k.Scanned.Empty() {
		return nil
	}
	last := k.Groups[len(k.Groups)-1]
	if !k.Threaded(last) {
		return nil
	}
	c := &chooser{view: viewOf(k, last), spec: spec}
	if (&blocker{c}).blocks() != nil {
		return nil
	}
	return (&tiler{chooser: c}).packings(constant)
}

// packings compares the best tiling as arrays lie with the best one if those that are staged may lie otherwise.
func (c *tiler) packings(constant func(param int) bool) (out []*Packing) {
	now := c.tiled()
	if now == nil {
		return nil
	}
	directives := now.directives()
	if words := c.inWords(now, constant); words != nil {
		return words
	}
	if streams := now.streams(constant); streams != nil {
		return streams
	}
	if now.t.along || len(now.packs)+len(now.boxes) == 0 || len(now.broaden(directives)) != len(directives) {
		return nil // as they lie, arrays are read as fast; or blocks of lanes share what is staged of the other operand
	}
	var may []*access
	for _, l := range now.t.r.loads {
		if c.mayLieOtherwise(l, constant) {
			may = append(may, l)
		}
	}
	if len(may) == 0 {
		return nil
	}
	cost := now.t.cost + now.sharedLines()
	for _, l := range now.packs {
		if s, _ := c.stride(l, now.t.v); s == 1 {
			cost += stageDense * float64(c.count(l.free))
		}
	}
	c.anyOrder = may
	then, least := c.reordering(may)
	if then == nil || !(1-least/cost >= packingGain) {
		return nil
	}
	for _, l := range may {
		if p := then.packing(l); p != nil {
			p.Gain = 1 - least/cost
			out = append(out, p)
		}
	}
	return out
}

// inWords lists the operand that is better multiplied in words of its steps that lie in the order of lanes, where now is the best tiling as arrays lie.
func (c *tiler) inWords(now *arranger, constant func(param int) bool) []*Packing {
	if words, _ := c.dottable(now.t); words == nil || !c.Target.WordLoads || c.Target.Matrix != nil && c.matrix() != nil {
		return nil
	}
	for _, l := range now.t.r.loads {
		if l.wide == nil || !c.constantAlone(l, constant) || c.ofWords(now.t, l) {
			continue
		}
		c.anyOrder = []*access{l}
		then := c.tiled()
		c.anyOrder = nil
		if then == nil {
			continue
		}
		cost := now.t.cost
		if !now.t.along && c.depends(l, now.t.v) { // they are made in each run
			cost += stageWord * float64(c.count(l.free))
		}
		if q := then.wordPacking(l); q != nil && 1-then.t.cost/cost >= packingGain {
			q.Gain = 1 - then.t.cost/cost
			return []*Packing{q}
		}
	}
	return nil
}

// wordPacking is the order of lanes and words for an operand, or nil.
func (p *arranger) wordPacking(l *access) *Packing {
	words, dots := p.dottable(p.t)
	if words == nil || p.t.along || !p.depends(l, p.t.v) || codegen.Extent(words)%dots.N != 0 || l.bytes*dots.N != 4 {
		return nil
	}
	i := slices.IndexFunc(dots.Factors[:], func(f nest.Factor) bool { return f.Load() == l.u })
	q := p.walked(l)
	if i < 0 || q == nil || dots.SumOf(i) || q.Block%p.t.lanes != 0 {
		return nil
	}
	terms := p.layoutOf(l)
	q.Steps = slices.IndexFunc(terms, func(t affine.Term) bool { return t.Node == words })
	if q.Steps < 0 {
		return nil
	}
	q.Word, q.Once = dots.N, p.reuse(p.t.r, l) == 1
	other := p.t.r.loads[slices.IndexFunc(p.t.r.loads, func(l *access) bool { return l.u == dots.Factors[1-i].Load() })]
	if p.partOf(words, terms, q.Steps, other) {
		q.join(q.Steps - 1)
	}
	return q
}

// partOf says that a sum's steps are a part of some that threads share (Target.WholeRows), in both factors: terms are those of one. Of words that lie
// in the order of lanes there are no such parts.
func (p *arranger) partOf(words *uop.UOp, terms []affine.Term, at int, other *access) bool {
	if at == 0 || terms[at-1].Coef != terms[at].Coef*codegen.Extent(words) || slices.Contains(p.t.r.ranges, terms[at-1].Node) || terms[at-1].Node == p.t.v {
		return false
	}
	step, ok := p.stride(other, words)
	part, known := p.stride(other, terms[at-1].Node)
	return ok && known && step != 0 && part == step*codegen.Extent(words)
}

// join makes one axis of two that follow each other, and are walked from their ends or not alike.
func (p *Packing) join(i int) {
	p.Dims[i+1] *= p.Dims[i]
	p.Dims = slices.Delete(p.Dims, i, i+1)
	gone := func(a int) bool { return a == i }
	p.Order, p.Flips = slices.DeleteFunc(p.Order, gone), slices.DeleteFunc(p.Flips, gone)
	for _, list := range [][]int{p.Order, p.Flips} {
		for k, a := range list {
			if a > i {
				list[k]--
			}
		}
	}
	if p.Steps--; p.Lanes > i {
		p.Lanes--
	}
}

// stageWord is what it takes to put a number into a word, in cycles of products of single numbers.
const stageWord = 2

// mayLieOtherwise says that an operand is the same in every run, and that nothing else reads its array.
func (c *tiler) mayLieOtherwise(l *access, constant func(param int) bool) bool {
	return l.wide == nil && c.constantAlone(l, constant)
}

func (c *tiler) constantAlone(l *access, constant func(param int) bool) bool {
	alone := !slices.ContainsFunc(c.loads, func(x *access) bool { return x != l && x.u.At(0) == l.u.At(0) })
	return constant(l.u.At(0).Arg().(uop.ParamArg).Slot) && alone && l.plain && !l.gated && c.layoutOf(l) != nil
}

// streams lists the operands that come from memory and are read once, some rows at a time: they may lie so that a block of lanes is one stream.
func (p *arranger) streams(constant func(param int) bool) (out []*Packing) {
	if !p.Target.OneStream || p.t.along || len(p.packs)+len(p.boxes) > 0 || !p.scattered(p.t.r, p.t.v, 1) {
		return nil
	}
	for _, l := range p.t.r.loads {
		if !p.dense(l, p.t.v) || !p.mayLieOtherwise(l, constant) {
			continue
		}
		if q := p.packing(l); q != nil && q.Block < codegen.Extent(p.t.v) {
			if most := 4 * p.t.lanes; codegen.Extent(p.t.v)%most == 0 {
				q.Block = most
			} else if len(p.serial) > 1 || len(p.inner) > 0 { // several rows would go through it in parts of a block
				continue
			}
			q.Gain, q.Once = streamGain, true
			out = append(out, q)
		}
	}
	return out
}

// streamGain is the part of the time that one stream saves, about, where rows are read.
const streamGain = 0.4

// reordering is the best tiling where some operands may lie in any order, and its cost: in blocks of lanes that are all whole, or in rows
// of all lanes, which are staged where many results are made of them.
func (c *tiler) reordering(may []*access) (best *arranger, least float64) {
	for _, c.wholeBlocks = range []bool{true, false} {
		p := c.tiled()
		if p == nil || p.t.along {
			continue
		}
		cost := p.t.cost + p.sharedLines()
		for _, l := range may {
			if c.wholeBlocks || !c.depends(l, p.t.v) {
				continue
			}
			if row := codegen.Extent(p.t.v) * l.bytes; row > longestRow && p.packingBlock() == codegen.Extent(p.t.v) {
				cost = math.Inf(1)
			}
			if p.oftenRead(l) {
				cost += stageDense * float64(c.count(l.free))
			}
		}
		if best == nil || cost < least {
			best, least = p, cost
		}
	}
	return best, least
}

// sharedLines is what the lines take that each step brings from the second cache of operands that all lanes share, in cycles: where they lie
// apart along the reduction and the first one does not hold what a block of results needs of them.
func (p *arranger) sharedLines() (cost float64) {
	block := p.t.lanes * p.t.u * p.t.held(every)
	for _, l := range p.t.r.loads {
		if p.depends(l, p.t.v) || l.gated || !l.plain {
			continue
		}
		rows, apart, instances, span := 1, true, 1, 0
		for _, x := range p.t.r.ranges {
			if s, _ := p.stride(l, x); s != 0 {
				rows, apart = rows*codegen.Extent(x), apart && codegen.Abs(s)*l.bytes >= 64
			}
		}
		for i, a := range p.t.axes {
			if s, _ := p.stride(l, a); s != 0 {
				instances, span = instances*p.t.n[i], span+(p.t.n[i]-1)*codegen.Abs(s)*l.bytes
			}
		}
		lines := min(float64(instances), 1+float64(span)/64)
		if apart && rows*int(64*lines) > p.Target.L1/2 {
			cost += sharedLine * lines * float64(p.t.r.work) / float64(block)
		}
	}
	return cost
}

// sharedLine is what such a line takes.
const sharedLine = 4

// longestRow is how many bytes a row has of which each step reads another one: of longer ones each step would touch a page.
const longestRow = 1024

// stageDense is what it takes to stage an element that lies densely along lanes, in cycles.
const stageDense = 0.8

// inBlocks says that some operand is to lie in blocks of lanes along v, which all are whole.
func (c *tiler) inBlocks(v *uop.UOp) bool {
	return c.wholeBlocks && slices.ContainsFunc(c.anyOrder, func(l *access) bool { return c.depends(l, v) })
}

// layoutOf gives the terms of a load's index from the outermost, if each element of the array is at one place of their ranges; else nil.
func (c *tiler) layoutOf(l *access) []affine.Term {
	terms := slices.Clone(l.index.Terms)
	slices.SortStableFunc(terms, func(a, b affine.Term) int { return cmp.Compare(codegen.Abs(b.Coef), codegen.Abs(a.Coef)) })
	n, first := 1, 0
	for _, t := range slices.Backward(terms) {
		if codegen.Abs(t.Coef) != n {
			return nil
		}
		first += max(0, -t.Coef) * (codegen.Extent(t.Node) - 1)
		n *= codegen.Extent(t.Node)
	}
	if all := l.u.At(0).Arg().(uop.ParamArg).N; n != all || l.index.Const != first {
		return nil
	}
	return terms
}

// packing is the order for an operand, or nil where its lanes are no better off in another one than they are.
func (p *arranger) packing(l *access) *Packing {
	out := p.walked(l)
	if out == nil || slices.IsSorted(out.Order) && out.Block == codegen.Extent(p.t.v) && out.Lanes == len(out.Dims)-1 { // it lies so already
		return nil
	}
	return out
}

// walked is the order in which a kernel walks an operand that lanes are of, or nil where it does not walk all axes of it.
func (p *arranger) walked(l *access) *Packing {
	terms := p.layoutOf(l)
	at := func(r *uop.UOp) int { return slices.IndexFunc(terms, func(t affine.Term) bool { return t.Node == r }) }
	out := &Packing{Param: l.u.At(0).Arg().(uop.ParamArg).Slot, Lanes: at(p.t.v), Block: p.packingBlock()}
	if out.Lanes < 0 {
		return nil
	}
	for i, t := range terms {
		if t.Coef < 0 {
			out.Flips = append(out.Flips, i)
		}
		if out.Dims = append(out.Dims, codegen.Extent(t.Node)); i != out.Lanes && !slices.Contains(p.t.r.ranges, t.Node) {
			out.Order = append(out.Order, i)
		}
	}
	out.Order = append(out.Order, out.Lanes)
	for _, x := range p.t.r.ranges {
		if i := at(x); i >= 0 {
			out.Order = append(out.Order, i)
		}
	}
	if len(out.Order) != len(terms) {
		return nil
	}
	return out
}

// packingBlock is how many lanes lie together: those of a block of results, if there are enough of them for threads; two vectors or one
// otherwise, if that divides the lanes; or all.
func (p *arranger) packingBlock() int {
	n := codegen.Extent(p.t.v)
	if block := p.t.u * p.t.lanes; n%block == 0 && n >= leastBlocks*block {
		return block
	}
	for _, block := range []int{2 * p.t.lanes, p.t.lanes} {
		if n%block == 0 {
			return block
		}
	}
	return n
}
