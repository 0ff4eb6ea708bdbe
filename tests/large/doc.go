// Package large makes random programs out of whole layers over arrays whose sizes stand at the edges of vectors, tiles and
// blocks, and compares devices with plain loops in float64.
//
// Package fuzz draws single ops over small arrays and knows what each element may be. Here sizes are 7, 8, 9 … 129, 257, 1000,
// 65,537, where tilings, tails, masks and split reductions come into play, and a step is a layer as a user writes it: a
// convolution with its norm and pool, attention with groups of heads and a cache, a loop of a recurrent cell, a mixture of experts,
// a gradient in the middle. A program runs twice: on the device under test as it is, its results together, one after the other,
// backwards, realized half way, captured, or again and again with other numbers in the graph; and on INTERP in float64 without any
// optimisation, every node stored. Programs of whole numbers must give equal elements. Of others the second run is repeated with
// its leaves a little moved, and in the type of the program, which says how far an element may be off (judge.go).
//
// Other tests need no second run: relations between programs that must give the same (relations_test.go), gradients that must be
// slopes (slopes_test.go), arrays that are assigned from each other (states_test.go), calls with arguments of which most are wrong
// (refuse_test.go), networks that must learn alike (models_test.go), programs of unusual measures, and many at once
// (stress_test.go), infinities and NaN, and numbers of threads (special_test.go).
//
// The package knows package tensor's methods. It refuses to know graphs and kernels.
//
//	WEFT_LARGE=2000 go test ./tests/large -timeout 2h -v -run Programs -seed 7 -device CPU+GCC,WASM
package large
