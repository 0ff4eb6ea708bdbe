package main

// keeps says what else is known of what keeps a case from being as fast as the best of the others, beside what a run on one thread says.
var keeps = map[string]string{
	"matmul-i8-i32":    "Both factors are brought into the order of the machine's instructions for narrow numbers, of AMX or words of four, the first one once for each 256 columns",
	"matmul-bf16-1024": "Both factors are brought into the order of the machine's instructions for narrow numbers, of AMX or words of two, the first one once for each 256 columns",
	"sort-1m":          "Four passes by digits of 8 bits, each of which puts keys and their numbers at places that come from data",
	"sort-rows":        "The same: blocks of a row have tables of 256 digits each",
	"fft-65536":        "Eight stages of four terms, each of which reads and writes all numbers",
	"cholesky-200":     "Eight rows take two launches, 58 in all, and of the product that updates the first half of the rows only a part is needed",
	"solve-64":         "Two columns take three launches",
	"solve-200":        "All rows take part in all steps, those that are done as well, which is twice the work; two columns take three launches",
	"qr-64":            "Reflections follow each other, three launches each, and are not applied in blocks",
	"qr-200":           "Products of 16 terms go over all rows for each of 13 blocks, and again for the orthogonal factor; reflections take two or three launches each",
	"eigh-64":          "A reflection takes four launches, and zeros of the functions between whose poles eigenvalues lie take 15 rounds for each of two levels",
	"eigh-200":         "Reflections to three diagonals are not gathered into blocks, so that the matrix is read and written for each of 198; zeros of the functions between whose poles eigenvalues lie take 15 rounds for each of four levels",
}
