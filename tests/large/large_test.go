package large

import (
	"context"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
)

var (
	first   = flag.Uint64("seed", 1, "the first program")
	devices = flag.String("device", "INTERP", "devices, with commas; +NOOPT, +STOREALL, +GCC and +CLANG are options")
	missing = flag.Bool("missing", false, "tensors may be missing in wrong calls")
	only    = flag.String("only", "", "wrong calls of one method")
	verbose = flag.Bool("programs", false, "print every program")
)

// count is how many programs run: WEFT_LARGE, or a few.
func count(few int) int {
	if n, err := strconv.Atoi(os.Getenv("WEFT_LARGE")); err == nil {
		return n
	}
	return few
}

// open reads a device with its options, as CPU+STOREALL.
func open(t *testing.T, name string) *judge {
	t.Helper()
	device, with, _ := strings.Cut(name, "+")
	o := engine.Options{NoOpt: strings.Contains(with, "NOOPT"), StoreAll: strings.Contains(with, "STOREALL"), Threads: 2}
	for _, cc := range []string{"gcc", "clang"} {
		if strings.Contains(with, strings.ToUpper(cc)) {
			o.CC = cc
		}
	}
	j, err := newJudge(device, o)
	need.Device(t, device, err)
	return j
}

func TestPrograms(t *testing.T) {
	ctx := context.Background()
	for name := range strings.SplitSeq(*devices, ",") {
		t.Run(name, func(t *testing.T) {
			j := open(t, name)
			start := time.Now()
			steps := 0
			for seed := *first; seed < *first+uint64(count(20)); seed++ {
				p := generate(seed)
				if *verbose {
					t.Log(p)
				}
				steps += len(p.steps)
				began := time.Now()
				fault := j.check(ctx, p)
				if *verbose {
					t.Log(time.Since(began))
				}
				if fault == "" {
					continue
				}
				t.Logf("seed %d: %s", seed, fault)
				q := shrink(p, func(p *program) bool { return j.check(ctx, p) != "" })
				assert.Fail(t, "wrong", "%s\n%v\nmade smaller: %s\n%v", fault, p, j.check(ctx, q), q)
			}
			t.Logf("%s: %d programs, %d steps in %v", name, count(20), steps, time.Since(start).Round(time.Millisecond))
		})
	}
}
