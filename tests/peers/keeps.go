package main

// keeps says what keeps a case from being as fast as the best of the others.
var keeps = map[string]string{
	"sort-1m":      "blocks of 128 are ordered by counting, 128 comparisons an element, 14 times: once, and in each merge of runs; 70 launches",
	"sort-rows":    "blocks of 128 are ordered by counting, 128 comparisons an element, four times: once, and in each merge of runs; 20 launches",
	"fft-65536":    "factors of the length are transformed by products with their matrices, not by butterflies, in 15 launches",
	"fft-1009":     "a prime length is a product with its matrix of 1009², n² multiply-adds instead of about n·log n",
	"cholesky-200": "columns follow each other, two launches each, 404 in all, and none is a product of blocks",
	"solve-64":     "columns are eliminated one by one, two launches each",
	"solve-200":    "columns are eliminated one by one, three launches each, 601 in all, and none is a product of blocks",
	"qr-64":        "reflections follow each other, three launches each, and are not applied in blocks",
	"qr-200":       "reflections follow each other, three launches each, 598 in all, and are not applied in blocks",
	"eigh-64":      "the one-sided Jacobi method turns pairs of columns in 2277 launches; the others bring the matrix to three diagonals first",
	"eigh-200":     "the one-sided Jacobi method turns pairs of columns in 8766 launches; the others bring the matrix to three diagonals first",
}

// kept is the sentence about a case.
func kept(name string) string {
	if s, ok := keeps[name]; ok {
		return s
	}
	return "not looked at yet"
}
