// Command pack builds what a page loads: the engine as weft.wasm and the JavaScript beside it, in one folder.
//
//	go run ./wasm/pack -o site/dist            build
//	go run ./wasm/pack -o site/dist -measure   and print how large it is, compressed too; more than the budget is an error
//
// The engine is made small for the way to the reader: no function is inlined; pointers are not checked for nil, which in
// WebAssembly takes instructions of its own (a mistake in the engine that would have been a panic reads zeros, within the
// page's sandbox); the tables that say which line an instruction came from are emptied (nobody sees Go's stack traces in
// a page); functions that a page never calls are left out; and the module is packed, see code.go.
package main

import (
	"bytes"
	"errors"
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

// scripts and player are copied as they are.
var (
	scripts = []string{"weft.js", "weft.d.ts", "methods.js", "wire.js", "worker.js", "fetch.js", "unpack.js"}
	player  = []string{"player.js", "stopwatch.js", "glue.js"}
	kernels = []string{"kernels.js", "processor.js", "threads.js", "thread.js", "spares.js"}
)

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
	whole := filepath.Join(out, "weft.wasm.whole")
	defer os.Remove(whole)
	absolute, err := filepath.Abs(whole)
	if err != nil {
		return err
	}
	cmd := compile(absolute, "./wasm")
	cmd.Dir = root
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build the engine: %w", err)
	}
	module, err := os.ReadFile(whole)
	if err != nil {
		return err
	}
	packed, plain, err := squeeze(module, names)
	switch {
	case errors.Is(err, errForm):
		fmt.Fprintf(os.Stderr, "pack: the engine stays unpacked, and larger: %v\n", err)
		module = plain
	case err != nil:
		return fmt.Errorf("pack the engine: %w", err)
	default:
		module = packed
	}
	if err := os.WriteFile(filepath.Join(out, "weft.wasm"), module, 0o666); err != nil {
		return err
	}
	files := map[string]string{"wasm_exec.js": filepath.Join(goroot, "lib/wasm/wasm_exec.js")}
	for _, s := range player {
		files[s] = filepath.Join(root, "runtime/webgpu/page", s)
	}
	for _, s := range kernels {
		files[s] = filepath.Join(root, "runtime/wasm/page", s)
	}
	for _, s := range scripts {
		files[s] = filepath.Join(root, "wasm/js", s)
	}
	for to, from := range files {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if strings.HasSuffix(to, ".js") {
			data = withoutComments(data)
		}
		if to == "worker.js" {
			data = bytes.Replace(data, []byte("const size = 0"), fmt.Appendf(nil, "const size = %d", len(module)), 1)
		}
		if err := os.WriteFile(filepath.Join(out, to), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// compile has Go's compiler make a module of a command.
func compile(out, command string) *exec.Cmd {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-w", "-gcflags=all=-l -d=disablenil", "-o", out, command)
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

// license recognises the notice of Go's authors, which stays.
func license(line []byte) bool {
	return bytes.Contains(line, []byte("Copyright")) || bytes.Contains(line, []byte("license"))
}

// withoutComments drops the lines of a script that are only comments, and what they are indented by.
func withoutComments(script []byte) []byte {
	var out []byte
	block := false
	for line := range bytes.Lines(script) {
		text := bytes.TrimLeft(line, " \t")
		switch {
		case block:
			block = !bytes.Contains(text, []byte("*/"))
		case bytes.HasPrefix(text, []byte("/*")):
			block = !bytes.Contains(text, []byte("*/"))
		case bytes.HasPrefix(text, []byte("//")) && !license(text), len(bytes.TrimSpace(text)) == 0:
		default:
			out = append(out, text...)
		}
	}
	return out
}
