package require

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Each says of how many cases one is to be run: the number in WEFT_EACH, else n. WEFT_EACH=1, as in make table, has all run everywhere.
func Each(n int) int {
	own := os.Getenv("WEFT_EACH")
	if own == "" {
		return n
	}
	each, err := strconv.Atoi(own)
	if err != nil || each < 1 {
		panic("WEFT_EACH is a number from 1 on, not " + own)
	}
	return each
}

// Part leaves each n-th of some cases, others for another seed, and one of each op that there is: that in the middle of those of 32-bit floats,
// which every device has, or of all. What tells of a case gives its op, and a name in which its types are.
func Part[C any](cases []C, n int, seed uint64, what func(C) (op, name string)) (out []C) {
	if n == 1 {
		return cases
	}
	left := make([]bool, len(cases))
	every, floats := map[string][]int{}, map[string][]int{}
	for i, c := range cases {
		left[i] = i%n == int(seed%uint64(n))
		op, name := what(c)
		every[op] = append(every[op], i)
		if strings.Contains(name, "f32") {
			floats[op] = append(floats[op], i)
		}
	}
	for op, of := range every {
		if len(floats[op]) > 0 {
			of = floats[op]
		}
		left[of[len(of)/2]] = true
	}
	for i, c := range cases {
		if left[i] {
			out = append(out, c)
		}
	}
	return out
}

// PartOf is what a log says of a part.
func PartOf(left, all int) string {
	if left == all {
		return fmt.Sprintf("all %d cases", all)
	}
	return fmt.Sprintf("%d of %d cases, of each op at least one; WEFT_EACH=1 runs all", left, all)
}
