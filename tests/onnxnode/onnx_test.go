package onnxnode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tests/table"
)

// folder is the folder of cases: that of the variable, else one among the shared data. A folder that was named must be there.
func folder(t *testing.T, variable, data string) string {
	if dir := os.Getenv(variable); dir != "" {
		return dir
	}
	return filepath.Clean(require.Data(t, data))
}

// every is which part of the cases a device runs when nobody asks for all: what compiles each kernel takes long.
var every = map[string]int{"CPU": 16, "WASM": 16, "WEBGPU": 24}

// TestONNX runs the folder WEFT_ONNX (default: the shared backend tests) on each device of WEFT_DEVICES and ends with a line for each. All cases run where
// WEFT_ONNX or WEFT_ONNX_ALL is set; else those that are no whole networks on INTERP, and a sample of these elsewhere. WEFT_ONNX_CASES limits the run to names that contain one of its
// words.
func TestONNX(t *testing.T) {
	cases, err := Load(folder(t, "WEFT_ONNX", "onnx-node"))
	if err != nil {
		t.Fatal(err)
	}
	all := os.Getenv("WEFT_ONNX") != "" || os.Getenv("WEFT_ONNX_ALL") != "" || os.Getenv("WEFT_ONNX_CASES") != ""
	tol := Tolerance{Rel: 1e-3, Abs: 1e-7}
	if os.Getenv("WEFT_ONNX") != "" {
		// Cases of later releases: since 1.23 ONNX's own runner allows two units in the last place of bfloat16, because what was recorded rounds to
		// bfloat16 after each addition of a sum.
		tol.BF16 = 1.0 / 64
	}
	onDevices(t, "onnx", Select(cases, os.Getenv("WEFT_ONNX_CASES")), all, tol)
}

// TestModels runs the folder WEFT_MODELS (default: the shared models) likewise.
func TestModels(t *testing.T) {
	cases, err := Load(folder(t, "WEFT_MODELS", "models"))
	if err != nil {
		t.Fatal(err)
	}
	onDevices(t, "models", Select(cases, os.Getenv("WEFT_MODELS_CASES")), true, Tolerance{Rel: 1e-3, Abs: 1e-4})
}

func onDevices(t *testing.T, suite string, cases []*Case, all bool, tol Tolerance) {
	names, named := "CPU,INTERP", false
	if v := os.Getenv("WEFT_DEVICES"); v != "" {
		names, named = v, true
	}
	var rows []table.Row
	for _, name := range strings.Split(names, ",") {
		name = strings.TrimSpace(name)
		t.Run(name, func(t *testing.T) {
			_, err := engine.Use(name)
			if err != nil && named {
				t.Fatalf("device %s: %v", name, err)
			}
			require.Device(t, name, err)
			row := table.Row{Suite: suite, Device: name}
			for i, c := range cases {
				if n := every[name]; !all && (n > 0 && i%n != 0 || strings.HasPrefix(c.Name, "light/")) {
					continue
				}
				begin := time.Now()
				r := c.Run(context.Background(), name, tol)
				took := time.Since(begin)
				if d := os.Getenv("WEFT_ONNX_TIMES"); d != "" && took > 2*time.Second {
					fmt.Printf("%8v %s\n", took.Round(time.Millisecond), c.Name)
				}
				switch r.Status {
				case Passed:
					row.Passed++
				case Failed:
					row.Failed++
					t.Errorf("%s: %s", c.Name, r.Reason)
				default:
					row.NotYet++
					t.Logf("not yet: %s: %s", c.Name, r.Reason)
				}
			}
			rows = append(rows, row)
		})
	}
	for _, r := range rows {
		if err := table.Add(r); err != nil {
			t.Error(err)
		}
	}
}
