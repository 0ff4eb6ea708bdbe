package tensor

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	mathbits "math/bits"
	"slices"

	"github.com/weft-ml/weft/dtype"
)

// Uniques are the different values of a tensor.
type Uniques struct {
	Values  *Tensor // each once
	Inverse *Tensor // int64: for each element the index of its value
	Counts  *Tensor // int64: how often each value stands there
}

// Unique gives the different elements of t, rising, as a list. All NaN count as one value.
func (t *Tensor) Unique(ctx context.Context) (Uniques, error) { return t.unique(ctx, nil, true) }

// UniqueAlong gives the different parts of an axis, in the order of their first differing element.
func (t *Tensor) UniqueAlong(ctx context.Context, axis int) (Uniques, error) {
	axis = t.axis("UniqueAlong", axis)
	return t.unique(ctx, &axis, true)
}

// UniqueRuns is Unique for runs of equal neighbours: equal elements further apart stay.
func (t *Tensor) UniqueRuns(ctx context.Context) (Uniques, error) { return t.unique(ctx, nil, false) }

// UniqueRunsAlong is UniqueAlong for runs of equal neighbours.
func (t *Tensor) UniqueRunsAlong(ctx context.Context, axis int) (Uniques, error) {
	axis = t.axis("UniqueRunsAlong", axis)
	return t.unique(ctx, &axis, false)
}

// unique groups the parts of an axis, or all elements, by their bits as integers. It does so on the host: a device would need kernels of its own
// for each length, and lengths that values decide are seldom the same twice.
func (t *Tensor) unique(ctx context.Context, axis *int, ordered bool) (Uniques, error) {
	x, at := t.Flatten(), 0
	if axis != nil {
		x, at = t, *axis
	}
	n := x.Dim(at)
	if n > math.MaxInt32 {
		fail("Unique", shapes(t.shape()), "positions do not fit into int32")
	}
	key := x.MoveAxis(at, 0).Reshape(n, prod(without(x.shape(), at)))
	key = key.like(sortKey(key.node(), false))
	var s scratch
	defer s.free()
	raw, err := key.bytesIn(ctx, s.bytes)
	if err != nil {
		return Uniques{}, err
	}
	rows := parts{scratch: &s, raw: raw, size: key.DType().Size(), width: key.Dim(1)}
	rows.bits = 8 * rows.size
	if !key.DType().IsUnsigned() {
		rows.sign = 1 << (rows.bits - 1)
	}
	if ordered && rows.width > 1 {
		rows.narrow(n * rows.width)
	}
	first, inverse, counts := rows.groups(n, ordered)
	out := Uniques{x.gather(at, first), t.beside(dtype.I64, []int{n}, inverse), t.beside(dtype.I64, []int{len(counts) / 8}, counts)}
	if axis == nil {
		out.Inverse = out.Inverse.Reshape(t.Shape()...)
	}
	return out, nil
}

// parts are rows of integers in memory.
type parts struct {
	*scratch
	raw   []byte
	size  int    // bytes of an element
	width int    // elements of a row
	sign  uint64 // what turns an element into one without a sign, in the same order
	least uint64 // no element is less
	bits  int    // all have as many more than it, at most
}

// narrow finds how many bits n elements need, so that fronts have more of them.
func (p *parts) narrow(n int) {
	least, most := uint64(math.MaxUint64), uint64(0)
	for i := range n {
		v := p.at(i)
		least, most = min(least, v), max(most, v)
	}
	if n > 0 {
		p.least, p.bits = least, max(mathbits.Len64(most-least), 1)
	}
}

// inFront is how many elements the front of a row has.
func (p parts) inFront() int { return min(p.width, 64/p.bits) }

// whole says that fronts have all elements of their rows.
func (p parts) whole() bool { return p.inFront() == p.width }

// fronts are, of each row from one on, as many elements as fit, the first one highest.
func (p parts) fronts(front []uint64, from int) []uint64 {
	raw := p.raw[from*p.width*p.size:]
	switch {
	case p.width == 1 && p.size == 8:
		for i := range front {
			front[i] = binary.LittleEndian.Uint64(raw[8*i:]) ^ p.sign
		}
	case p.width == 1 && p.size == 4:
		for i := range front {
			front[i] = uint64(binary.LittleEndian.Uint32(raw[4*i:])) ^ p.sign
		}
	default:
		for i := range front {
			front[i] = 0
			for k := range p.inFront() {
				front[i] = front[i]<<p.bits | (p.at((from+i)*p.width+k) - p.least)
			}
		}
	}
	return front
}

// at is an element as one without a sign.
func (p parts) at(i int) uint64 {
	b := p.raw[i*p.size:]
	switch p.size {
	case 1:
		return uint64(b[0]) ^ p.sign
	case 2:
		return uint64(binary.LittleEndian.Uint16(b)) ^ p.sign
	case 4:
		return uint64(binary.LittleEndian.Uint32(b)) ^ p.sign
	}
	return binary.LittleEndian.Uint64(b) ^ p.sign
}

// compareRest compares what follows the fronts of two rows.
func (p parts) compareRest(i, j int32) int {
	for k := p.inFront(); k < p.width; k++ {
		if c := cmp.Compare(p.at(int(i)*p.width+k), p.at(int(j)*p.width+k)); c != 0 {
			return c
		}
	}
	return 0
}

