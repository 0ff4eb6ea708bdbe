package kernels

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	k := &plan.Kernel{Name: "E_3", Kinds: "v", Entry: "k_1", Source: "void k_1() {}\n", Directives: "vector a0", Threads: 1}
	require.NoError(t, write(dir, "CPU", k, "tree"))
	require.NoError(t, write(dir, "CPU", k, "tree"), "once more")
	require.NoError(t, write(dir, "CPU", &plan.Kernel{Name: "E_3", Entry: "k_2"}, "the tree\n"))
	files, err := filepath.Glob(filepath.Join(dir, "CPU", "*"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	text, err := os.ReadFile(filepath.Join(dir, "CPU", "E_3-k_1.txt"))
	require.NoError(t, err)
	require.Equal(t, "E_3 v\nmoves vector a0\nthreads 1 scratch 0 flops 0 bytes 0\nvoid k_1() {}\n", string(text))
	text, err = os.ReadFile(filepath.Join(dir, "CPU", "E_3-k_2.txt"))
	require.NoError(t, err)
	require.Contains(t, string(text), "the tree")
	require.ErrorContains(t, write(filepath.Join(dir, "CPU", "E_3-k_1.txt"), "CPU", k, ""), "not a directory")
}
