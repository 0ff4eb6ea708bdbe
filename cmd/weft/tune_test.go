package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/search"
	"github.com/weft-ml/weft/runtime/codecache"
)

// What was found goes into a file and out of it; a file of somebody else's is refused in words.
func TestTuneExportImport(t *testing.T) {
	from, to, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "directives")
	weft := func(cache string, args ...string) (code int, out, log string) {
		var o, l bytes.Buffer
		code = run(context.Background(), append([]string{"tune"}, args...), func(k string) string { return map[string]string{"WEFT_CACHE": cache}[k] }, &o, &l)
		return code, o.String(), l.String()
	}
	code, _, log := weft(from, "export", file)
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, log, "nothing was found yet")
	kept, err := backends.OpenDirectives(engine.Options{CacheDir: from})
	require.NoError(t, err)
	c := search.Choice{Key: strings.Repeat("0b", 32), Machine: "m", Name: "r_2", ModelSeconds: 2, BestSeconds: 1, Model: "vector a0", Best: "tile a0", Complete: true}
	require.NoError(t, kept.Put(search.EntryName(codecache.HashOf, c.Key, c.Machine), search.FormatChoices([]search.Choice{c})))
	kept.Close()

	code, out, log := weft(from, "export", file)
	require.Equal(t, []any{0, "1 kernels\n", ""}, []any{code, out, log})
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), "\tvector a0\ttile a0\t")
	code, out, _ = weft(to, "import", file)
	require.Equal(t, []any{0, "1 kernels\n"}, []any{code, out})
	again := file + "2"
	code, _, _ = weft(to, "export", again)
	require.Zero(t, code)
	same, err := os.ReadFile(again)
	require.NoError(t, err)
	assert.Equal(t, text, same)

	require.NoError(t, os.WriteFile(file, []byte("weft directives 1\nall of them\n"), 0o600))
	code, _, log = weft(to, "import", file)
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, log, "kept directives: line 2: 1 fields, not 8")
	code, _, log = weft(to, "import")
	assert.Equal(t, exitUsage, code)
	assert.NotEmpty(t, log)
	code, _, log = weft(to, "report", "no-such-case")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, log, "unknown bench case")
}

// Those furthest from the best come first, then the mean.
func TestTuneSummary(t *testing.T) {
	var out bytes.Buffer
	p := &program{out: &out}
	require.NoError(t, p.summary([]tuned{
		{"a", "CPU", "r_2", 1, 1, 1, "vector a0", "vector a0"},
		{"b", "CPU", "r_3", 4, 1, 4, "vector a0", "tile a0"},
	}))
	text := out.String()
	assert.Less(t, strings.Index(text, "r_3"), strings.Index(text, "r_2"))
	assert.Contains(t, text, "2 kernels take 2.00 times as long in the geometric mean as the best that was found; 1 more than twice as long\n")
	assert.Contains(t, text, "b r_3: 4.00 times\n  model vector a0\n  best  tile a0\n")
	assert.NotContains(t, text, "a r_2: 1.00 times")
}
