package schedule

import (
	"slices"

	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// What is chunked, and into what.
const (
	chunkRatio = 4   // times as large as its factors is a product that is computed again rather than kept
	chunkSmall = 8   // times as large is a product as what sums leave of it
	chunkTerms = 512 // of a sum of products that is computed again
	chunkShare = 3   // chunks of what is just large
	chunkTile  = 48  // rows are a multiple of, so that blocks of 4, 6, 8 or 16 in registers end with a chunk
	chunkMost  = 64  // chunks
	chunkHeld  = 16  // parts of what is large that are worth not having twice
	chunkNodes = 512 // of a region
)

var chunkLaw = rewrite.Named("a sum over large products is one over some of their rows at a time")

// chunk is the law Σ f(a·b) = Σ over chunks of the rows of a. Where products of small factors are larger than caches and nothing looks
// at them, or at what is made of them element by element, but sums that leave little of them, then the sums are computed for some rows at a
// time: memory holds a chunk of each, and what comes next finds it in a cache. What sums go along the rows are added up
// chunk by chunk, the others put together. A sum that depends on others, as gradients of attention do on its result, has the chunks
// computed again instead of kept. With streams, those that depend on none are left for a second time, for stream may compute
// them in blocks. It expects and leaves tensor-level nodes.
func (s *scheduler) chunk(roots []*uop.UOp, again bool) []*uop.UOp {
	if s.config.StoreAll || !s.config.Streams && again {
		return roots
	}
	c := s.regions(roots)
	if c == nil {
		return roots
	}
	sums := c.terminals(s.config.Streams && !again)
	if len(sums) == 0 {
		return roots
	}
	s.chunked = true
	return s.rebuilt(c.order, roots, func(u, v *uop.UOp, became func(*uop.UOp) *uop.UOp) *uop.UOp {
		if cut := sums[u]; cut != nil {
			w := cut.sum(u, became)
			s.noted(chunkLaw, v, w)
			v = w
		}
		return v
	})
}

// region is some large products, what is made of them element by element and by movement, and the sums of that.
type region struct {
	anchors []*uop.UOp
	nodes   map[*uop.UOp]bool
	sums    []*uop.UOp // small reductions of nodes
	bad     bool       // something else uses a node, such as a sum that leaves much of it
	axis    map[*uop.UOp]int
	along   map[*uop.UOp]bool // sums that go along the rows
	into    *region           // what it became part of
}

func (r *region) top() *region {
	for r.into != nil {
		r = r.into
	}
	return r
}

// regions finds the regions of a graph.
type regions struct {
	t     *uop.Table
	order []*uop.UOp
	used  map[*uop.UOp]int // see valueUses
	users map[*uop.UOp][]*uop.UOp
	root  map[*uop.UOp]bool
	of    map[*uop.UOp]*region
	sumOf map[*uop.UOp]*region
	all   []*region
	inner map[*uop.UOp]bool
	level map[*uop.UOp]int
	large int // bytes that caches do not hold
	from  int // bytes of an array that is worth computing in chunks
}

// regions is nil where nothing is large.
func (s *scheduler) regions(roots []*uop.UOp) *regions {
	c := &regions{t: s.t, order: uop.Topo(roots...), large: s.large(), from: s.chunkFrom()}
	if !slices.ContainsFunc(c.order, c.anchor) {
		return nil
	}
	c.used = valueUses(roots)
	c.users, c.root = map[*uop.UOp][]*uop.UOp{}, map[*uop.UOp]bool{}
	c.of, c.sumOf = map[*uop.UOp]*region{}, map[*uop.UOp]*region{}
	c.inner, c.level = map[*uop.UOp]bool{}, map[*uop.UOp]int{}
	for _, r := range roots {
		c.root[r] = true
	}
	for _, u := range c.order {
		if c.used[u] == 0 {
			continue
		}
		for _, x := range valueSources(u) {
			if list := c.users[x]; len(list) == 0 || list[len(list)-1] != u {
				c.users[x] = append(list, u)
			}
		}
		c.place(u)
	}
	return c
}

// anchor says that u is a large sum of products of much smaller factors.
func (c *regions) anchor(u *uop.UOp) bool {
	if !isSum(u) || u.At(0).Op() != uop.Mul || u.DType().Size()*u.Shape().Numel() < c.from || u.At(0).Shape().Numel() > chunkTerms*u.Shape().Numel() {
		return false
	}
	factors := 0
	for _, x := range u.At(0).Src() {
		for x.Op().IsMovement() {
			x = x.At(0)
		}
		factors += x.Shape().Numel()
	}
	return chunkRatio*factors <= u.Shape().Numel()
}

// place puts a node into the region of its operands.
func (c *regions) place(u *uop.UOp) {
	var r *region
	for _, x := range valueSources(u) {
		o := c.of[x]
		if o == nil {
			continue
		}
		if o = o.top(); r == nil {
			r = o
		} else if o != r {
			o.into = r
			r.anchors, r.sums, r.bad = append(r.anchors, o.anchors...), append(r.sums, o.sums...), r.bad || o.bad
			for n := range o.nodes {
				r.nodes[n] = true
			}
		}
	}
	switch {
	case r == nil && c.anchor(u):
		r = &region{nodes: map[*uop.UOp]bool{u: true}, anchors: []*uop.UOp{u}, bad: c.root[u]}
		c.all = append(c.all, r)
		c.of[u] = r
	case r == nil:
	case u.Op() == uop.Reduce && u.Arg().(uop.ReduceArg).Parts == 1 && chunkSmall*u.Shape().Numel() <= r.anchors[0].Shape().Numel():
		r.sums = append(r.sums, u)
		c.sumOf[u] = r
	case u.Op().Elementwise() || u.Op().IsMovement() || u.Op() == uop.Detach || u.Op() == uop.Contiguous:
		r.nodes[u] = true
		c.of[u] = r
		r.bad = r.bad || c.root[u] || len(r.nodes) > chunkNodes
	default:
		r.bad = true
	}
}

// terminals are the sums to compute in chunks, each with its way of cutting, which those share that are computed together.
func (c *regions) terminals(later bool) map[*uop.UOp]*cutting {
	out := map[*uop.UOp]*cutting{}
	for _, r := range c.all {
		if r.into != nil || r.bad {
			continue
		}
		c.findInner(r)
		if !c.findAxis(r) {
			continue
		}
		for _, x := range r.sums {
			if r.along[x] || c.outside(x) {
				c.level[x] = 1
			}
		}
	}
	if len(c.level) == 0 {
		return out
	}
	depth := map[*uop.UOp]int{} // how many sums, one after the other, a node depends on
	groups := map[*region]map[int]*cutting{}
	torn := map[*region]bool{} // some sum does not fall apart after all
	for _, u := range c.order {
		n := 0
		if c.used[u] > 0 {
			for _, x := range valueSources(u) {
				n = max(n, depth[x])
			}
		}
		depth[u] = n + c.level[u]
		if c.level[u] == 0 {
			continue
		}
		r := c.sumOf[u].top()
		if groups[r] == nil {
			groups[r] = map[int]*cutting{}
		}
		k, known := groups[r][n]
		if !known {
			k = c.cutting(r, len(groups[r]))
			groups[r][n] = k
		}
		switch {
		case later && n == 0:
		case k == nil || !k.can(u):
			torn[r] = true
		default:
			out[u] = k
		}
	}
	for u, k := range out {
		if torn[k.r] {
			delete(out, u)
		}
	}
	return out
}

// findInner finds the sums of a region that are numbers of rows, such as the total of a softmax, and what is made of them for the rows'
// elements: a chunk of rows has its own.
func (c *regions) findInner(r *region) {
	most := r.anchors[0].Shape().Numel()
	clear(c.inner)
	for _, u := range c.order {
		switch {
		case c.used[u] == 0 || c.of[u] != nil:
		case c.sumOf[u] != nil:
			c.inner[u] = c.sumOf[u].top() == r && u.At(0).Shape().Numel() <= most
		case u.Op().Elementwise() || u.Op().IsMovement() || u.Op() == uop.Detach:
			c.inner[u] = slices.ContainsFunc(valueSources(u), func(x *uop.UOp) bool { return c.inner[x] })
		}
	}
}

// valueSources are the operands that a value is computed of.
func valueSources(u *uop.UOp) []*uop.UOp {
	if u.Op() == uop.Detach {
		return u.Src()[:1]
	}
	return u.Src()
}

// outside says that something but the region looks at a sum, or at what is made of it.
func (c *regions) outside(x *uop.UOp) bool {
	seen := map[*uop.UOp]bool{x: true}
	todo := []*uop.UOp{x}
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if c.root[x] || !c.inner[x] {
			return true
		}
		for _, u := range c.users[x] {
			if c.of[u] == nil && !seen[u] {
				seen[u] = true
				todo = append(todo, u)
			}
		}
	}
	return false
}

