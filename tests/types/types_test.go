package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is wrong for one platform only, in a package, its tests, or tests of its face, is found for that platform.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module m\n\ngo 1.26\n",
		"a/a.go":            "package a\n\nimport \"strconv\"\n\nfunc A() string { return strconv.Itoa(1) }\n",
		"a/a_windows.go":    "package a\n\nvar _ int = A()\n",
		"a/in_js_test.go":   "package a\n\nimport \"os\"\n",
		"a/out_test.go":     "package a_test\n\nimport \"m/a\"\n\nvar _ string = a.Inner()\n",
		"a/inner_test.go":   "package a\n\nfunc Inner() string { return A() }\n",
		"b/b_test.go":       "package b\n\nconst wide int = 1 << 40\n",
		"b/b.go":            "package b\n",
		"c/c_linux.go":      "package c\n\nfunc C() { x := 1 }\n",
		"c/c.go":            "package c\n",
		"d/d_windows.go":    "package d\n\nimport \"m/missing\"\n\nvar _ = missing.X\n",
		"d/d.go":            "package d\n",
		"a/testdata/bad.go": "package bad\n\nvar _ int = \"\"\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	}
	t.Chdir(dir)
	for platform, want := range map[[2]string][]string{
		{"darwin", "arm64"}:  {},
		{"windows", "amd64"}: {"cannot use A()", "missing"},
		{"js", "wasm"}:       {`"os" imported and not used`},
		{"linux", "386"}:     {"cannot use 1 << 40", "declared and not used: x"},
	} {
		all, err := list(platform[0], platform[1])
		require.NoError(t, err)
		wrong, own := check(all, platform[1])
		assert.GreaterOrEqual(t, own, 7, "%v", platform)
		said := ""
		for _, err := range wrong {
			said += err.Error() + "\n"
		}
		for _, w := range want {
			assert.Contains(t, said, w, "%v", platform)
		}
		if len(want) == 0 {
			assert.Empty(t, said, "%v", platform)
		}
	}
}
