package torchops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tests/table"
)

// folder is the folder of cases: WEFT_TORCH_OPS, else torch-ops among the shared data. A folder that was named
// must be there.
func folder(t *testing.T) string {
	if dir := os.Getenv("WEFT_TORCH_OPS"); dir != "" {
		return dir
	}
	if os.Getenv("CI") == "true" {
		t.Setenv("WEFT_REQUIRE", os.Getenv("WEFT_REQUIRE")+",DATA")
	}
	return filepath.Clean(require.Data(t, "torch-ops"))
}

// parts is of how many cases a device runs one when nobody names devices, cases or a folder, and one of each op: CPU and REF run all.
var parts = map[string]int{"WASM": 12, "INTERP": 4, "WEBGPU": 24}

// TestTorchOps runs the folder on each device of WEFT_DEVICES (default CPU,WASM,INTERP,REF,WEBGPU, of which the table above has some run
// a part) and ends with a line for each. Engines have what the environment says (NOOPT=1, BEAM=2, CC=clang-19). WEFT_EACH=1, WEFT_TORCH_OPS and WEFT_TORCH_CASES have all run everywhere. WEFT_TORCH_CASES limits
// the run to cases whose id or op contains one of its words.
func TestTorchOps(t *testing.T) {
	cases, err := Load(folder(t))
	if err != nil {
		t.Fatalf("the cases cannot be read: %v; name a folder of the right form with WEFT_TORCH_OPS", err)
	}
	cases = selected(cases, os.Getenv("WEFT_TORCH_CASES"))
	names, named := "CPU,WASM,INTERP,REF,WEBGPU", false
	if v := os.Getenv("WEFT_DEVICES"); v != "" {
		names, named = v, true
	}
	o, _, err := backends.Settings(os.Getenv, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	o.Fence = true // on CPU: what touches memory outside of its arrays ends the process
	engine.Configure(o, "")
	var rows []table.Row
	for _, name := range strings.Split(names, ",") {
		name = strings.TrimSpace(name)
		t.Run(name, func(t *testing.T) {
			e, err := engine.Use(name)
			if err != nil && named {
				t.Fatalf("device %s: %v", name, err)
			}
			require.Device(t, name, err)
			some := cases
			if n := parts[name]; n > 0 && !named && os.Getenv("WEFT_TORCH_CASES")+os.Getenv("WEFT_TORCH_OPS") == "" {
				some = require.Part(cases, require.Each(n), 0, func(c *Case) (op, name string) { return c.Family + " " + c.Op, "" })
			}
			t.Logf("%s: %s", name, require.PartOf(len(some), len(cases)))
			r := Run(context.Background(), e, some)
			fmt.Print(r.Failures())
			if r.Count(Failed) > 0 {
				t.Fail()
			}
			rows = append(rows, r.Row())
		})
	}
	for _, r := range rows {
		if err := table.Add(r); err != nil {
			t.Error(err)
		}
	}
}

func selected(cases []*Case, words string) []*Case {
	if words == "" {
		return cases
	}
	var out []*Case
	for _, c := range cases {
		for _, w := range strings.Split(words, ",") {
			if strings.Contains(c.ID, w) || strings.Contains(c.Op, w) {
				out = append(out, c)
				break
			}
		}
	}
	return out
}
