package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompare(t *testing.T) {
	folder := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			path := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		}
		return dir
	}
	before := folder(map[string]string{"CPU/E_3-k_1.txt": "E_3 v\nmoves a\nvoid k_1()", "CPU/E_4-k_2.txt": "E_4", "WASM/r_2-k_3.txt": "r_2"})
	after := folder(map[string]string{"CPU/E_3-k_9.txt": "E_3 v\nmoves a\nvoid k_9() {}", "CPU/E_4-k_2.txt": "E_4", "INTERP/r_2-k_3.txt": "r_2"})
	var out strings.Builder
	n, err := compare(&out, before, after)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Equal(t, `CPU E_3: line 3
	- void entry()
	+ void entry() {}
CPU: 1 the same, 1 only before, 1 only after
INTERP r_2: only after
INTERP: 0 the same, 0 only before, 1 only after
WASM r_2: only before
WASM: 0 the same, 1 only before, 0 only after
`, out.String())
	n, err = compare(&out, before, before)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = compare(&out, before, t.TempDir())
	require.ErrorContains(t, err, "make kernels DIR=")
}
