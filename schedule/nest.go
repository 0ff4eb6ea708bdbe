package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

var nestLaw = rewrite.Named("kernels that run one after the other are nests of one")

// Limits of a kernel of several nests.
const (
	maxNestLoops = 96 // of all nests
	nestWindow   = 48 // kernels among which one looks for its host
)

// nest makes kernels that one thread does alone nests of one kernel: nothing is lost, and a launch is saved. It expects kernels in the order in which
// they run. A kernel may move up or down past those that have nothing to do with it.
func (s *scheduler) nest() {
	n := &nesting{scheduler: s, users: map[int]int{}, likenesses: likenesses{numbers: map[string]int{}, count: map[int]int{}}}
	for _, k := range s.kernels {
		for p, b := range k.bufs {
			if !slices.Contains(k.bufs[:p], b) {
				n.users[b]++
			}
		}
	}
	for _, c := range s.copies {
		n.users[c.Bufs[1]]++
	}
	var list []*nested
	for _, k := range s.kernels {
		list = append(list, n.about(k))
	}
	for _, x := range n.repeats(list) {
		n.add(x)
	}
	s.kernels = nil
	for _, x := range n.out {
		s.kernels = append(s.kernels, x.k)
	}
}

// mergeRows gives kernels that fill an array and merge into it rows that threads share, for targets that have no other kernels of several nests.
func (s *scheduler) mergeRows() {
	for _, k := range s.kernels {
		if !k.opaque() && !k.scans() {
			k.spec = lower.MergeRows(k.spec, s.config.Nests)
		}
	}
}

// nesting is the list of kernels so far.
type nesting struct {
	*scheduler
	likenesses
	out   []*nested
	users map[int]int // by buffer: kernels that use it
}

// nested is a kernel with what others must know of it.
type nested struct {
	k             *kernel
	reads, writes map[int]bool
	uses          map[int]int // by buffer: kernels that it was made of
	work          codegen.Work
	alone         bool
	nests, loops  int
	nodes, again  int // of its expressions; those of them that are compiled in other kernels too
	like          likeness
	rows          []*uop.UOp // axes along which it may go row by row; one once it has several nests
}

// about looks at a kernel. One that is too much for a thread gets rows first that threads share, if it fills an array and merges into it.
func (n *nesting) about(k *kernel) *nested {
	x := &nested{k: k, reads: map[int]bool{}, writes: map[int]bool{}, uses: map[int]int{}, nests: 1}
	for p, b := range k.bufs {
		x.reads[b], x.uses[b] = true, 1
		if k.spec.Params[p].Write {
			x.writes[b] = true
		}
	}
	if k.opaque() {
		x.like.number = n.of("a kernel of the program's own")
		return x
	}
	x.loops, x.nodes, x.like = k.loops(), len(uop.Topo(k.expressions()...)), n.leaf(n.scheduler, k)
	if !k.scans() {
		x.work = lower.WorkOf(k.spec)
		x.alone = n.config.Nests.Alone(x.work)
		if !x.alone {
			k.spec = lower.MergeRows(k.spec, n.config.Nests)
		}
		x.rows = k.rowAxes()
	}
	return x
}

// loops counts the ranges of a kernel.
func (k *kernel) loops() int {
	seen := map[*uop.UOp]bool{}
	for _, o := range k.spec.Outs {
		for _, r := range o.Axes {
			seen[r] = true
		}
	}
	for _, u := range uop.Topo(k.expressions()...) {
		if u.Op() == uop.Range {
			seen[u] = true
		}
	}
	return len(seen)
}

// Numbers of what goes row by row.
const (
	mostShared = 8 << 10 // bytes that all rows read
	leastApart = 32      // bytes between the rows of an array
	leastInRow = 16      // elements of a result: they are the lanes, because rows are not
)

// rowAxes are the axes along which a kernel may go row by row and be as fast: arrays lie in rows, and what several rows read is small, so that
// nothing is to be gained by computing them side by side.
func (k *kernel) rowAxes() (out []*uop.UOp) {
	axes := k.spec.Outs[0].Axes
	for _, o := range k.spec.Outs {
		if o.Merge != nil || o.Once || o.Gate != nil || !slices.Equal(o.Axes, axes) {
			return nil
		}
	}
	list, _ := reduces(k.values())
	if slices.ContainsFunc(list, func(r *uop.UOp) bool { return monoidOf(r) == uop.SumExp }) {
		return nil
	}
	for _, r := range axes {
		if extent(axes)/extent([]*uop.UOp{r}) >= leastInRow && k.inRows(r, list) {
			out = append(out, r)
		}
	}
	return out
}

