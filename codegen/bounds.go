package codegen

// Abs is the magnitude of a number.
func Abs(a int) int { return max(a, -a) }

// FloorDiv is a/b rounded down.
func FloorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// CeilDiv is a/b rounded up.
func CeilDiv(a, b int) int { return -FloorDiv(-a, b) }

// BigInt is beyond every number that sizes and offsets reach; bounds above it may be infinite.
const BigInt = 1 << 61

// Pow2 is the greatest power of two up to n.
func Pow2(n int) int {
	p := 1
	for 2*p <= n {
		p *= 2
	}
	return p
}
