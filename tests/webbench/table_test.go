package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	c := compared{"product", 1.2, nil}
	r := judge("wasm", c, map[string]timed{"weft": {Ms: 11}, "a": {Ms: 10}, "b": {Ms: 20}})
	assert.Equal(t, "a", r.Fastest)
	assert.InDelta(t, 1.1, r.Ratio, 1e-9)
	assert.True(t, r.OK)

	r = judge("wasm", c, map[string]timed{"weft": {Ms: 13}, "a": {Ms: 10}})
	assert.False(t, r.OK, "slower than the limit")

	c.against = []string{"b"}
	r = judge("wasm", c, map[string]timed{"weft": {Ms: 13}, "a": {Ms: 10}, "b": {Ms: 20}})
	assert.Equal(t, "b", r.Fastest)
	assert.True(t, r.OK, "the limit means b only")
}

func TestWithinRounds(t *testing.T) {
	got := map[string]timed{"weft": {Ms: 2, Turns: []float64{2, 4, 1}}, "a": {Ms: 4, Turns: []float64{4, 4, 5}}}
	r := judge("wasm", compared{"product", 1, nil}, got)
	assert.InDeltaSlice(t, []float64{0.5, 0.2, 1}, []float64{r.Ratio, r.Least, r.Most}, 1e-9)
}

func TestFailuresAreNotFast(t *testing.T) {
	c := compared{"product", 1, nil}
	r := judge("wasm", c, map[string]timed{"weft": {Ms: 13}, "a": {Failed: "wrong values"}, "b": {Ms: 20}})
	assert.Equal(t, "b", r.Fastest, "who fails is not compared with")
	assert.False(t, judge("wasm", c, map[string]timed{"weft": {Failed: "wrong values"}, "b": {Ms: 20}}).OK)
	assert.False(t, judge("wasm", c, map[string]timed{"weft": {Ms: 1}, "a": {Failed: "gone"}}).OK, "nobody to compare with")
}

func TestWhatIsWanted(t *testing.T) {
	assert.True(t, options{}.wants("wasm", "matmul 512"))
	assert.True(t, options{only: "wasm"}.wants("wasm", "matmul 512"))
	assert.True(t, options{only: "conv, matmul"}.wants("wasm", "matmul 512"))
	assert.False(t, options{only: "conv"}.wants("wasm", "matmul 512"))
}

func TestCasesAreInThePage(t *testing.T) {
	source, err := pages.ReadFile("pages/cases.js")
	require.NoError(t, err)
	for _, c := range slices.Concat(onWASM, onWebGPU) {
		assert.Contains(t, string(source), "'"+c.name+"': ", "how it is made")
	}
}

func TestWaves(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	row := []request{{"page", 1, at(0), at(10)}, {"script", 1, at(11), at(20)}, {"module", 1, at(11), at(50)}, {"import", 1, at(21), at(30)}}
	assert.Equal(t, 3, waves(row), "page, script, import")
	assert.Equal(t, 2, waves(row[:3]))
	assert.Equal(t, 0, waves(nil))
}

// What goes over a wire takes as long as its bits, however many share it.
func TestWire(t *testing.T) {
	w := &wire{network: network{bits: 8e6}} // a MB a second
	start := time.Now()
	done := make(chan bool)
	for range 4 {
		go func() {
			for range 5 {
				w.through(1000)
			}
			done <- true
		}()
	}
	for range 4 {
		<-done
	}
	assert.GreaterOrEqual(t, time.Since(start), 20*time.Millisecond)
	(&wire{}).through(1 << 40) // as many bits as there are
}

func TestVisitorsHavePages(t *testing.T) {
	for _, who := range visitors {
		source, err := pages.ReadFile("pages/start/" + who + ".html")
		require.NoError(t, err)
		assert.Contains(t, string(source), "globalThis.first = { values, ms: performance.now()")
	}
}