func (k *kernel) inRows(r *uop.UOp, reduces []*uop.UOp) bool {
	for _, o := range k.spec.Outs {
		if !k.apart(o.Param, o.Index, r) {
			return false
		}
	}
	shared := map[*uop.UOp]bool{} // loads that all rows do
	for _, u := range uop.Topo(k.values()...) {
		if u.Op() != uop.Load {
			continue
		}
		p := u.At(0).Arg().(uop.ParamArg).Slot
		if dependsOn(u, r) {
			if !k.apart(p, u.Src()[2:], r) {
				return false
			}
			continue
		}
		shared[u] = true
		if extent(symbolic.Depends(u))*float64(u.DType().Size()) > mostShared {
			return false
		}
	}
	for _, red := range reduces { // what several elements of a row take from all rows is a product's operand
		for _, u := range uop.Topo(red.Src()...) {
			if shared[u] && !subset(symbolic.Depends(u), reducedRanges(red)) {
				return false
			}
		}
	}
	return true
}

// apart says that an access goes to another part of an array in each row.
func (k *kernel) apart(p int, index []*uop.UOp, r *uop.UOp) bool {
	terms, _, ok := symbolic.Affine(linear(r.Home(), k.spec.Params[p].Dims, index))
	if !ok {
		return false
	}
	apart, others := 0, 0
	for _, t := range terms {
		switch {
		case t.Node == r:
			apart = t.Coef
		case dependsOn(t.Node, r):
			return false
		default:
			others++
		}
	}
	return apart > 0 && (others == 0 || apart*k.spec.Params[p].DType.Size() >= leastApart)
}

// before says that x, which comes first, may not run after y.
func (x *nested) before(y *nested) bool { return meets(x.writes, y.reads) || meets(x.reads, y.writes) }

func meets(a, b map[int]bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	for i := range a {
		if b[i] {
			return true
		}
	}
	return false
}

// add appends a kernel, or makes it nests of the last kernel that it may join: one that it needs, or that is among those after it;
// or of one before that, which then runs later.
func (n *nesting) add(k *nested) {
	least := max(0, len(n.out)-nestWindow)
	at := len(n.out) - 1
	for ; at >= least; at-- {
		g := n.out[at]
		if n.joined(g, k) {
			return
		}
		if g.before(k) {
			break
		}
	}
	for ; at >= least && k.alone; at-- {
		g, after := n.out[at], n.out[at+1:]
		if g.alone && !slices.ContainsFunc(after, g.before) && n.joined(g, k) {
			n.out = append(slices.Delete(n.out, at, at+1), g)
			return
		}
	}
	n.out = append(n.out, k)
}

// joined has g do what k does, afterwards, where that costs nothing.
func (n *nesting) joined(g, k *nested) bool {
	if !n.fit(g, k) {
		return false
	}
	switch {
	case g.alone && k.alone:
		again := 0 // nodes that other kernels have too, and are compiled with them anyway
		for _, x := range []*nested{g, k} {
			if n.count[x.like.number] > 1 {
				again += x.nodes
			} else {
				again += x.again
			}
		}
		if again == g.nodes+k.nodes || again > mostAgain {
			return false
		}
		g.again = again
		n.addNests(g.k, k.k, nil, nil)
	case n.byRows(g, k), n.anew(g, k):
		g.alone = false
	default:
		return false
	}
	n.count[g.like.number]--
	n.count[k.like.number]--
	n.join(g, k)
	n.count[g.like.number]++
	return true
}

// join notes what a kernel is after another became part of it.
func (n *nesting) join(g, k *nested) {
	g.like = g.like.and(k.like)
	g.like.number = n.of(g.like.form + g.like.shared())
	if g.alone {
		g.rows = nil
	}
	g.k.made = joinedOrigins(g.k.made, k.k.made)
	if n.watch {
		g.k.joined = append(append(g.k.joined, k.k), k.k.joined...)
	}
	for b, uses := range k.uses {
		g.uses[b] += uses
	}
	g.work.Flops, g.work.Bytes = g.work.Flops+k.work.Flops, g.work.Bytes+k.work.Bytes
	for b := range k.reads {
		g.reads[b] = true
	}
	for b := range k.writes {
		g.writes[b] = true
	}
	g.nests, g.loops, g.nodes = g.nests+k.nests, g.loops+k.loops, g.nodes+k.nodes
}

