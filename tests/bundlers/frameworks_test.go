package bundlers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/npm"
	need "github.com/weft-ml/weft/tests/require"
)

// frameworks gives a project that sees what is large to fetch: Next, Deno and Bun. It lies beside them, where they look.
func frameworks(t *testing.T) (home, at string) {
	home, err := npm.Tools("FRAMEWORKS", frameworksManifest, frameworksLock)
	need.Device(t, "FRAMEWORKS", err)
	project(t) // makes the package
	at, err = os.MkdirTemp(home, "project-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(at) })
	furnish(t, at)
	return home, at
}

// Next takes it along for the browser, and its server does not stumble over it.
func TestNext(t *testing.T) {
	home, at := frameworks(t)
	for _, name := range []string{"types.ts", "page.js", "index.html"} {
		require.NoError(t, os.Remove(filepath.Join(at, name)))
	}
	require.NoError(t, os.CopyFS(at, os.DirFS("testdata/next")))
	t.Setenv("NEXT_TELEMETRY_DISABLED", "1")
	t.Setenv("NEXT_ROOT", home)
	run(t, at, "node", filepath.Join(home, "node_modules/next/dist/bin/next"), "build")
	opens(t, serve(t, filepath.Join(at, "out")))
}

// runtimes are programs that run JavaScript, where npm puts them, and how.
var runtimes = map[string][]string{
	"deno": {"@deno/linux-x64-glibc/deno", "run", "--allow-all", "--node-modules-dir=manual"},
	"bun":  {"@oven/bun-linux-x64/bin/bun", "run"},
}

func TestRuntimes(t *testing.T) {
	home, at := frameworks(t)
	for name, command := range runtimes {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(home, "node_modules", command[0])
			_, err := os.Stat(program)
			need.Device(t, "FRAMEWORKS", err)
			require.NoError(t, os.Chmod(program, 0o755))
			var got programResult
			answer(t, at, &got, program, append(command[1:], "program.mjs")...)
			got.check(t)
		})
	}
}