// findAxis finds the axis of rows: of those of a product along which all of the region falls apart, but for sums along it, the last that
// leaves the fewest numbers of its own to such a sum, since that has to be complete before its numbers are known.
func (c *regions) findAxis(r *region) bool {
	a := r.anchors[0]
	best, fewest := -1, 0
	for i, n := range a.Shape() {
		if n == 1 || !c.apart(r, a, i) {
			continue
		}
		waits := 0
		for _, x := range r.sums {
			if r.along[x] && c.inner[x] {
				waits++
			}
		}
		if best < 0 || waits <= fewest {
			best, fewest = i, waits
		}
	}
	return best >= 0 && c.apart(r, a, best)
}

// apart says whether a region falls apart along axis i of a, and notes which axis of each node that is.
func (c *regions) apart(r *region, a *uop.UOp, i int) bool {
	r.axis, r.along = map[*uop.UOp]int{a: i}, map[*uop.UOp]bool{}
	todo := []*uop.UOp{a}
	set := func(x *uop.UOp, i int) bool {
		old, known := r.axis[x]
		if !known {
			r.axis[x] = i
			todo = append(todo, x)
		}
		return i >= 0 && (!known || old == i)
	}
	for len(todo) > 0 {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		i := r.axis[u]
		if !slices.Contains(r.anchors, u) {
			for j, x := range valueSources(u) {
				if r.nodes[x] && !set(x, axisBelow(u, i, j)) || c.inner[x] && axisBelow(u, i, j) != whole && !set(x, axisBelow(u, i, j)) {
					return false
				}
			}
		}
		if c.inner[u] && c.sumOf[u] == nil {
			continue // other things may be made of it
		}
		for _, y := range c.users[u] {
			if !r.nodes[y] && c.sumOf[y] == nil {
				continue
			}
			up := -1
			for k := range y.Shape() {
				for j, x := range valueSources(y) {
					if x == u && axisBelow(y, k, j) == i && y.Shape()[k] > 1 {
						up = k
					}
				}
			}
			switch {
			case up >= 0 && !set(y, up):
				return false
			case up < 0 && c.sumOf[y] == nil:
				return false
			case up < 0:
				r.along[y] = true
			}
		}
	}
	for _, x := range r.anchors {
		if k, known := r.axis[x]; !known || x.Shape()[k] != a.Shape()[i] {
			return false
		}
	}
	return !slices.ContainsFunc(r.sums, func(x *uop.UOp) bool {
		_, known := r.axis[x]
		return known == r.along[x] // both, or none
	})
}

