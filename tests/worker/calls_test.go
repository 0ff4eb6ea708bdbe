package worker

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counting is the worker with calls that are counted.
//
//go:embed testdata/counting.mjs
var counting []byte

// instead has a folder run another script in the place of worker.mjs.
func instead(t testing.TB, folder, name string, script []byte) {
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), script, 0o666))
	config, err := os.ReadFile(filepath.Join(folder, "wrangler.jsonc"))
	require.NoError(t, err)
	changed := bytes.Replace(config, []byte(`"worker.mjs"`), []byte(`"`+name+`"`), 1)
	require.NotEqual(t, config, changed)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "wrangler.jsonc"), changed, 0o666))
}

// Calls between Go and JavaScript are most of what a request takes beside the kernels, up to 12 µs each, and their number does not depend on the
// machine: that of Go 1.26 and package workers v0.31.0, which need all but the one that makes the answer's text, and one that sets its type. A request wakes the program three times: it comes,
// its promise is made, and its run has ended.
func TestCallsOfARequest(t *testing.T) {
	tools(t)
	folder := build(t)
	instead(t, folder, "counting.mjs", counting)
	d := start(t, folder)
	counts := func() (counted map[string]int) {
		status, text, err := d.ask("PUT", "/", "text/plain", strings.NewReader(""))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, text)
		require.NoError(t, json.Unmarshal([]byte(text), &counted))
		return counted
	}
	_, asPNG, asJSON := picture(t, 1)
	for kind, body := range map[string][]byte{"image/png": asPNG, "application/json": asJSON} {
		for range 3 { // the first opens the model
			counts()
			status, text, err := d.ask("POST", "/predict", kind, bytes.NewReader(body))
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, text)
		}
		all, calls := counts(), 0
		for name, n := range all {
			if name != "resume" {
				calls += n
			}
		}
		assert.Equal(t, 3, all["resume"], kind)
		assert.Equal(t, 49, calls, "%s: %v", kind, all)
	}
}
