package tensor

// Algorithms in blocks. A block of some rows or columns is worked on step by step while it lies in a cache, and what follows from it
// for the rest of the matrix is a product. Where a block begins is a number from memory, so that all blocks are the same computation; what
// is left of the matrix gets smaller only when half of its blocks are done, so that there are few sizes.

// unblocked is the size up to which matrices are not cut into blocks.
const unblocked = 64

// blocksOf cuts n rows into so many blocks of a size. Small ones stay in the nearest cache while they are worked on, large ones take more
// of the work into products.
func blocksOf(n int) (blocks, size int) {
	size = 16
	if n > 256 {
		size = 32
	}
	return (n + size - 1) / size, size
}

// part is how many of the blocks that are left are done before what is left of a matrix gets smaller: each size needs kernels of its own.
func part(blocks int) int {
	if blocks > 8 {
		return (blocks + 1) / 2
	}
	return blocks
}

// everyPlace is 0, by, 2·by … as they come from memory, on t's device.
func (t *Tensor) everyPlace(n, by int) []*Tensor {
	at := t.ints([]int32{0}, 1)
	out := make([]*Tensor, 0, n)
	for range n {
		out = append(out, at)
		at = at.Add(by).Contiguous()
	}
	return out
}

// stepNumbers are the numbers below n as they come from memory, on t's device.
func (t *Tensor) stepNumbers(n int) []*Tensor { return t.everyPlace(n, 1) }

// line is what lies at a place of one of the last two axes, which stays with size 1; zeros where the place is outside.
func (t *Tensor) line(axis int, at *Tensor) *Tensor {
	axis += t.Rank()
	return t.like(t.node().Gather(at.Expand(with(t.shape(), axis, 1)...).node(), axis))
}

// block is what lies at n places of one of the last two axes, beginning with one; zeros where they are outside.
func (t *Tensor) block(axis int, at *Tensor, n int) *Tensor {
	axis += t.Rank()
	place := arange(n).Add(at)
	return t.like(t.node().Gather(alongAxis(place.node(), axis, with(t.shape(), axis, n)), axis))
}

// wider and higher have zeros before and behind the columns or the rows.
func (t *Tensor) wider(lo, hi int) *Tensor  { return t.like(extend(t.node(), t.Rank()-1, lo, hi)) }
func (t *Tensor) higher(lo, hi int) *Tensor { return t.like(extend(t.node(), t.Rank()-2, lo, hi)) }

// corner is what lies right of and below a place of the diagonal.
func (t *Tensor) corner(at int) *Tensor {
	return t.Narrow(-1, at, t.Dim(-1)-at).Narrow(-2, at, t.Dim(-2)-at)
}

// wholeLines is a number of elements, n or some more, of which rows begin where cache lines do, or at halves of them where that needs no more.
func wholeLines(n int) int {
	if n%8 == 0 {
		return n
	}
	return (n + 15) / 16 * 16
}
