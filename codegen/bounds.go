package codegen

func abs(a int) int { return max(a, -a) }

func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func ceilDiv(a, b int) int { return -floorDiv(-a, b) }

// bigInt is beyond every number that sizes and offsets reach; bounds above it may be infinite.
const bigInt = 1 << 61
