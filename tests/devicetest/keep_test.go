package devicetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// What fails once is kept as it was: nothing has to happen again for it to be known.
func TestFailureIsKept(t *testing.T) {
	t.Setenv("WEFT_FAILED", t.TempDir())
	ref, err := engine.Open("REF", engine.Options{})
	require.NoError(t, err)
	dev, err := engine.Open("INTERP", engine.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()); require.NoError(t, ref.Close()) })
	r := runner{t: t, dev: dev, ref: ref, seed: 1}
	cases := []Case{{Name: "twice [3]", Build: func(in *Inputs) []*uop.UOp {
		x := in.Leaf(dtype.F32, Exact, 3)
		return []*uop.UOp{x.Add(x)}
	}, seed: 5}}
	require.Contains(t, r.keep("twice [3]: 1 is not 2", cases), "kept in ")
	files, err := filepath.Glob(filepath.Join(os.Getenv("WEFT_FAILED"), "*.txt"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for _, want := range []string{"on INTERP, WEFT_SEED=1", "1 is not 2", "case twice [3]", "kernel =out0.f32[3] in0.f32[3]", "inputs of twice [3]\nfloat32 [3] "} {
		require.Contains(t, string(text), want)
	}
}
