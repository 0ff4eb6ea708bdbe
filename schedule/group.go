package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// Limits of a kernel with several outputs.
const (
	maxGroupOuts   = 12
	maxGroupParams = 28
	maxGroupSize   = 400 // nodes of all values
)

var groupLaw = rewrite.Named("kernels over the same axes are one kernel")

// group joins kernels over the same axes into one with several outputs, when they work element by element: what
// one stores and the next loads at the same index stays in a register. What goes on from a reduction joins its kernel, as moments and weights
// do that of a gradient. Kernels with reductions join when they share them, or run over the same ranges of the same data: then one loop
// serves both.
func (s *scheduler) group() {
	if s.config.StoreAll {
		return
	}
	byShape := map[string][]*kernel{}
	var out []*kernel
	writer := map[int]*kernel{} // buffer → kernel that writes it
	level := map[*kernel]int{}  // longest chain of kernels before it
	users := map[int]map[*kernel]bool{}
	use := func(g, k *kernel) { // g, which k became part of, uses its buffers
		for _, b := range k.bufs {
			if users[b] == nil {
				users[b] = map[*kernel]bool{}
			}
			users[b][g] = true
		}
	}
	for _, k := range s.kernels {
		k.dropUnits(s.t)
		k.recurs = recurrencesOf(k.values())
		dep := 0
		for _, b := range k.reads() {
			if w := writer[b]; w != nil {
				dep = max(dep, level[w]+1)
			}
		}
		joined := false
		if key, ok := k.shapeKey(); ok && !s.updatesPart(k) {
			for _, g := range slices.Backward(byShape[key]) {
				related := func() bool { return slices.ContainsFunc(k.reads(), func(b int) bool { return users[b][g] }) }
				if (k.goesWith(g) || related()) && s.mayJoin(g, k, writer, level) {
					s.join(g, k)
					use(g, k)
					writer[k.bufs[k.spec.Outs[0].Param]] = g
					joined = true
					break
				}
			}
			if !joined {
				byShape[key] = append(byShape[key], k)
			}
		}
		if !joined {
			level[k] = dep
			use(k, k)
			out = append(out, k)
			for i, p := range k.spec.Params {
				if p.Write {
					writer[k.bufs[i]] = k
				}
			}
		}
	}
	s.kernels = out
	s.dropUnread()
}

// dropUnread leaves out the stores of temporaries that only their own kernel used, and kernels that are left without any.
func (s *scheduler) dropUnread() {
	read := map[int]bool{}
	for _, k := range s.kernels {
		for _, b := range k.reads() {
			read[b] = true
		}
	}
	for _, c := range s.copies {
		read[c.Bufs[1]] = true
	}
	for _, k := range s.kernels {
		if len(k.spec.Outs) == 1 || k.opaque() {
			continue
		}
		k.spec.Outs = slices.DeleteFunc(k.spec.Outs, func(o codegen.Out) bool {
			b := k.bufs[o.Param]
			_, fresh := s.fresh[b]
			return s.bufs[b].Kind == TempBuf && !fresh && !read[b]
		})
		s.compact(k)
	}
	s.kernels = slices.DeleteFunc(s.kernels, func(k *kernel) bool { return len(k.spec.Outs) == 0 && !k.opaque() })
}

// compact renumbers the parameters of a kernel after some are used no more.
func (s *scheduler) compact(k *kernel) {
	if k.opaque() {
		return
	}
	used := make([]bool, len(k.bufs))
	for _, o := range k.spec.Outs {
		used[o.Param] = true
	}
	for _, u := range uop.Topo(k.expressions()...) {
		if u.Op() == uop.Param {
			used[u.Arg().(uop.ParamArg).Slot] = true
		}
	}
	if !slices.Contains(used, false) {
		return
	}
	old := &kernel{spec: k.spec, bufs: k.bufs}
	k.bufs, k.spec = nil, &codegen.Spec{Home: s.t, Vars: old.spec.Vars, Outs: old.spec.Outs}
	to := make([]int, len(used))
	for i, u := range used {
		if u {
			to[i] = len(k.bufs)
			k.bufs = append(k.bufs, old.bufs[i])
			k.spec.Params = append(k.spec.Params, old.spec.Params[i])
		}
	}
	k.rewrite(s.t, func(u *uop.UOp) *uop.UOp {
		if a, ok := u.Arg().(uop.ParamArg); ok {
			return s.t.Param(to[a.Slot], a.N, u.DType())
		}
		return u
	})
	for i := range k.spec.Outs {
		k.spec.Outs[i].Param = to[k.spec.Outs[i].Param]
	}
}

