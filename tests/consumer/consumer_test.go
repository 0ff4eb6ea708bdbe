// Package consumer builds programs of other modules that import Weft, and looks at what comes along.
package consumer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// gpu are the libraries that only programs which ask for a GPU may link.
var gpu = []string{"oliverbestmann/webgpu", "cogentcore/webgpu"}

// consumer is a module of its own beside the repository.
type consumer struct {
	t   *testing.T
	dir string
}

// module writes a module whose only program is text. Nothing is downloaded: what the repository needs is there.
func module(t *testing.T, text string) consumer {
	root, dir := need.Root(t), t.TempDir()
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	write("main.go", []byte(text))
	write("go.mod", fmt.Appendf(nil, "module example.com/consumer\n\ngo 1.26\n\nrequire github.com/weft-ml/weft v0.0.0\n\n"+
		"replace github.com/weft-ml/weft => %q\n", filepath.ToSlash(root)))
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	write("go.sum", sums)
	return consumer{t, dir}
}

func (c consumer) run(name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	var words strings.Builder
	cmd.Stderr = &words
	out, err := cmd.Output()
	require.NoError(c.t, err, "%s %s: %s", name, strings.Join(args, " "), words.String())
	return string(out)
}

// links says which GPU libraries are among the packages that the program is built of.
func (c consumer) links() (found []string) {
	packages := c.run("go", "list", "-deps", ".")
	require.Contains(c.t, packages, "github.com/weft-ml/weft/tensor\n")
	for _, library := range gpu {
		if strings.Contains(packages, library) {
			found = append(found, library)
		}
	}
	return found
}

// built builds the program, looks at what the file says it is made of, and gives its path.
func (c consumer) built() string {
	program := filepath.Join(c.dir, "consumer.exe")
	c.run("go", "build", "-o", program, ".")
	made := c.run("go", "version", "-m", program)
	require.Contains(c.t, made, "github.com/weft-ml/weft")
	for _, library := range gpu {
		assert.NotContains(c.t, made, library)
	}
	return program
}

func TestTensorAlone(t *testing.T) {
	c := module(t, `package main

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/tensor"
)

func main() {
	fmt.Println(tensor.Try(func() { tensor.Ones(2, 3).MatMul(tensor.Ones(2, 3)) }) != nil, tensor.Zeros(2, 3).Permute(1, 0).Shape())
	_, err := tensor.Ones(2).Item(context.Background())
	fmt.Println(err)
	_, err = tensor.Data[float32](context.Background(), tensor.Ones(2).Add(1))
	fmt.Println(err)
}
`)
	assert.Empty(t, c.links())
	said := c.run(c.built())
	assert.Contains(t, said, "true [3 2]")
	assert.Contains(t, said, `import _ "github.com/weft-ml/weft/backends"`, "without a device it says how to get one")
}

func TestBackends(t *testing.T) {
	c := module(t, `package main

import (
	"context"
	"fmt"
	"os"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

func main() {
	for _, device := range os.Args[1:] {
		engine.Configure(engine.Options{}, device)
		x := tensor.Of([]float32{1, 2, 3, 4}, 2, 2)
		v, err := tensor.Data[float32](context.Background(), x.MatMul(x).Add(1))
		fmt.Println(device, v, err)
	}
	_, err := engine.Use("WEBGPU")
	fmt.Println(err)
}
`)
	assert.Empty(t, c.links())
	said := c.run(c.built(), "CPU", "INTERP")
	if !strings.Contains(said, "no C compiler") {
		assert.Contains(t, said, "CPU [8 11 16 23] <nil>")
	}
	assert.Contains(t, said, "INTERP [8 11 16 23] <nil>")
	assert.Contains(t, said, `unknown device "WEBGPU"`)
}

// What is looked for above is found where it is.
func TestWebGPU(t *testing.T) {
	if strings.TrimSpace(module(t, "package main").run("go", "env", "CGO_ENABLED")) != "1" {
		t.Skip("without cgo no program links a GPU library")
	}
	c := module(t, `package main

import (
	_ "github.com/weft-ml/weft/backends/webgpu"
	_ "github.com/weft-ml/weft/tensor"
)

func main() {}
`)
	assert.Equal(t, gpu[:1], c.links())
}
