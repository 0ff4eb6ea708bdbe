// Package consumer builds programs of other modules that import Weft, and looks at what comes along.
package consumer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// Every program that imports the devices obeys the environment, and says at the first use of a device what is wrong with it.
func TestEnvironment(t *testing.T) {
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
	if len(os.Args) > 1 { // a program that says what it wants
		engine.Configure(engine.Options{}, os.Args[1])
	}
	var v []float32
	var device string
	var failed error
	err := tensor.Try(func() {
		x := tensor.Of([]float32{1, 2, 3, 4}, 2, 2)
		device = x.Device()
		if v, failed = tensor.Data[float32](context.Background(), x.MatMul(x).Add(1)); failed == nil {
			failed = tensor.Realize(context.Background(), x.Reshape(4, 1).Expand(4, 3000).Mul(tensor.Arange(3000)))
		}
	})
	if err == nil {
		err = failed
	}
	fmt.Println(device, v, err)
	if err == nil {
		e, _ := engine.Use("")
		fmt.Println("threads", e.Info().Threads, "memory", e.Info().Limits.Memory)
	}
}
`)
	program := c.built()
	run := func(env []string, args ...string) (out, words string) {
		cmd := exec.Command(program, args...)
		for _, v := range os.Environ() {
			if name, _, _ := strings.Cut(v, "="); !slices.Contains(variables, name) {
				cmd.Env = append(cmd.Env, v)
			}
		}
		cmd.Env = append(cmd.Env, env...)
		var o, e strings.Builder
		cmd.Stdout, cmd.Stderr = &o, &e
		require.NoError(t, cmd.Run(), "%v: %s%s", env, o.String(), e.String())
		return o.String(), e.String()
	}
	out, words := run([]string{"DEV=interp", "WEFT_THREADS=1", "WEFT_MEM=64M"})
	assert.Equal(t, "INTERP [8 11 16 23] <nil>\nthreads 1 memory 67108864\n", out)
	assert.Empty(t, words)
	_, words = run([]string{"DEV=INTERP", "DEBUG=2"})
	assert.Contains(t, words, "INTERP plan: 1 kernels")
	assert.Contains(t, words, "GFLOP/s", "a line a kernel")
	_, plain := run([]string{"DEV=INTERP", "DEBUG=4", "NOOPT=1"})
	_, words = run([]string{"DEV=INTERP", "DEBUG=4", "NOOPT=0"})
	assert.NotContains(t, plain, "// directives: vector")
	assert.Contains(t, words, "// directives: vector")
	cache := filepath.Join(t.TempDir(), "kernels")
	out, _ = run([]string{"DEV=WASM", "WEFT_CACHE=" + cache})
	assert.Contains(t, out, "WASM [8 11 16 23] <nil>")
	assert.DirExists(t, cache)
	out, _ = run([]string{"DEV=CPU", "CC=no-such-compiler"})
	assert.Contains(t, out, "no-such-compiler")
	for v, want := range map[string]string{
		"DEV=GPU":        `DEV=GPU: unknown device "GPU": perhaps WEBGPU is meant, which this program does not have; import _ "github.com/weft-ml/weft/backends/webgpu"; there are CPU, `,
		"DEBUG=loud":     "DEBUG=loud: a number from 0 to 6 belongs there",
		"NOOPT=perhaps":  "NOOPT=perhaps: 1 (on) or 0 (off) belongs there",
		"WEFT_THREADS=0": "WEFT_THREADS=0: a number from 1 to ",
		"WEFT_MEM=much":  "WEFT_MEM=much: not a size in bytes",
	} {
		out, words := run([]string{v})
		assert.Contains(t, out, want)
		assert.Contains(t, out, "main.go:", "the line that used a device")
		assert.Empty(t, words)
		out, _ = run([]string{v}, "INTERP")
		assert.Contains(t, out, "INTERP [8 11 16 23] <nil>", "what a program says itself counts")
	}
}

// variables are those of README.md's table.
var variables = []string{"DEV", "DEBUG", "NOOPT", "BEAM", "UNCHECKED", "CC", "WEFT_CACHE", "WEFT_THREADS", "WEFT_MEM"}

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
