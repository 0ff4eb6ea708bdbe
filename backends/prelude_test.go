//go:build !js

package backends_test

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen/c"
	need "github.com/weft-ml/weft/tests/require"
)

// Compilers make vectors of roots, multiply-adds and truncations that are written lane by lane only now and then: of x86's, the prelude has to
// name the machine's instructions for each compiler.
func TestPreludeNamesVectorInstructions(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("about instructions of x86")
	}
	var b strings.Builder
	b.WriteString(c.Prelude)
	for _, v := range []struct {
		name, of string
		bytes    int
	}{{"f32x4", "float", 16}, {"f32x8", "float", 32}, {"f32x16", "float", 64}, {"f64x2", "double", 16}, {"f64x4", "double", 32}, {"f64x8", "double", 64}} {
		fmt.Fprintf(&b, "typedef %s test_%s __attribute__((vector_size(%d)));\n", v.of, v.name, v.bytes)
		fmt.Fprintf(&b, "test_%[1]s f_%[1]s(test_%[1]s x) { return WEFT_TRUNC_%[1]s(WEFT_SQRT_%[1]s(WEFT_FMA_%[1]s(x, x, x))); }\n", v.name)
	}
	for _, name := range []string{need.Compiler(t), "gcc", "clang", "clang-14", "clang-16", "clang-19"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cmd := exec.Command(path, "-O1", "-march=x86-64-v4", "-w", "-Werror=implicit-function-declaration", "-fsyntax-only", "-x", "c", "-")
		cmd.Stdin = strings.NewReader(b.String())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
	}
}
