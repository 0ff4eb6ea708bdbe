// Command pack builds what a page loads: the engine as weft.wasm and the JavaScript beside it, in one folder.
//
//	go run ./wasm/pack -o site/dist            build
//	go run ./wasm/pack -o site/dist -measure   and print how large it is, compressed too; more than the budget is an error
//
// There are three engines: weft.wasm; whole.wasm, which can also show the code of kernels and train the network of digits; and models.wasm,
// which can also read ONNX and language models. Both are loaded where a page asks for that.
//
// The engine is made small for the way to the reader: no function is inlined; pointers are not checked for nil, which in
// WebAssembly takes instructions of its own (a mistake in the engine that would have been a panic reads zeros, within the
// page's sandbox); the tables that say which line an instruction came from are emptied (nobody sees Go's stack traces in
// a page); and functions that a page never calls are left out. It stays a plain module, which browsers compile while it arrives and keep
// compiled. Scripts are bundled, so that none has to arrive before another is asked for: bundle.go.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("o", "", "folder to write to")
	names := flag.Bool("names", false, "keep the names of functions and lines, for readable stack traces")
	measure := flag.Bool("measure", false, "print sizes and check them against the budget")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	err := build(*out, *names)
	if err == nil && *measure {
		err = report(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func build(out string, names bool) error {
	root, err := output("go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	goroot, err := output("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	sizes := "{"
	for _, m := range modules {
		n, err := m.build(root, out, names)
		if err != nil {
			return err
		}
		sizes += fmt.Sprintf("%q: %d, ", m.name, n)
	}
	sizes = strings.TrimSuffix(sizes, ", ") + "}"
	return bundle(root, goroot, out, sizes)
}

// module is an engine. weft.wasm leaves out what few pages need: what writes C and reads expressions (inspect), and
// the network of digits. The other one has it, and a page loads it when it first asks for that.
type module struct {
	name, tags string
	laws       bool // it tells where laws are written
}

var modules = []module{{"weft.wasm", "lean", false}, {"whole.wasm", "", true}, {"models.wasm", "lean,models", false}}

// lawLines says where each law is written.
func lawLines(root string) (string, error) {
	cmd := exec.Command("go", "run", "./explain/laws")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go run ./explain/laws: %w", err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", ";"), nil
}

// build makes a module and gives its size.
func (m module) build(root, out string, names bool) (int, error) {
	whole := filepath.Join(out, m.name+".whole")
	defer os.Remove(whole)
	absolute, err := filepath.Abs(whole)
	if err != nil {
		return 0, err
	}
	cmd := compile(absolute, "./wasm", "-tags="+m.tags)
	if m.laws {
		lines, err := lawLines(root)
		if err != nil {
			return 0, err
		}
		cmd = compile(absolute, "./wasm", "-tags="+m.tags, "-ldflags=-w -X 'main.lawLines="+lines+"'")
	}
	cmd.Dir = root
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("build %s: %w", m.name, err)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		return 0, err
	}
	if data, err = squeeze(data, names); err != nil {
		return 0, fmt.Errorf("squeeze %s: %w", m.name, err)
	}
	return len(data), os.WriteFile(filepath.Join(out, m.name), data, 0o666)
}

// compile has Go's compiler make a module of a command.
func compile(out, command string, flags ...string) *exec.Cmd {
	args := append([]string{"build", "-trimpath", "-ldflags=-w", "-gcflags=all=-l -d=disablenil", "-o", out}, flags...)
	cmd := exec.Command("go", append(args, command)...)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	return cmd
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
