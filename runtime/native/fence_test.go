//go:build !wasm

package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// stray are kernels over one input and one output of three numbers that touch what is not theirs.
var stray = map[string]string{
	"reads behind":   "((float *)buf[0])[0] = ((volatile float *)buf[1])[3];",
	"reads before":   "((float *)buf[0])[0] = ((volatile float *)buf[1])[-1];",
	"writes behind":  "((volatile float *)buf[0])[3] = 1;",
	"writes before":  "((volatile float *)buf[0])[-1] = 1;",
	"beyond scratch": "((volatile float *)scratch)[16] = 1;",
}

func fencedAdd(body string) *plan.Plan {
	p := addPlan("fenced", 1, 3)
	p.Kernels[0] = kernel("fenced", body, 1, plan.Bind{Write: true, Bytes: 12}, plan.Bind{Bytes: 12}, plan.Bind{Bytes: 12})
	p.Kernels[0].Scratch = 64
	return p
}

func TestFence(t *testing.T) {
	d := open(t, Options{Fence: true, Threads: 2})
	out, a, b := alloc(t, d, 12), put(t, d, 1, 2, 3), put(t, d, 10, 20, 30)
	require.NoError(t, d.Play(load(t, d, addPlan("fence_add", 1, 3)), []runtime.Mem{out, a, b}, nil))
	assert.Equal(t, []float32{11, 22, 33}, get(t, d, out))
	require.NoError(t, d.Play(load(t, d, fencedAdd("((float *)scratch)[15] = 7; ((float *)buf[0])[2] = ((float *)scratch)[15];")), []runtime.Mem{out, a, b}, nil))
	assert.Equal(t, []float32{11, 22, 7}, get(t, d, out))

	err := d.Play(load(t, d, fencedAdd("((float *)buf[1])[0] = 5;")), []runtime.Mem{out, a, b}, nil)
	assert.ErrorContains(t, err, "changed an array that it only reads")
	assert.Equal(t, []float32{1, 2, 3}, get(t, d, a))
	err = d.Play(load(t, d, fencedAdd("((float *)buf[0])[0] = (float)((uintptr_t)buf[0] & 4095);")), []runtime.Mem{out, a, b}, nil)
	assert.ErrorContains(t, err, "other bits where its arrays lie elsewhere")
}

// Each stray kernel ends a process of its own, which leaves the kernel's text behind.
func TestFenceEndsTheProcess(t *testing.T) {
	if name := os.Getenv("WEFT_STRAY"); name != "" {
		d := open(t, Options{Fence: true, Threads: 1})
		_ = d.Play(load(t, d, fencedAdd(stray[name])), []runtime.Mem{alloc(t, d, 12), put(t, d, 1, 2, 3), put(t, d, 1, 2, 3)}, nil)
		return
	}
	open(t, Options{}) // no compiler, no test
	for name, body := range stray {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run", "^TestFenceEndsTheProcess$")
		cmd.Env = append(os.Environ(), "WEFT_STRAY="+name, "TMPDIR="+dir, "TMP="+dir)
		text, err := cmd.CombinedOutput()
		assert.Error(t, err, "%s: %s", name, text)
		left, err := filepath.Glob(filepath.Join(dir, "weft-fence-*.c"))
		require.NoError(t, err)
		require.Len(t, left, 1, name)
		source, err := os.ReadFile(left[0])
		require.NoError(t, err)
		assert.Contains(t, string(source), body)
	}
}

// What C guards is not loaded, whatever the compiler makes of the loop.
func TestGuardedLoadsStayGuarded(t *testing.T) {
	d := open(t, Options{Fence: true, Threads: 1})
	p := fencedAdd(`	const float *restrict x = (const float *)buf[1];
	float s = 0;
	for (int64_t i = 0; i < 8; i++) { float v = i < 3 ? x[i] : 0; v = v * v < 2 ? v * 4 : v; s += v < 3 ? v : -v; }
	((float *)buf[0])[0] = s;`)
	out := put(t, d, 0, 0, 0)
	require.NoError(t, d.Play(load(t, d, p), []runtime.Mem{out, put(t, d, 1, 2, 3), put(t, d, 0, 0, 0)}, nil))
	assert.Equal(t, []float32{-4 + 2 - 3, 0, 0}, get(t, d, out))
}

// gcc 12 at -O2 makes vectors of these sums of neighbours in the other order, and adds some of them twice.
func TestSumsOfNeighboursStaySums(t *testing.T) {
	d := open(t, Options{Threads: 1})
	p := fencedAdd(`	const float *restrict x = (const float *)buf[1];
	float s = 0;
	for (int64_t i = 0; i < 4; i++) {
		int64_t row = i * 2;
		for (int64_t j = 0; j < 2; j++) {
			int32_t first = j < 1;
			int64_t at = row + j;
			s = (s + (first ? (first ? x[(at + 1)] : 0) : ((0 < j) ? x[(at + (-1LL))] : 0)));
		}
	}
	((float *)buf[0])[0] = s;`)
	out := put(t, d, 0, 0, 0)
	require.NoError(t, d.Play(load(t, d, p), []runtime.Mem{out, put(t, d, 1, 2, 3, 4, 5, 6, 7, 8), put(t, d, 0, 0, 0)}, nil))
	assert.Equal(t, []float32{36, 0, 0}, get(t, d, out))
}
