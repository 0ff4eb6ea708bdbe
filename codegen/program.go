package codegen

import (
	"github.com/weft-ml/weft/dtype"
)

// Widest is the type whose vectors are asked for to learn what kind of machine a target is.
const Widest = dtype.F32

var kindLetters = [...]byte{Serial: 's', Thread: 't', Grid: 'g', Lane: 'l', Tile: 'u', Vector: 'v'}

// Letter is the kind's letter in dumps and in coloured names.
func (k Kind) Letter() byte { return kindLetters[k] }

// ScratchBytes is the room that an Alloc takes: allocations follow each other in the order in which they
// stand in the tree, each aligned to 64 bytes.
func ScratchBytes(a *Alloc) int64 {
	return (int64(a.N)*int64(max(1, a.Buf.DType().Size())) + 63) &^ 63
}
