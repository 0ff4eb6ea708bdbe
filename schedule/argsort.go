package schedule

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Sorting. In short rows each element's place is how many come before it, which is counted. Longer ones are sorted by one digit after the
// other, the lowest first, each time stably. A row is cut into blocks. How often each block has each digit says where the block's first
// element of that digit goes: behind all of lower digits, and those of blocks before it. Each further one goes next to the one before.
// Everything is counted, so that no result depends on how rows are cut.

// Numbers of sorts.
const (
	// Where a thread may have a table with a place for each digit.
	digitBits   = 8
	leastDigits = 1 << 12 // elements of a block
	mostDigits  = 64      // blocks of a row
	tableCost   = 64      // comparisons that take as long as the tables of an element's row
	digitCost   = 16      // and as a digit of an element

	// Elsewhere an element is compared with those of its block, and all digits are compared with each.
	comparedBits  = 4
	comparedBlock = 64
)

// argSort is u as kernels that sort.
func (s *scheduler) argSort(u *uop.UOp) *uop.UOp {
	shape := u.Shape()
	n := shape[len(shape)-1]
	if n <= 1 || shape.Numel() == 0 {
		return spreadTo(u.Int(0), shape)
	}
	rows, all := shape.Numel()/n, keyBits(u.At(0))
	bits, blocks := min(comparedBits, all), (n+comparedBlock-1)/comparedBlock
	whole := all / bits * (comparedBlock + 1<<bits)
	if s.config.Tables {
		bits, blocks = min(digitBits, all), min(mostDigits, max(1, n/leastDigits))
		whole = tableCost + all/bits*digitCost
		if d := divisor(n, blocks); 2*d > blocks {
			blocks = d
		}
	}
	if n <= whole {
		key := u.At(0).Reshape(rows, n).Contiguous() // elements of a row lie beside each other, as each meets all
		return s.numbers(1, rows, n).Placed(s.inRows(s.rank(key), n).Contiguous()).Reshape(shape...)
	}
	if all == 1 {
		return s.numbers(1, rows, n).Placed(s.parted(u.At(0).Reshape(rows, n)).Contiguous()).Reshape(shape...)
	}
	size := (n + blocks - 1) / blocks
	word := unsigned(u.At(0)).Reshape(rows, n)
	if blocks*size > n { // what is added comes last
		word = word.Not().Pad([]int{0, 0}, []int{0, blocks*size - n}).Not()
	}
	word = word.Reshape(rows*blocks, size).Contiguous()
	order := s.numbers(1, rows, blocks*size).Reshape(rows*blocks, size)
	for left := all; left > 0; left -= bits {
		digit := word.And(word.Int(1<<bits - 1)).Cast(dtype.I32)
		place := s.places(digit, rows, 1<<bits).Contiguous()
		order = order.Placed(place)
		if left > bits { // the same kernels see to the next digit
			word = word.Shr(word.Int(bits)).Placed(place)
		}
	}
	return shrinkAxis(order.Reshape(rows, blocks*size), 1, n).Reshape(shape...)
}

// parted says where each element of rows goes, of which those that are 0 come first. A running sum counts them; the others go behind all of
// them, each as far as it has others before it.
func (s *scheduler) parted(bit *uop.UOp) *uop.UOp {
	rows, n := bit.Shape()[0], bit.Shape()[1]
	zero := bit.Equal(bit.Int(0))
	count := zero.Cast(dtype.I32)
	sums := count.Scan(uop.Sum, 1)
	if cut := s.splitScan(sums); cut != nil {
		sums = cut
	}
	all := count.Reduce(uop.Sum, 1).Reshape(rows, 1).Contiguous().Expand(rows, n)
	return s.inRows(zero.Where(sums.Sub(sums.Int(1)), all.Add(s.numbers(1, rows, n)).Sub(sums)), n)
}

// keyBits is how many of the low bits of keys differ.
func keyBits(key *uop.UOp) int {
	if key.Op() == uop.Cast && key.At(0).DType() == dtype.Bool {
		return 1
	}
	return key.DType().Bits()
}

