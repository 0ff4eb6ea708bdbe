//go:build linux

package memory

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// childOf names, for a child of TestDroppedResultsStayFlat, its device and how it runs.
const childOf = "WEFT_TEST_RESIDENT"

const (
	elements = 16 << 20 // of a result: 64 MB
	warm     = 2        // runs
	runs     = 24
)

// Results that a program drops lie where the ones before lay: the most that was ever resident is what the first runs needed, and
// that is the input and a result. It is measured in a process of its own, where nothing else has been resident.
func TestDroppedResultsStayFlat(t *testing.T) {
	if of := os.Getenv(childOf); of != "" {
		device, how, _ := strings.Cut(of, " ")
		resident(t, device, how)
		return
	}
	if testing.Short() {
		t.Skip("writes gigabytes into memory")
	}
	for _, of := range []string{"CPU Run", "CPU RunInto", "CPU Realize", "CPU Beside", "WASM Run", "WASM RunInto", "INTERP Run"} {
		t.Run(of, func(t *testing.T) {
			device, _, _ := strings.Cut(of, " ")
			open(t, device, engine.Options{}) // or skip
			c := exec.Command(os.Args[0], "-test.run=^TestDroppedResultsStayFlat$", "-test.v")
			c.Env = append(os.Environ(), childOf+"="+of)
			out, err := c.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "resident at first", "the child did its work")
			t.Logf("%s", out)
		})
	}
}

// resident makes results and drops them.
func resident(t *testing.T, device, how string) {
	b := open(t, device, engine.Options{})
	x := b.floats(3).Expand(elements).Contiguous() // without any of it in Go's memory
	require.NoError(t, x.Realize(ctx))
	var others []*T // that live
	if how == "Beside" {
		for range 10 {
			others = append(others, x.Add(b.floats(float32(len(others)))))
		}
		require.NoError(t, tensor.Realize(ctx, others...))
	}
	f := b.capture(func(in ...*T) []*T { return []*T{in[0].Mul(2).Add(1)} }, x)
	outs := make([]*T, 1)
	first := 0
	for i := range runs {
		var err error
		switch how {
		case "Realize":
			outs[0] = x.Mul(2).Add(b.floats(float32(i)))
			err = tensor.Realize(ctx, outs...)
		case "RunInto":
			outs, err = f.RunInto(ctx, outs, x)
		default:
			outs, err = f.Run(ctx, x)
		}
		require.NoError(t, err)
		if i == warm-1 {
			first = status(t, "VmHWM")
		}
	}
	most, own := status(t, "VmHWM"), (len(others)+2)*4*elements>>20
	fmt.Printf("resident at first %d MB, at most %d MB after %d runs, of which %d MB are the arrays that live\n", first, most, runs, own)
	assert.LessOrEqual(t, float64(most), 1.15*float64(first))
	assert.Less(t, most, own+4*elements>>20, "the arrays that live and the program, and not one more")
	assert.Equal(t, int64(own), b.Stats().LiveBytes>>20)
	for _, o := range others {
		require.True(t, o.IsRealized())
	}
}

// status is a line of /proc/self/status, in MB.
func status(t testing.TB, name string) int {
	f, err := os.Open("/proc/self/status")
	require.NoError(t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, _ := strings.Cut(s.Text(), ":"); key == name {
			kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			require.NoError(t, err)
			return kb >> 10
		}
	}
	need.Device(t, "PROC", fmt.Errorf("/proc/self/status has no line %s", name))
	return 0
}
