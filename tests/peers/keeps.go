package main

// keeps says what keeps a case from being as fast as the best of the others.
var keeps = map[string]string{
	"matmul-i8-i32":    "four products of 8 bits are added at once; the machine's tiles of bytes (AMX) could add 64",
	"matmul-bf16-1024": "numbers are widened to float32; the machine's instructions for bfloat16 take denormal numbers for 0, which no other target does",
	"sort-1m":          "blocks of 32 are ordered by counting, 32 comparisons an element, 16 times: once, and in each merge of runs; 80 launches",
	"sort-rows":        "blocks of 32 are ordered by counting, 32 comparisons an element, six times: once, and in each merge of runs; 30 launches",
	"fft-65536":        "four stages of 16, each a product with matrices for either part and a launch that turns the result: butterflies need a quarter of the multiply-adds, and no launches between",
	"cholesky-200":     "columns follow each other, two launches each, 404 in all, and none is a product of blocks",
	"solve-64":         "columns are eliminated one by one, two launches each",
	"solve-200":        "columns are eliminated one by one, three launches each, 601 in all, and none is a product of blocks",
	"qr-64":            "reflections follow each other, three launches each, and are not applied in blocks",
	"qr-200":           "reflections follow each other, three launches each, 598 in all, and are not applied in blocks",
	"eigh-64":          "the one-sided Jacobi method turns pairs of columns in 2277 launches; the others bring the matrix to three diagonals first",
	"eigh-200":         "the one-sided Jacobi method turns pairs of columns in 8766 launches; the others bring the matrix to three diagonals first; results are less exact than theirs, 1e-5 of the norm",
}

// kept is the sentence about a case.
func kept(name string) string {
	if s, ok := keeps[name]; ok {
		return s
	}
	return "not looked at yet"
}
