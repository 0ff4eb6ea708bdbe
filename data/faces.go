package data

import "sync"

// A Face is a font that synthetic digits are drawn with.
type Face struct{ Name string }

// The faces of the two halves of a synthetic set: none is in both. Go Smallcaps and its italic
// are in neither, because their digits are those of Go Regular and Go Italic.
var (
	TrainFaces = []Face{
		{"Go Regular"}, {"Go Italic"}, {"Go Bold"}, {"Go Bold Italic"}, {"Go Mono"}, {"Go Mono Italic"}, {"Go Mono Bold Italic"},
	}
	TestFaces = []Face{{"Go Medium"}, {"Go Medium Italic"}, {"Go Mono Bold"}}
)

// alphabet is the ten digits of one face.
type alphabet [Classes]glyph

// The distance fields are made once: 0.3 s for all faces.
var trainAlphabets = sync.OnceValue(func() []alphabet {
	faces, _ := readOutlines(outlines, len(TrainFaces))
	return alphabets(faces)
})
var testAlphabets = sync.OnceValue(func() []alphabet {
	_, rest := readOutlines(outlines, len(TrainFaces))
	faces, _ := readOutlines(rest, len(TestFaces))
	return alphabets(faces)
})

func alphabets(faces [][Classes][]segment) []alphabet {
	out := make([]alphabet, len(faces))
	for i := range faces {
		for d := range out[i] {
			out[i][d] = newGlyph(faces[i][d])
		}
	}
	return out
}
