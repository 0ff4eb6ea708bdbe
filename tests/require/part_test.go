package require

import (
	"slices"
	"strings"
	"testing"
)

func TestPart(t *testing.T) {
	var all []string
	for _, op := range []string{"add", "mul"} {
		for _, of := range []string{"f64 [1]", "f32 [0]", "f32 [5]", "f32 [9]", "i32 [2]", "i32 [3]"} {
			all = append(all, op+" "+of)
		}
	}
	all = append(all, "shift i32 [2]")
	what := func(c string) (op, name string) {
		op, _, _ = strings.Cut(c, " ")
		return op, c
	}
	for _, c := range []struct {
		n    int
		seed uint64
		want []string
	}{
		{1, 7, all},
		{6, 0, []string{"add f64 [1]", "add f32 [5]", "mul f64 [1]", "mul f32 [5]", "shift i32 [2]"}},
		{6, 1, []string{"add f32 [0]", "add f32 [5]", "mul f32 [0]", "mul f32 [5]", "shift i32 [2]"}},
		{99, 98, []string{"add f32 [5]", "mul f32 [5]", "shift i32 [2]"}},
	} {
		if got := Part(all, c.n, c.seed, what); !slices.Equal(got, c.want) {
			t.Errorf("each %d, seed %d: %q, not %q", c.n, c.seed, got, c.want)
		}
	}
	if got := Part([]string(nil), 3, 0, what); len(got) != 0 {
		t.Errorf("%q of nothing", got)
	}
	t.Setenv("WEFT_EACH", "")
	if got := Each(4); got != 4 {
		t.Errorf("each %d where nothing is said, not 4", got)
	}
	t.Setenv("WEFT_EACH", "2")
	if got := Each(4); got != 2 {
		t.Errorf("each %d, not 2", got)
	}
}
