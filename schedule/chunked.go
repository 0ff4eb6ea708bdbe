package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// cutting computes the sums of a region that do not depend on each other in chunks of rows.
type cutting struct {
	c     *regions
	r     *region
	rows  int // of a chunk
	total int // of all
	level int // of those of a region: what depends on sums of another comes later

	chunks []map[cutNode]*uop.UOp  // by chunk: the nodes that there are
	laid   map[*uop.UOp]*uop.UOp   // factors as they lie in memory, chunk by chunk
	became func(*uop.UOp) *uop.UOp // what a node is now; nil: it is only asked what can be cut
}

// cutNode is a chunk of a node, along which axis, and whether as a factor.
type cutNode struct {
	u      *uop.UOp
	axis   int
	factor bool
}

// cutting is nil where a region is not worth more than one chunk. Levels do not share chunks: these would have to be kept.
func (c *regions) cutting(r *region, level int) *cutting {
	k := &cutting{c: c, r: r, level: level, laid: map[*uop.UOp]*uop.UOp{}}
	bytes, added := 0, 0
	for _, u := range r.anchors {
		bytes = max(bytes, u.DType().Size()*u.Shape().Numel())
		k.total = u.Shape()[r.axis[u]]
	}
	for _, u := range r.sums {
		if r.along[u] {
			added = max(added, u.DType().Size()*u.Shape().Numel())
		}
	}
	row := bytes / k.total
	least := max(1, c.large/chunkShare/row, ceilDiv(2*added, row), ceilDiv(k.total, chunkMost)) // what is added to is read and written for each chunk
	if bytes < c.from || 2*least > k.total {
		return nil
	}
	if k.rows = least; least >= chunkTile {
		k.rows = ceilDiv(least, chunkTile) * chunkTile
	}
	k.chunks = make([]map[cutNode]*uop.UOp, ceilDiv(k.total, k.rows))
	for i := range k.chunks {
		k.chunks[i] = map[cutNode]*uop.UOp{}
	}
	return k
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// count is how many rows a chunk has.
func (k *cutting) count(chunk int) int { return min(k.rows, k.total-chunk*k.rows) }

// can says whether a sum falls apart down to what is cut in memory.
func (k *cutting) can(u *uop.UOp) bool {
	k.became = nil
	if k.r.along[u] {
		x := u.At(0)
		return k.cut(x, k.r.axis[x], 0, false) != nil
	}
	return k.cut(u, k.r.axis[u], 0, false) != nil
}

// sum is u, computed in chunks; became says what became of nodes below.
func (k *cutting) sum(u *uop.UOp, became func(*uop.UOp) *uop.UOp) *uop.UOp {
	if k.became == nil { // what can left
		clear(k.chunks[0])
		clear(k.laid)
	}
	k.became = became
	var sum *uop.UOp
	for i := range k.chunks {
		var part *uop.UOp
		if k.r.along[u] {
			part = u.WithSrc(u.Home(), func(x *uop.UOp) *uop.UOp { return k.cut(x, k.r.axis[x], i, false) })
		} else {
			a := k.r.axis[u]
			lo, hi := make([]int, len(u.Shape())), make([]int, len(u.Shape()))
			lo[a] = i * k.rows
			hi[a] = k.total - lo[a] - k.count(i)
			part = k.cut(u, a, i, false).Contiguous().Pad(lo, hi)
		}
		switch {
		case sum == nil:
			sum = part
		case k.r.along[u]:
			sum = monoidOf(u).Info().Merge([]*uop.UOp{sum.Contiguous()}, []*uop.UOp{part})[0]
		default:
			sum = sum.Add(part)
		}
	}
	return sum
}

// cut is a chunk of u along axis a; factor says that u is one of a product that is larger than what is cut. nil: u does not fall apart.
func (k *cutting) cut(u *uop.UOp, a, chunk int, factor bool) *uop.UOp {
	n, most := u.Shape().Numel(), k.r.anchors[0].Shape().Numel()
	_, own := k.r.axis[u]
	factor = !own && (factor || n > most)
	key := cutNode{u, a, factor}
	if v := k.chunks[chunk][key]; v != nil {
		return v
	}
	pure := u.Op().Elementwise() || u.Op() == uop.Detach
	var v *uop.UOp
	if own || u.Op().IsMovement() || pure && chunkSmall*n > most {
		v = k.remade(u, a, chunk, factor)
	}
	if v == nil {
		if own || n > most {
			return nil
		}
		v = k.leaf(u, a, chunk, factor)
	}
	k.chunks[chunk][key] = v
	return v
}

// remade is u of chunks of its operands, or nil.
func (k *cutting) remade(u *uop.UOp, a, chunk int, factor bool) *uop.UOp {
	src := slices.Clone(valueSources(u))
	for j, x := range src {
		switch b := axisBelow(u, a, j); b {
		case torn:
			return nil
		case whole:
			src[j] = k.now(x)
		default:
			if src[j] = k.cut(x, b, chunk, factor); src[j] == nil {
				return nil
			}
		}
	}
	shape := slices.Clone(u.Shape())
	shape[a] = k.count(chunk)
	switch arg := u.Arg().(type) {
	case uop.Ints:
		switch u.Op() {
		case uop.Reshape:
			return src[0].Reshape(shape...)
		case uop.Expand:
			return src[0].Expand(shape...)
		}
	case uop.PadArg:
		if u.Op() == uop.Shrink {
			hi := arg.Hi.Slice()
			hi[a] = shape[a]
			return src[0].Shrink(arg.Lo.Slice(), hi)
		}
	}
	if u.Op() == uop.Detach {
		return src[0]
	}
	next := 0
	return u.WithSrc(u.Home(), func(*uop.UOp) *uop.UOp { next++; return src[next-1] })
}

// now is what became of a node that is not cut.
func (k *cutting) now(u *uop.UOp) *uop.UOp {
	if k.became == nil {
		return u
	}
	return k.became(u)
}

// leaf is a chunk of a node that is computed as a whole. Factors lie chunk by chunk, so that a chunk is some of the first rows of an
// array, and all chunks have the same kernels; each level has its own, so that none computes for another.
func (k *cutting) leaf(u *uop.UOp, a, chunk int, factor bool) *uop.UOp {
	x := k.now(u)
	for range k.level {
		x = x.Detach()
	}
	shape := u.Shape()
	lo, hi := make([]int, len(shape)), slices.Clone(shape)
	if !factor || shape[:a].Numel() == 1 && k.level == 0 {
		lo[a], hi[a] = chunk*k.rows, chunk*k.rows+k.count(chunk)
		return x.Shrink(lo, hi)
	}
	n := len(k.chunks)
	laid := k.laid[u]
	if laid == nil {
		hi := make([]int, len(shape))
		hi[a] = n*k.rows - k.total
		order := []int{a}
		for i := range len(shape) + 1 {
			if i != a {
				order = append(order, i)
			}
		}
		laid = x.Pad(lo, hi).Reshape(slices.Concat(shape[:a], []int{n, k.rows}, shape[a+1:])...).Permute(order...).Contiguous()
		k.laid[u] = laid
	}
	one := slices.Clone(laid.Shape())
	one[0] = chunk + 1
	from := make([]int, len(one))
	from[0] = chunk
	hi[a] = k.rows
	rows := laid.Shrink(from, one).Reshape(hi...)
	hi[a] = k.count(chunk)
	return rows.Shrink(lo, hi)
}

// holds says that one kernel reads a temporary of the size of a chunk that the other does not have: kernels of different chunks do, and as
// one they would need both at a time.
func (s *scheduler) holds(one, other *kernel) bool {
	return slices.ContainsFunc(one.reads(), func(b int) bool {
		return s.bufs[b].Kind == TempBuf && s.bufs[b].Bytes() >= int64(s.large()/chunkHeld) && !slices.Contains(other.bufs, b)
	})
}

// chunkTimes is from how many times what caches hold on arrays are not stored: chunks take up to a third longer than storing, and memory is
// what counts then.
const chunkTimes = 8

// chunkFrom is from how many bytes on an array is computed in chunks.
func (s *scheduler) chunkFrom() int {
	if s.config.Large > 0 {
		return s.config.Large
	}
	return chunkTimes * codegen.PastCaches
}

// large is how many bytes caches do not hold.
func (s *scheduler) large() int {
	if s.config.Large > 0 {
		return s.config.Large
	}
	return codegen.PastCaches
}