// What axisBelow says of an axis that no single one of an operand's is.
const (
	whole = -1 // all of the operand is for each of its indices
	torn  = -2
)

// axisBelow is the axis of the j-th operand whose index an index of axis i of u is.
func axisBelow(u *uop.UOp, i, j int) int {
	x := u.At(j)
	in := x.Shape()
	if len(in) == 0 {
		return whole
	}
	switch a := u.Arg().(type) {
	case uop.ReduceArg:
		k := 0
		for ax := range in {
			if slices.Contains(a.Axes.Slice(), ax) {
				continue
			}
			if k == i {
				return ax
			}
			k++
		}
		return torn
	case uop.PadArg:
		if a.Lo.At(i) != 0 || in[i] != u.Shape()[i] {
			return torn
		}
	case uop.SlideArg:
		if i == a.Axis || i == a.By {
			return torn
		}
	case uop.Ints:
		switch u.Op() {
		case uop.Reshape:
			below := torn
			uop.Regrouped(in, u.Shape(), func(i0, i1, o0, o1 int) {
				if i < o0 || i >= o1 {
					return
				}
				for k := i0; k < i1; k++ {
					if in[k] == u.Shape()[i] && in[i0:i1].Numel() == in[k] {
						below = k
					}
				}
			})
			return below
		case uop.Permute:
			return a.At(i)
		case uop.Expand:
			if in[i] == 1 && u.Shape()[i] > 1 {
				return whole
			}
		case uop.Flip:
			if slices.Contains(a.Slice(), i) {
				return torn
			}
		}
	}
	return i
}