// byRows joins kernels that go through the same rows, where none needs another row than its own of what the other one makes.
func (n *nesting) byRows(g, k *nested) bool {
	if !meets(g.writes, k.reads) {
		return false
	}
	for _, a := range g.rows {
		for _, b := range k.rows {
			if a.Arg().(uop.RangeArg).N != b.Arg().(uop.RangeArg).N || a.Arg().(uop.RangeArg).N < n.config.Nests.Rows {
				continue
			}
			both, other := *g.k, *k.k
			n.addNests(&both, &other, a, b)
			if nest.SharesRows(both.spec) {
				*g.k, g.rows = both, []*uop.UOp{a}
				return true
			}
		}
	}
	return false
}

// anew joins a small kernel with the large one that alone needs what it makes: each thread makes it for itself.
func (n *nesting) anew(g, k *nested) bool {
	often := int64(n.config.Nests.Before)
	if often == 0 || !g.alone || k.alone || k.nests > 1 || g.work.Flops*often > k.work.Flops || g.work.Bytes*often > k.work.Bytes {
		return false
	}
	for b := range g.writes {
		_, fresh := n.fresh[b]
		if n.bufs[b].Kind != TempBuf || fresh || !k.reads[b] || n.users[b] != g.uses[b]+k.uses[b] {
			return false
		}
	}
	both, other := *g.k, *k.k
	n.addNests(&both, &other, nil, nil)
	for p, b := range both.bufs {
		both.spec.Params[p].Own = g.writes[b]
	}
	if !nest.SharesLast(both.spec) {
		return false
	}
	*g.k, g.rows = both, nil
	return true
}

// addNests appends the outputs of k to those of g. An array that either writes is one Param of all. Axes a and b, of g and of k, become one, which is
// the outermost, if there are such.
func (s *scheduler) addNests(g, k *kernel, a, b *uop.UOp) {
	one, dims := map[int]bool{}, map[int][]int{} // arrays of one Param, with the dims that all see
	for _, x := range []*kernel{g, k} {
		for p, b := range x.bufs {
			one[b] = one[b] || x.spec.Params[p].Write
			if d := x.spec.Params[p].Dims; dims[b] == nil || slices.Equal(d, dims[b]) {
				dims[b] = d
			} else {
				dims[b] = []int{s.bufs[b].N}
			}
		}
	}
	all := &kernel{spec: &codegen.Spec{Home: s.t, Vars: g.spec.Vars}}
	next := 0
	for _, x := range []*kernel{g, k} {
		x.spec = copied(x.spec)
		to := make([]int, len(x.bufs))
		for p, buf := range x.bufs {
			if one[buf] {
				x.seeAs(s.t, p, dims[buf])
			}
			q := x.spec.Params[p]
			to[p] = all.param(buf, q.DType, q.Dims)
			all.spec.Params[to[p]].Write = all.spec.Params[to[p]].Write || q.Write
		}
		from := next
		ranges := func(r *uop.UOp) *uop.UOp {
			if r == b && x == k {
				return a
			}
			arg := r.Arg().(uop.RangeArg)
			next = max(next, from+arg.ID+1)
			return s.t.Range(from+arg.ID, arg.N, arg.Name)
		}
		x.rewrite(s.t, func(u *uop.UOp) *uop.UOp {
			switch arg := u.Arg().(type) {
			case uop.ParamArg:
				return s.t.Param(to[arg.Slot], arg.N, u.DType())
			case uop.RangeArg:
				return ranges(u)
			}
			return u
		})
		for i, o := range x.spec.Outs {
			o.Apart = o.Apart || x == k && i == 0
			o.Param, o.Axes = to[o.Param], slices.Clone(o.Axes)
			for i, r := range o.Axes {
				o.Axes[i] = ranges(r)
			}
			if i := slices.Index(o.Axes, a); i > 0 {
				o.Axes = slices.Insert(slices.Delete(o.Axes, i, i+1), 0, a)
			}
			all.spec.Outs = append(all.spec.Outs, o)
		}
	}
	g.spec, g.bufs = all.spec, all.bufs
}

// seeAs has a kernel see an array as one of other dims, of which it is the whole.
func (k *kernel) seeAs(t *uop.Table, p int, dims []int) {
	was := k.spec.Params[p].Dims
	if slices.Equal(was, dims) {
		return
	}
	k.rewrite(t, func(u *uop.UOp) *uop.UOp {
		if u.Op() == uop.Load && u.At(0).Arg().(uop.ParamArg).Slot == p {
			return t.Load(u.At(0), u.At(1), linear(t, was, u.Src()[2:]))
		}
		return u
	})
	for i := range k.spec.Outs {
		if o := &k.spec.Outs[i]; o.Param == p {
			o.Index = []*uop.UOp{linear(t, was, o.Index)}
		}
	}
	k.spec.Params = slices.Clone(k.spec.Params)
	k.spec.Params[p].Dims = dims
}
