package codegen_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wasm"
)

var vectorLoad = regexp.MustCompile(`local\.get (\d+)\n\s*(v128\.load\S*) offset=(\d+)\n\s*local\.set (\d+)`)

// held is how many vector registers the innermost loop with multiply-adds wants of an engine that keeps what it loaded until it is used for the last
// time, and finds the same load again.
func held(t *testing.T, source string) (most int) {
	at := strings.Index(source, "f32x4.relaxed_madd")
	require.Positive(t, at)
	loop := source[strings.LastIndex(source[:at], "loop"):]
	loop = loop[:strings.Index(loop, "br_if")]
	sums := map[string]bool{}
	for _, m := range regexp.MustCompile(`relaxed_madd\n\s*local\.set (\d+)`).FindAllStringSubmatch(loop, -1) {
		sums[m[1]] = true
	}
	first, last, known := map[string]int{}, map[string]int{}, map[string]string{}
	for _, m := range vectorLoad.FindAllStringSubmatchIndex(loop, -1) {
		text := func(i int) string { return loop[m[2*i]:m[2*i+1]] }
		key := text(1) + " " + text(2) + " " + text(3)
		if _, ok := first[key]; !ok {
			first[key] = m[0]
		}
		last[key], known[text(4)] = m[1], key
	}
	for name, key := range known {
		if i := strings.LastIndex(loop, "local.get "+name+"\n"); i >= 0 {
			last[key] = max(last[key], i)
		}
	}
	for _, from := range first {
		n := len(sums)
		for key := range first {
			if first[key] <= from && from < last[key] {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// What tiles of convolutions hold in a page fits its registers: rows of lanes that several results use, and what neighbouring steps share.
func TestTilesHoldWhatTheyLoad(t *testing.T) {
	t.Parallel()
	m := wasm.Machine{Relaxed: true}
	target := wasm.Target(m)
	for _, v := range []window{{1, 128, 256, 7, 3, 1, 1}, {1, 128, 128, 28, 3, 1, 1}, {1, 24, 48, 20, 3, 1, 1}, {1, 16, 32, 112, 3, 1, 1}, {1, 64, 64, 56, 3, 1, 1}} {
		s := v.forward(true).s
		p, err := lower.Lower(s, model.Choose(s, target), target)
		require.NoError(t, err)
		k, err := wasm.Renderer(m)(p)
		require.NoError(t, err)
		assert.LessOrEqual(t, held(t, k.Source), target.Registers, "%v: %s", v, k.Directives)
	}
}
