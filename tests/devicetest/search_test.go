package devicetest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/search"
	need "github.com/weft-ml/weft/tests/require"
)

// TestSearch runs every so-manieth case with a search of width 2 that takes whatever measured fastest, by any margin: what is
// tried leaves the model's results, and what is taken the truth. Other cases for another WEFT_SEED; all of them, in an hour:
//
//	WEFT_SEARCH=1 go test ./tests/devicetest -run TestSearch -timeout 3h
//
// WGSL lets compilers assume that there are no NaN and infinities (section "Floating Point Evaluation"): of a select between 0 and x, times
// w, Mesa's makes a select between 0 and x·w in some forms of a kernel, where an infinite w makes NaN in others. A search takes neither for the other.
func TestSearch(t *testing.T) {
	for _, d := range []struct {
		name  string
		every int
	}{{"INTERP", 613}, {"WASM", 401}, {"CPU", 907}, {"WEBGPU", 97}} {
		t.Run(d.name, func(t *testing.T) { searched(t, d.name, d.every) })
	}
}

func searched(t *testing.T, device string, every int) {
	every, err := strconv.Atoi(getenv("WEFT_SEARCH", fmt.Sprint(every)))
	require.NoError(t, err, "WEFT_SEARCH")
	seed, err := strconv.ParseUint(getenv("WEFT_SEED", "1"), 10, 64)
	require.NoError(t, err, "WEFT_SEED")
	kernels, other := 0, 0
	dev, err := engine.Open(device, engine.Options{
		Poison: true, Fence: device == "CPU", CacheDir: t.TempDir(), Search: 2,
		SearchCheck: func(kernel, fault string) {
			if device == "WEBGPU" && strings.Contains(fault, "NaN") && strings.Contains(fault, "(of special numbers)") {
				t.Logf("allowed, and not taken: %s: %.300s", kernel, fault) // see TestSearch
				return
			}
			t.Errorf("%s: %.600s", kernel, fault)
		},
		Searched: func(c search.Choice) {
			kernels++
			if c.Best != c.Model {
				other++
			}
		},
	})
	need.Device(t, device, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	ref, err := engine.Open("REF", engine.Options{})
	need.Device(t, "REF", err)
	var sample []Case
	n := int(seed)
	for _, g := range groups {
		s := newSuite(seed)
		g.cases(s)
		for _, c := range s.matching(os.Getenv("WEFT_CASE"), each(1)) {
			if n++; n%every == 0 {
				sample = append(sample, c)
			}
		}
	}
	r := runner{t: t, dev: dev, ref: ref, seed: seed}
	r.run(sample)
	t.Logf("%s: %d cases, %d kernels, %d with directives that are not the model's", device, len(sample), kernels, other)
	assert.Positive(t, kernels) // how many are not the model's the clock decides
}
