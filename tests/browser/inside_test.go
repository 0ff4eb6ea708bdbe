package browser_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
	"github.com/weft-ml/weft/tests/devicetest"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tests/table"
	"github.com/weft-ml/weft/tests/webkit"
)

// A part of the cases that native devices pass, with one of each op, runs within Chromium, on each device that a page has: WEFT_EACH=1, and make
// table, run all. WEFT_INSIDE limits them to tests whose name it matches, WEFT_CASE and WEFT_SEED mean what they mean natively.

// What WEBGPU computes of each op is compared natively too, by the same shaders.
func TestInsideWEBGPU(t *testing.T) {
	inside(t, openFrom(t, browser.Serve), "WEBGPU", "in Chromium", 48)
}

func TestInsideWASM(t *testing.T) { inside(t, openFrom(t, browser.Serve), "WASM", "in Chromium", 32) }

// Their plans are those that TestInsideWASM runs without threads, and TestWASM with them.
func TestInsideWASMIsolated(t *testing.T) {
	inside(t, openFrom(t, browser.ServeIsolated), "WASM", "in Chromium with threads", 48)
}

// WebKit compiles WebAssembly by another compiler.
func TestInsideWASMInWebKit(t *testing.T) {
	inside(t, openInWebKit(t, webkit.Options{}), "WASM", "in WebKit with threads", 64)
}

// insideLimit is how long the cases of one device may take; a machine with nothing else to do needs a third of it.
const insideLimit = 8 * time.Minute

// built is package inside as a test binary for js, and the recorded cases, in the folder that pages are served from.
var built struct {
	sync.Once
	err error
}

var recorded = []string{"cases.jsonl", "tensors.bin", "ops.tsv"}

func build(t *testing.T) error {
	data := need.Data(t, "torch-ops")
	built.Do(func() {
		// With the flags of wasm/pack, which has compiled most packages with them.
		cmd := exec.Command("go", "test", "-c", "-trimpath", "-ldflags=-s -w", "-gcflags=all=-l -d=disablenil", "-o", filepath.Join(shared.folder, "inside.wasm"), "./tests/browser/inside")
		cmd.Dir = need.Root(t)
		cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
			return
		}
		for _, name := range recorded {
			raw, err := os.ReadFile(filepath.Join(data, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(shared.folder, name), raw, 0o666)
			}
			if err != nil {
				built.err = err
			}
		}
	})
	return built.err
}

// writeTruth leaves what the conformance cases give on REF in the folder that pages are served from.
func writeTruth(t *testing.T, normal bool, each int) string {
	name := fmt.Sprintf("truth-%v-%d.gob", normal, each)
	path := filepath.Join(shared.folder, name)
	if _, err := os.Stat(path); err == nil {
		return name
	}
	f, err := os.Create(path)
	require.NoError(t, err)
	defer func(before bool) { devicetest.NormalInputs = before }(devicetest.NormalInputs)
	devicetest.NormalInputs = normal
	require.NoError(t, errors.Join(devicetest.WriteTruth(f, each), f.Close()))
	return name
}

// run is a test binary in a worker.
type run struct {
	Printed string
	Code    *int
}

// inside runs each n-th of the conformance cases and of the recorded cases at the same time, in a worker each.
func inside(t *testing.T, p browser.Tab, device, where string, n int) {
	if os.Getenv("WEFT_CASE") != "" {
		n = 1
	}
	n = need.Each(n)
	require.NoError(t, build(t))
	files := map[string]string{"/truth": writeTruth(t, device == "WEBGPU", n)}
	for _, name := range recorded {
		files["/torch-ops/"+name] = name
	}
	tests := []string{"TestDevice", "TestTorchOps"}
	if device == "WEBGPU" {
		tests = append(tests, "TestParts")
	}
	if only := os.Getenv("WEFT_INSIDE"); only != "" {
		tests = []string{only}
	}
	start := time.Now()
	for _, name := range tests {
		env := map[string]string{
			"WEFT_DEVICE": device, "WEFT_TORCH_OPS": "/torch-ops", "WEFT_TRUTH": "/truth", "GOGC": "300", "WEFT_REQUIRE": device + ",REF",
			"WEFT_CASE": os.Getenv("WEFT_CASE"), "WEFT_SEED": os.Getenv("WEFT_SEED"), "WEFT_EACH": strconv.Itoa(n),
		}
		options, err := json.Marshal(map[string]any{
			"wasm": "inside.wasm", "argv": []string{"inside", "-test.v", "-test.run=" + name}, "data": files, "env": env,
		})
		require.NoError(t, err)
		require.NoError(t, p.Run("startInside("+string(options)+")", nil))
	}
	_ = p.Eventually("runs.every((r) => r.code !== null)", insideLimit) // what did not end is told below
	var runs []run
	require.NoError(t, p.Run("return runs", &runs))
	for i, r := range runs {
		for _, row := range table.Parse(r.Printed) {
			row.Device += " " + where
			require.NoError(t, table.Add(row))
		}
		if r.Code == nil || *r.Code != 0 || testing.Verbose() {
			t.Log(r.Printed)
		}
		if assert.NotNil(t, r.Code, "%s has not ended after %v", tests[i], insideLimit) {
			assert.Zero(t, *r.Code, tests[i])
		}
	}
	t.Logf("%s %s: %.0f s", device, where, time.Since(start).Seconds())
}
