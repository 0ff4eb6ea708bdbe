package tokenizer

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Random text of all of Unicode is cut as the library tokenizers 0.23 cuts it. WEFT_SPLITS names a larger file of the same form.
func TestSplits(t *testing.T) {
	path := "testdata/splits.json"
	if other := os.Getenv("WEFT_SPLITS"); other != "" {
		path = other
	}
	var raw map[string][][2]json.RawMessage
	require.NoError(t, json.Unmarshal(read(t, path), &raw))
	for name := range families {
		require.NotEmpty(t, raw[name], name)
		split, ok := family(name)
		require.True(t, ok)
		split = split[:len(split)-1] // without the letters
		for _, c := range raw[name] {
			var text string
			var want []string
			require.NoError(t, json.Unmarshal(c[0], &text))
			require.NoError(t, json.Unmarshal(c[1], &want))
			got := []string{}
			require.NoError(t, split.split(piece{text, true}, func(p piece) { got = append(got, p.text) }))
			require.Equal(t, want, got, "%s: %+q", name, text)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct{ pattern, text, want string }{
		{`a|ab`, "abab", "a,b,a,b"}, {`(?:ab|a)b?`, "abab", "ab,ab"}, {`[^a]+`, "bbabb", "bb,a,bb"}, {`x{2,3}`, "xxxxxx x", "xxx,xxx, x"},
		{`x{2}`, "xxxxx", "xx,xx,x"}, {`\s+$`, "a  b  ", "a  b,  "}, {`(?i:ß|k)`, "Kkẞ", "K,k,ẞ"}, {`[\p{L}-]+`, "a-b c", "a-b, ,c"}, {`(ab)+c`, "ababcab", "ababc,ab"},
		{`a(?=b)`, "abac", "a,bac"}, {`\p{Han}+|\P{L}`, "漢字a1", "漢字,a,1"}, {`.`, "a\nb", "a,\n,b"}, {`[a\]-]`, "]-b", "],-,b"}, {`x*`, "axx", "a,xx"},
	} {
		p, err := parsePattern(c.pattern)
		require.NoError(t, err, c.pattern)
		var got []string
		require.NoError(t, p.split(c.text, func(from, to int, _ bool) { got = append(got, c.text[from:to]) }))
		assert.Equal(t, c.want, strings.Join(got, ","), c.pattern)
	}
	for pattern, want := range map[string]string{
		`a*?`: "not understood", `a++`: "not understood", `(?<=a)b`: "not understood", `(a`: "does not end", `a)`: "not understood", `[a`: "too early",
		`\p{Nope}`: "not known", `\1`: "not understood", `^a`: "not understood", `x{3,2}`: "not understood", `x{1001}`: "not understood", `[b-a]`: "not understood",
		`\`: "backslash", `*`: "not understood", `(?i:[a-z])`: "not understood", `[[:alpha:]]`: "not understood", "\xff": "not valid UTF-8",
		strings.Repeat("(", 40) + strings.Repeat(")", 40): "nested too deep",
	} {
		_, err := parsePattern(pattern)
		require.ErrorContains(t, err, want, pattern)
	}
	p, err := parsePattern(`((a|a)+)+b`)
	require.NoError(t, err)
	require.ErrorContains(t, p.split(strings.Repeat("a", 64), func(int, int, bool) {}), "takes more than 2000 steps")
	p, err = parsePattern(`(ab)+`)
	require.NoError(t, err)
	require.ErrorContains(t, p.split(strings.Repeat("ab", 5000), func(int, int, bool) {}), "takes more than")
}
