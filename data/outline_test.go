package data

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	"golang.org/x/image/math/fixed"
)

var update = flag.Bool("update", false, "write outlines.bin anew from the fonts")

var fonts = map[string][]byte{
	"Go Regular": goregular.TTF, "Go Italic": goitalic.TTF, "Go Bold": gobold.TTF, "Go Bold Italic": gobolditalic.TTF,
	"Go Mono": gomono.TTF, "Go Mono Italic": gomonoitalic.TTF, "Go Mono Bold Italic": gomonobolditalic.TTF,
	"Go Medium": gomedium.TTF, "Go Medium Italic": gomediumitalic.TTF, "Go Mono Bold": gomonobold.TTF,
}

// outlineOf is what a font says of a digit.
func outlineOf(t *testing.T, ttf []byte, digit rune) []segment {
	font, err := sfnt.Parse(ttf)
	require.NoError(t, err)
	var buf sfnt.Buffer
	index, err := font.GlyphIndex(&buf, digit)
	require.NoError(t, err)
	require.NotZero(t, index)
	segments, err := font.LoadGlyph(&buf, index, fixed.I(glyphHeight), nil)
	require.NoError(t, err)
	var out []segment
	for _, s := range segments {
		kind, ok := map[sfnt.SegmentOp]int{sfnt.SegmentOpMoveTo: moveTo, sfnt.SegmentOpLineTo: lineTo, sfnt.SegmentOpQuadTo: curveTo}[s.Op]
		require.True(t, ok, "the fonts have quadratic curves only")
		one := segment{kind: kind}
		for i := range one.points() {
			one.args[i] = point{int(s.Args[i].X), int(s.Args[i].Y)}
		}
		out = append(out, one)
	}
	return out
}

func TestOutlines(t *testing.T) {
	var want []byte
	for _, f := range append(append([]Face{}, TrainFaces...), TestFaces...) {
		require.Contains(t, fonts, f.Name)
		for d := range Classes {
			want = appendOutline(want, outlineOf(t, fonts[f.Name], rune('0'+d)))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("outlines.bin", want, 0o666))
		return
	}
	assert.Equal(t, want, outlines, "outlines.bin is stale: go test ./data -run TestOutlines -update")
	_, rest := readOutlines(outlines, len(TrainFaces)+len(TestFaces))
	assert.Empty(t, rest)
}