// rewrite puts other nodes in place of those of a kernel's expressions, operands first: with is given each with its new operands.
func (k *kernel) rewrite(t *uop.Table, with func(u *uop.UOp) *uop.UOp) {
	done := map[*uop.UOp]*uop.UOp{}
	for _, u := range uop.Topo(k.expressions()...) {
		done[u] = with(u.WithSrc(t, func(x *uop.UOp) *uop.UOp { return done[x] }))
	}
	k.replace(done)
}

// replace puts what was made of its expressions into a kernel.
func (k *kernel) replace(done map[*uop.UOp]*uop.UOp) {
	k.spec.Outs = slices.Clone(k.spec.Outs)
	for i := range k.spec.Outs {
		o := &k.spec.Outs[i]
		o.Value, o.Index = done[o.Value], slices.Clone(o.Index)
		for j, x := range o.Index {
			o.Index[j] = done[x]
		}
		if o.Gate != nil {
			o.Gate = done[o.Gate]
		}
	}
}

// expressions lists everything that a kernel computes: values, and where a scatter puts them.
func (k *kernel) expressions() []*uop.UOp {
	v := k.values()
	for _, o := range k.spec.Outs {
		v = append(v, o.Index...)
		if o.Gate != nil {
			v = append(v, o.Gate)
		}
	}
	return v
}

// dropUnits leaves out axes of size 1, so that kernels whose shapes differ in those alone are over the same axes.
func (k *kernel) dropUnits(t *uop.Table) {
	var ranges []*uop.UOp
	with, next := map[*uop.UOp]*uop.UOp{}, 0
	for _, o := range k.spec.Outs {
		for _, r := range o.Axes {
			if r.Arg().(uop.RangeArg).N == 1 {
				with[r] = t.Index(0)
			} else if !contains(ranges, r) {
				ranges = append(ranges, r)
			}
		}
	}
	if len(with) == 0 {
		return
	}
	for _, u := range uop.Topo(k.expressions()...) {
		if u.Op() == uop.Scan {
			return // it may go along one of them
		}
		if u.Op() == uop.Range && with[u] == nil && !contains(ranges, u) {
			ranges = append(ranges, u)
		}
	}
	slices.SortStableFunc(ranges, func(a, b *uop.UOp) int { return a.Arg().(uop.RangeArg).ID - b.Arg().(uop.RangeArg).ID })
	for _, r := range ranges {
		a := r.Arg().(uop.RangeArg)
		with[r] = t.Range(next, a.N, a.Name)
		next++
	}
	k.rewrite(t, func(u *uop.UOp) *uop.UOp {
		if r := with[u]; r != nil {
			return r
		}
		return u
	})
	for i := range k.spec.Outs {
		o := &k.spec.Outs[i]
		var axes []*uop.UOp
		for _, r := range o.Axes {
			if with[r].Op() == uop.Range {
				axes = append(axes, with[r])
			}
		}
		o.Axes = axes
	}
}

// shapeKey names the axes of a kernel with one plain output.
func (k *kernel) shapeKey() (string, bool) {
	if len(k.spec.Outs) != 1 || k.spec.Outs[0].Merge != nil {
		return "", false
	}
	dims := make([]int, len(k.spec.Outs[0].Axes)) // axes are numbered from 0
	for _, a := range k.spec.Outs[0].Axes {
		dims[a.Arg().(uop.RangeArg).ID] = a.Arg().(uop.RangeArg).N
	}
	key := string(uop.MakeInts(dims...))
	if o := k.spec.Outs[0]; o.Gate != nil && !o.Once { // as of what is left behind a scan
		key += uop.Print(o.Gate)
	}
	return key, true
}

// reads lists the buffers that a kernel loads.
func (k *kernel) reads() []int {
	var out []int
	for i, p := range k.spec.Params {
		if !p.Write {
			out = append(out, k.bufs[i])
		}
	}
	return out
}