// unsigned maps integers to words of at least 32 bits that are in the same order, the bits of which beyond theirs are 0.
func unsigned(key *uop.UOp) *uop.UOp {
	switch d := key.DType(); {
	case d.Bits() == 64:
		return flipped(key.Bitcast(dtype.U64), d, 63)
	case d.Bits() == 32:
		return flipped(key.Bitcast(dtype.U32), d, 31)
	default:
		lo, _ := uop.IntLimits(d)
		wide := key.Cast(dtype.I32)
		return wide.Sub(wide.Int(int(lo.Int()))).Bitcast(dtype.U32)
	}
}

// flipped has the sign of numbers of type d turned around, if they have one.
func flipped(u *uop.UOp, d dtype.DType, sign int) *uop.UOp {
	if d.IsUnsigned() {
		return u
	}
	one := u.Int(1)
	return u.Xor(one.Shl(u.Int(sign)))
}

// places says where each element of blocks, which has a digit, goes: its row is as many blocks as follow each other.
func (s *scheduler) places(digit *uop.UOp, rows, digits int) *uop.UOp {
	all, size := digit.Shape()[0], digit.Shape()[1]
	one := spreadTo(digit.Int(1), digit.Shape())
	var count, before *uop.UOp
	if s.config.Tables {
		count = spreadTo(digit.Int(0), uop.Shape{all, digits}).Scatter(digit, one, 1, uop.Sum)
		before = one.ScanByKey(uop.Sum, 1, digit, digits).Sub(one)
	} else {
		wide := digit.Reshape(all, size, 1).Expand(all, size, digits)
		count = wide.Equal(s.numbers(2, all, size, digits)).Cast(dtype.I32).Reduce(uop.Sum, 1).Contiguous()
		i, j, earlier := s.pairs(digit)
		before = j.Equal(i).And(earlier).Cast(dtype.I32).Reduce(uop.Sum, 2)
	}
	blocks := all / rows
	count = count.Reshape(rows, blocks, digits).Permute(0, 2, 1).Reshape(rows, digits*blocks)
	sums := count.Scan(uop.Sum, 1)
	if cut := s.splitScan(sums); cut != nil && !s.config.Tables {
		sums = cut
	}
	first := s.inRows(sums.Sub(count), blocks*size)
	first = first.Reshape(rows, digits, blocks).Permute(0, 2, 1).Reshape(all, digits).Contiguous().Gather(digit, 1)
	return first.Add(before.Cast(first.DType()))
}

// inRows makes of places in rows of n elements those in the whole array.
func (s *scheduler) inRows(place *uop.UOp, n int) *uop.UOp {
	rows := place.Shape()[0]
	row := s.numbers(0, place.Shape()...)
	if rows*n > math.MaxInt32 {
		place, row = place.Cast(dtype.I64), row.Cast(dtype.I64)
	}
	return place.Add(row.Mul(row.Int(n)))
}

// rank is the place of each element in the stable order of the last axis.
func (s *scheduler) rank(key *uop.UOp) *uop.UOp {
	i, j, earlier := s.pairs(key)
	return j.Less(i).Or(j.Equal(i).And(earlier)).Cast(dtype.I32).Reduce(uop.Sum, 2)
}

// pairs has each element of rows, along axis 1, meet all, along axis 2, and says which of these come before it.
func (s *scheduler) pairs(u *uop.UOp) (i, j, earlier *uop.UOp) {
	rows, n := u.Shape()[0], u.Shape()[1]
	i, j = u.Reshape(rows, n, 1).Expand(rows, n, n), u.Reshape(rows, 1, n).Expand(rows, n, n)
	return i, j, s.numbers(2, rows, n, n).Less(s.numbers(1, rows, n, n))
}

// numbers is the index of each element along an axis.
func (s *scheduler) numbers(axis int, shape ...int) *uop.UOp {
	ones := slices.Repeat([]int{1}, len(shape))
	ones[axis] = shape[axis]
	return s.t.Iota(shape[axis]).Cast(dtype.I32).Reshape(ones...).Expand(shape...)
}

// spreadTo is an array of one number.
func spreadTo(u *uop.UOp, shape uop.Shape) *uop.UOp {
	return u.Reshape(slices.Repeat([]int{1}, len(shape))...).Expand(shape...)
}
