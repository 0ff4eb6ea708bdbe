package data

import (
	"fmt"
	"sync"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gobolditalic"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/gomediumitalic"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonobolditalic"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
)

// A Face is a font that synthetic digits are drawn with.
type Face struct {
	Name string
	ttf  []byte
}

// The faces of the two halves of a synthetic set: none is in both. Go Smallcaps and its italic
// are in neither, because their digits are those of Go Regular and Go Italic.
var (
	TrainFaces = []Face{
		{"Go Regular", goregular.TTF}, {"Go Italic", goitalic.TTF}, {"Go Bold", gobold.TTF}, {"Go Bold Italic", gobolditalic.TTF},
		{"Go Mono", gomono.TTF}, {"Go Mono Italic", gomonoitalic.TTF}, {"Go Mono Bold Italic", gomonobolditalic.TTF},
	}
	TestFaces = []Face{
		{"Go Medium", gomedium.TTF}, {"Go Medium Italic", gomediumitalic.TTF}, {"Go Mono Bold", gomonobold.TTF},
	}
)

// alphabet is the ten digits of one face.
type alphabet [Classes]glyph

// The distance fields are made once: 0.3 s for all faces.
var trainAlphabets = sync.OnceValue(func() []alphabet { return alphabets(TrainFaces) })
var testAlphabets = sync.OnceValue(func() []alphabet { return alphabets(TestFaces) })

func alphabets(faces []Face) []alphabet {
	out := make([]alphabet, len(faces))
	for i, face := range faces {
		font, err := sfnt.Parse(face.ttf)
		if err != nil {
			panic(fmt.Sprintf("BUG: data: embedded face %s: %v", face.Name, err))
		}
		for d := range out[i] {
			if out[i][d], err = newGlyph(font, rune('0'+d)); err != nil {
				panic(fmt.Sprintf("BUG: data: embedded face %s: %v", face.Name, err))
			}
		}
	}
	return out
}
