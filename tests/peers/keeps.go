package main

// keeps says what keeps a case from being as fast as the best of the others.
var keeps = map[string]string{
	"matmul-i8-i32":    "both factors are brought into the order of the machine's tiles (AMX), the first one once for each 256 columns",
	"matmul-bf16-1024": "both factors are brought into the order of the machine's tiles (AMX), the first one once for each 256 columns",
	"sort-1m":          "blocks of 32 are ordered by counting, 32 comparisons an element, 16 times: once, and in each merge of runs; 80 launches",
	"sort-rows":        "blocks of 32 are ordered by counting, 32 comparisons an element, six times: once, and in each merge of runs; 30 launches",
	"fft-65536":        "four stages of 16, each a product with matrices for either part and a launch that turns the result: butterflies need a quarter of the multiply-adds, and no launches between",
	"cholesky-200":     "within blocks of 16 columns steps follow each other, a launch each, 274 launches in all",
	"solve-64":         "columns are eliminated one by one, two launches each",
	"solve-200":        "columns of a block of 16 are eliminated one by one, three launches each",
	"qr-64":            "reflections follow each other, three launches each, and are not applied in blocks",
	"qr-200":           "reflections of a block of 16 follow each other, three launches each, and one more for the block's product: 908 in all",
	"eigh-64":          "a reflection takes four launches, and zeros of the functions between whose poles eigenvalues lie are found bit by bit, 30 launches for each of two levels",
	"eigh-200":         "reflections to three diagonals are not gathered into blocks, so that the matrix is read and written for each of 198; zeros of the functions between whose poles eigenvalues lie are found bit by bit, 30 launches for each of four levels",
}

// kept is the sentence about a case.
func kept(name string) string {
	if s, ok := keeps[name]; ok {
		return s
	}
	return "not looked at yet"
}
