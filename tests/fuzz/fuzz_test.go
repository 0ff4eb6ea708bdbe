package fuzz

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	device "github.com/weft-ml/weft/tests/require"
)

func TestMain(m *testing.M) {
	if os.Getenv(WorkerVariable) == "" {
		os.Exit(m.Run())
	}
	out := os.Stdout
	os.Stdout = os.Stderr
	if err := Serve(os.Stdin, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Where assignments ended all values and a leaf cannot be negated, the program computes nothing.
func TestNothingLeftToCompute(t *testing.T) {
	graphs()
	for _, seed := range []uint64{50032629, 51017529} {
		assert.NotEmpty(t, Generate(seed).Program.Ops)
	}
}

// What programs of the generator must give was told wrongly once: an error stayed with an array whose elements were all
// assigned anew between the runs of a captured function; an assignment that is realized in another shape left alone what had been
// built on the array before; the sign of a NaN, which has no meaning, was compared through its bits; a sum half way between two
// integers was rounded to one of them, as others do not; the sign of a sum that is 0 was one that others have not;
// what cancels left another rest than others leave; numbers of more digits than there are were taken for exact.
func TestFalseAlarms(t *testing.T) {
	command, env := environment(t)
	r := &Runner{Command: command, Env: env, Processes: 1, Batch: 1, Report: func(_ *Finding, text string) { t.Error(text) }}
	for _, seed := range []uint64{52060068, 52060267, 53025457, 60025817, 60033291, 60039727, 61054366, 62120816, 63467756, 85257819, 85366691, 87494595} {
		_, _, err := r.Run("INTERP", seed, 1, time.Time{}, 1)
		require.NoError(t, err)
	}
}

var devices = []string{"CPU", "WASM", "INTERP", "WEBGPU", "2 INTERP", "3 INTERP"}

// programs is how many a device gets, the same ones each time: a test that draws others fails for what its reader has not touched.
// make fuzz draws fresh ones, as many as there is time for.
var programs = map[string]int{"CPU": 80, "WASM": 120, "INTERP": 500, "WEBGPU": 30, "2 INTERP": 80, "3 INTERP": 60}

// need skips a test whose device is missing.
func need(t *testing.T, name string, err error) {
	t.Helper()
	if no := (&NoDevice{}); errors.As(err, &no) {
		device.Device(t, name, err)
	}
}

func environment(t *testing.T) (command, env []string) {
	self, err := os.Executable()
	require.NoError(t, err)
	return []string{self}, []string{CacheVariable + "=" + t.TempDir()}
}

func worker(t *testing.T) *Worker {
	command, env := environment(t)
	w := &Worker{Command: command, Env: env}
	t.Cleanup(w.Close)
	return w
}

// Random programs give on every device what REF allows. WEFT_SEED=n chooses others.
func TestDevices(t *testing.T) {
	seed := uint64(1)
	if s := os.Getenv("WEFT_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err, "WEFT_SEED")
	}
	for _, name := range devices {
		t.Run(name, func(t *testing.T) {
			n := programs[name]
			if testing.Short() {
				n = min(n, 40)
			}
			command, env := environment(t)
			r := &Runner{Command: command, Env: env, Processes: goruntime.NumCPU(), Batch: 60, Shrink: time.Minute,
				Report: func(_ *Finding, text string) { t.Error(text) }}
			start := time.Now()
			count, _, err := r.Run(name, seed, n, time.Time{}, 4)
			need(t, name, err)
			require.NoError(t, err)
			t.Logf("%s: seeds from %d (WEFT_SEED): %+v in %v", name, seed, count, time.Since(start).Round(time.Second))
			assert.Less(t, count.Unknown*20, count.Elements, "nearly all elements can be compared")
			assert.Less(t, count.Skipped*4, count.Programs*3, "the device has the types of some programs")
		})
	}
}

// The bounds hold what the reference itself gives.
func TestReference(t *testing.T) {
	n := 0
	for seed := range uint64(300) {
		k, wrong := Selfcheck(seed)
		if known(&Finding{Seed: seed, What: Fails, Text: wrong}) == "" {
			require.Empty(t, wrong, "seed %d", seed)
		}
		n += k
	}
	require.Greater(t, n, 10000)
}

// A seed means the same program each time.
func TestSeeds(t *testing.T) {
	graphs()
	for seed := range uint64(20) {
		require.Equal(t, Generate(seed).Program, Generate(seed).Program)
	}
}

// A third of the ops moves elements, and nearly every op comes.
func TestFamilies(t *testing.T) {
	var seeds []uint64
	for s := range uint64(400) {
		seeds = append(seeds, s)
	}
	moving, all, names := Families(seeds...)
	require.Greater(t, 3*moving, all)
	require.Greater(t, len(names), 150, strings.Join(names, " "))
}
