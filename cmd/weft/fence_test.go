package main

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
)

// Cases that are measured run once between fences, in a process of their own: measurements would not tell of an access
// outside of an array. One in four does, WEFT_EACH=1 has all; conformance (tests/devicetest, tests/torchops) runs between fences as well.
func TestBenchBetweenFences(t *testing.T) {
	if testing.Short() {
		t.Skip("computes all cases of the benchmark")
	}
	ctx := context.Background()
	if os.Getenv("WEFT_FENCED") == "" {
		_, err := engine.Use("CPU")
		need.Device(t, "CPU", err)
		cmd := exec.Command(os.Args[0], "-test.run", "^TestBenchBetweenFences$", "-test.v")
		cmd.Env = append(os.Environ(), "WEFT_FENCED=1", "WEFT_DATA="+need.Data(t))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	engine.Configure(engine.Options{Fence: true}, "CPU")
	each := need.Each(4)
	for i, c := range benchCases {
		if i%each != 1%each {
			continue
		}
		switch c.name {
		case "eigh-200", "qr-200": // launch the kernels of 64 rows thousands of times
			continue
		case "onnx-bert", "onnx-gpt2": // the kernels of linear layers and of gpt2-token, with weights of 500 MB
			continue
		case "lstm-train-256": // the kernels of lstm-256 and lstm-train-64; scheduling takes longer than that of any other case
			continue
		}
		if c.prepare == nil {
			continue
		}
		w, err := c.prepare(ctx)
		require.NoError(t, err, c.name)
		require.NoError(t, w.run(ctx), c.name)
		if w.into { // into the results of the run before
			require.NoError(t, w.run(ctx), c.name)
		}
	}
}