func reduces(values []*uop.UOp) (list []*uop.UOp, nodes int) {
	for _, u := range uop.Topo(values...) {
		nodes++
		if u.Op() == uop.Reduce || u.Op() == uop.Scan {
			list = append(list, u)
		}
	}
	return list, nodes
}

func (k *kernel) values() []*uop.UOp {
	var v []*uop.UOp
	for _, o := range k.spec.Outs {
		v = append(v, o.Value)
	}
	return v
}

// small says that two kernels have few enough results and arrays to be one. Those of one recurrence may have as many as a device binds.
func (s *scheduler) small(g, k *kernel) bool {
	most, n := s.config.MaxBindings, len(g.bufs)+len(k.bufs)
	if k.goesWith(g) {
		return most == 0 || n-common(g.bufs, k.bufs) <= most
	}
	if most == 0 || most > maxGroupParams {
		most = maxGroupParams
	}
	return len(g.spec.Outs) < maxGroupOuts && n <= most
}

// mayJoin reports whether k can become part of g, with which it shares an array: everything k depends on is g itself or runs before g.
func (s *scheduler) mayJoin(g, k *kernel, writer map[int]*kernel, level map[*kernel]int) bool {
	if !s.small(g, k) {
		return false
	}
	for _, b := range k.reads() {
		if w := writer[b]; w != nil && w != g && level[w] >= level[g] {
			return false
		}
	}
	if s.chunked && s.holds(g, k) && s.holds(k, g) {
		return false
	}
	gr, gn := reduces(g.values())
	kr, kn := reduces(k.values())
	if !k.goesWith(g) && gn+kn > maxGroupSize {
		return false
	}
	switch {
	case len(gr) > 0 && len(kr) == 0:
		return s.sameIndex(g, k) && s.follows(g, k, gr, writer)
	case len(kr) > 0:
		return s.sameReduce(g, k, gr, kr) || s.siblings(g, k, gr, kr)
	}
	return s.sameIndex(g, k)
}

// goesWith says that two kernels go through the steps of one recurrence: apart, each would compute all of it again.
func (k *kernel) goesWith(g *kernel) bool {
	return slices.ContainsFunc(k.recurs, func(r *uop.Recurrence) bool { return slices.Contains(g.recurs, r) })
}

// recurrencesOf are those that values come from.
func recurrencesOf(values []*uop.UOp) (list []*uop.Recurrence) {
	all, _ := reduces(values)
	for _, u := range all {
		if a, ok := u.Arg().(uop.ScanArg); ok && a.Step != nil {
			list = append(list, a.Step)
		}
	}
	return list
}

// common is how many of some buffers are among others.
func common(bufs, others []int) (n int) {
	for _, b := range bufs {
		if slices.Contains(others, b) {
			n++
		}
	}
	return n
}

// sameReduce allows joining kernels whose reductions are one and the same node once parameters agree.
func (s *scheduler) sameReduce(g, k *kernel, gr, kr []*uop.UOp) bool {
	if len(gr) != len(kr) || !s.sameIndex(g, k) {
		return false
	}
	spec := *g.spec
	spec.Params = slices.Clone(spec.Params)
	trial := &kernel{spec: &spec, bufs: slices.Clone(g.bufs)}
	v := s.renumber(trial, k, k.spec.Outs[0].Value)
	list, _ := reduces([]*uop.UOp{v})
	for _, r := range list {
		if !contains(gr, r) {
			return false
		}
	}
	return true
}

// siblings allows joining reductions over the same ranges that read each element once: sums of a gradient and of its
// product with something, say. Products are kept apart, each needs its own tiles.
func (s *scheduler) siblings(g, k *kernel, gr, kr []*uop.UOp) bool {
	if len(gr) == 0 || len(kr) == 0 || !s.sameIndex(g, k) {
		return false
	}
	for _, list := range [][]*uop.UOp{gr, kr} {
		for _, r := range list {
			if r.Op() == uop.Scan || !slices.Equal(reducedRanges(r), reducedRanges(gr[0])) || !streams(r) {
				return false
			}
		}
	}
	return true
}