// groups finds equal rows, all or those beside each other: the first row of each group, and as int64 the group of each row and how many each
// has. Rows of eight bytes give their memory to the groups.
func (p parts) groups(n int, ordered bool) (first []int32, inverse, counts []byte) {
	if n == 0 {
		return nil, nil, nil
	}
	if inverse = p.raw; len(inverse) != 8*n {
		inverse = p.bytes(8 * n)
	}
	if first = p.ints(n + 1); ordered {
		first, counts = p.equal(n, inverse, first)
	} else {
		first, counts = p.runs(n, inverse, first)
	}
	return first, inverse, counts
}

// equal groups all rows; begins has room for where each group begins.
func (p parts) equal(n int, inverse []byte, begins []int32) (first []int32, counts []byte) {
	front := p.fronts(p.longs(n), 0)
	if least, most := slices.Min(front), slices.Max(front); p.whole() && most-least < uint64(n) {
		return p.counted(front, least, int(most-least)+1, inverse, begins)
	}
	order := p.order(front)
	g := 0
	begins[0] = 0
	for k, i := range order {
		if k > 0 {
			g += oneIf(front[k] != front[k-1] || !p.whole() && p.compareRest(i, order[k-1]) != 0)
		}
		begins[g+1] = int32(k + 1)
		binary.LittleEndian.PutUint64(inverse[8*i:], uint64(g))
	}
	counts = p.distances(begins[:g+2])
	for i, k := range begins[:g+1] {
		begins[i] = order[k]
	}
	return begins[:g+1], counts
}

// counted groups rows of one of so many numbers in a table of them.
func (p parts) counted(front []uint64, least uint64, numbers int, inverse []byte, first []int32) (_ []int32, counts []byte) {
	often, at := p.ints(numbers), p.ints(numbers)
	clear(often)
	for i, f := range slices.Backward(front) {
		often[f-least]++
		at[f-least] = int32(i)
	}
	counts = p.bytes(8 * numbers)
	g := 0
	for k, c := range often {
		if c > 0 {
			first[g], at[k] = at[k], int32(g) // from now on which group it is
			binary.LittleEndian.PutUint64(counts[8*g:], uint64(c))
			g++
		}
	}
	for i, f := range front {
		binary.LittleEndian.PutUint64(inverse[8*i:], uint64(at[f-least]))
	}
	return first[:g], counts[:8*g]
}

// runs groups neighbours. Where one begins is written for each row, and stays for the first of the next, as branches on values are guessed wrong.
func (p parts) runs(n int, inverse []byte, begins []int32) (first []int32, counts []byte) {
	var block [512]uint64
	g, whole, before := 0, p.whole(), p.fronts(block[:1], 0)[0]
	begins[0] = 0
	for from := 0; from < n; from += len(block) {
		for i, f := range p.fronts(block[:min(len(block), n-from)], from) { // before their memory is written
			k := from + i
			differ := oneIf(f != before)
			if !whole && differ == 0 && k > 0 {
				differ = oneIf(p.compareRest(int32(k), int32(k-1)) != 0)
			}
			before = f
			g += differ
			begins[g+1] = int32(k + 1)
			binary.LittleEndian.PutUint64(inverse[8*k:], uint64(g))
		}
	}
	return begins[:g+1], p.distances(begins[:g+2])
}

// distances are those between neighbours, as int64.
func (p parts) distances(v []int32) []byte {
	raw := p.bytes(8 * (len(v) - 1))
	for i := range v[1:] {
		binary.LittleEndian.PutUint64(raw[8*i:], uint64(v[i+1]-v[i]))
	}
	return raw
}

// order puts the fronts of the rows in order and gives the rows in theirs; equal rows stay as they stood.
func (p parts) order(front []uint64) []int32 {
	order := p.sortWith(front)
	if p.whole() {
		return order
	}
	for begin, k := 0, 1; k <= len(order); k++ { // rows with equal fronts
		if k == len(order) || front[k] != front[begin] {
			slices.SortFunc(order[begin:k], func(i, j int32) int { return cmp.Or(p.compareRest(i, j), cmp.Compare(i, j)) })
			begin = k
		}
	}
	return order
}

// sortBits is how many bits of keys are sorted by at once, at most: the ends of 2^sortBits runs stay in the nearest cache.
const sortBits = 11

// sortWith puts keys in order, in their memory, and says where each stood. It sorts by digits, the lowest first, and only by those in which keys
// differ.
func (s *scratch) sortWith(keys []uint64) []int32 {
	n := len(keys)
	order := s.ints(n)
	for i := range order {
		order[i] = int32(i)
	}
	least, differ := slices.Min(keys), uint64(0)
	for _, k := range keys {
		differ |= k - least
	}
	if differ == 0 {
		return order
	}
	low, high := mathbits.TrailingZeros64(differ), mathbits.Len64(differ)
	digits := (high - low + sortBits - 1) / sortBits
	wide := (high - low + digits - 1) / digits
	mask := uint64(1)<<wide - 1
	from, to := keys, s.longs(n)
	other := s.ints(n)
	ends := make([]int32, 1<<wide)
	for shift := low; shift < high; shift += wide {
		clear(ends)
		for _, k := range from {
			ends[(k-least)>>shift&mask]++
		}
		sum := int32(0)
		for i, c := range ends {
			ends[i] = sum
			sum += c
		}
		for i, k := range from {
			e := &ends[(k-least)>>shift&mask]
			to[*e], other[*e] = k, order[i]
			*e++
		}
		from, to, order, other = to, from, other, order
	}
	if digits%2 == 1 {
		copy(keys, from)
	}
	return order
}