// follows reports whether k goes on from what g reduces, where that is neither a scan that may have lanes nor computed in blocks.
func (s *scheduler) follows(g, k *kernel, gr []*uop.UOp, writer map[int]*kernel) bool {
	if slices.ContainsFunc(gr, func(r *uop.UOp) bool {
		return r.Op() == uop.Scan && r.Arg().(uop.ScanArg).Keys == 0 || monoidOf(r) == uop.SumExp
	}) {
		return false
	}
	return slices.ContainsFunc(k.reads(), func(b int) bool { return writer[b] == g })
}

func reducedRanges(r *uop.UOp) []*uop.UOp { return r.Src()[r.Arg().(uop.ReduceArg).Parts:] }

// streams reports whether a load of the reduction's body varies with all ranges around it, so that no element is
// used twice.
func streams(r *uop.UOp) bool {
	all := symbolic.Depends(r)
	n := len(all) + len(reducedRanges(r))
	for _, u := range uop.Topo(r.Src()...) {
		if u.Op() == uop.Load && len(symbolic.Depends(u)) == n {
			return true
		}
	}
	return false
}

// sameIndex reports whether k loads what g writes only at the element that g writes.
func (s *scheduler) sameIndex(g, k *kernel) bool {
	for _, u := range uop.Topo(k.expressions()...) {
		if u.Op() != uop.Load {
			continue
		}
		p := u.At(0).Arg().(uop.ParamArg).Slot
		for _, o := range g.spec.Outs {
			if g.bufs[o.Param] == k.bufs[p] && (o.Gate != nil && !o.Once || !sameElement(s.t, o.Index, g.spec.Params[o.Param].Dims, u.Src()[2:], k.spec.Params[p].Dims)) {
				return false
			}
		}
	}
	return true
}

func sameElement(t *uop.Table, a []*uop.UOp, da []int, b []*uop.UOp, db []int) bool {
	if slices.Equal(da, db) {
		return slices.Equal(a, b)
	}
	return linear(t, da, a) == linear(t, db, b)
}

// join adds k's output to g.
func (s *scheduler) join(g, k *kernel) {
	o := k.spec.Outs[0]
	v := s.renumber(g, k, o.Value)
	if o.Once { // its index comes from data
		o.Index = slices.Clone(o.Index)
		for i, x := range o.Index {
			o.Index[i] = s.renumber(g, k, x)
		}
		if o.Gate != nil {
			o.Gate = s.renumber(g, k, o.Gate)
		}
	}
	o.Param = g.param(k.bufs[o.Param], k.spec.Params[o.Param].DType, k.spec.Params[o.Param].Dims)
	g.spec.Params[o.Param].Write = true
	o.Value, o.Axes = v, g.spec.Outs[0].Axes
	g.spec.Outs = append(g.spec.Outs, o)
	g.made = joinedOrigins(g.made, k.made)
	if s.watch {
		g.joined = append(g.joined, k)
	}
}

// renumber rewrites a value of k for the parameters of g; loads of what g writes become the value written, where their
// gates hold, and 0 elsewhere: laws rely on a load's gate to mask it.
func (s *scheduler) renumber(g, k *kernel, v *uop.UOp) *uop.UOp {
	done := map[*uop.UOp]*uop.UOp{}
	for _, u := range uop.Topo(v) {
		if u.Op() == uop.Param {
			continue
		}
		if u.Op() != uop.Load {
			done[u] = u.WithSrc(s.t, func(x *uop.UOp) *uop.UOp { return done[x] })
			continue
		}
		p := u.At(0).Arg().(uop.ParamArg)
		buf := k.bufs[p.Slot]
		if o := g.writes(buf); o >= 0 {
			done[u] = done[u.At(1)].Where(g.spec.Outs[o].Value, u.Int(0))
			continue
		}
		n := g.param(buf, u.DType(), k.spec.Params[p.Slot].Dims)
		src := []*uop.UOp{s.t.Param(n, p.N, u.DType())}
		for _, x := range u.Src()[1:] {
			src = append(src, done[x])
		}
		done[u] = s.t.Make(uop.Load, u.DType(), nil, src...)
	}
	return symbolic.Simplify(s.t, done[v])
}

// writes is the Out of g that stores a buffer, or −1.
func (k *kernel) writes(buf int) int {
	for i, o := range k.spec.Outs {
		if k.bufs[o.Param] == buf {
			return i
		}
	}
	return -1
}
