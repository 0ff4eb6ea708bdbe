// Command pack builds what a page loads: the engine as weft.wasm and the JavaScript beside it, in one folder.
//
//	go run ./wasm/pack -o site/dist            build
//	go run ./wasm/pack -o site/dist -measure   and print how large it is, compressed too; more than the budget is an error
//
// There are three engines: weft.wasm; whole.wasm, which can also show the code of kernels and train the network of digits; and models.wasm,
// which can also read ONNX and language models. Both are loaded where a page asks for that. weft.wasm has the functions that a first
// result needs (learn.go), and rest.wasm the others (split.go). With -split=false, and without Node, all are in weft.wasm; rest.wasm is empty then, and nobody
// loads it.
//
// The engine is made small for the way to the reader: no function is inlined, but those of Go's runtime where no first result waits for it; pointers are not checked for nil, which in
// WebAssembly takes instructions of its own (a mistake in the engine that would have been a panic reads zeros, within the
// page's sandbox); the tables that say which line an instruction came from are emptied (nobody sees Go's stack traces in
// a page); and tables that follow from others are made when the engine begins (fill.go). It stays plain modules, which browsers compile while
// they arrive and keep compiled. Scripts are bundled, so that none has to arrive before another is asked for: bundle.go.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	out := flag.String("o", "", "folder to write to")
	names := flag.Bool("names", false, "keep the names of functions and lines, for readable stack traces")
	measure := flag.Bool("measure", false, "print sizes and check them against the budget")
	parted := flag.Bool("split", true, "split weft.wasm into what a first result needs and rest.wasm")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	err := build(*out, *names, *parted)
	if err == nil && *measure {
		err = report(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func build(out string, names, parted bool) error {
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
	sizes, builds := map[string]int{}, map[string]string{}
	if err := os.WriteFile(filepath.Join(out, "rest.wasm"), empty, 0o666); err != nil { // unless there is one
		return err
	}
	for _, m := range modules {
		if !parted {
			m.rest = ""
		}
		if err := m.build(root, goroot, out, names, sizes, builds); err != nil {
			return err
		}
	}
	known, err := json.Marshal(sizes)
	if err != nil {
		return err
	}
	ids, err := json.Marshal(builds)
	if err != nil {
		return err
	}
	return bundle(root, goroot, out, string(known), string(ids))
}

// module is an engine. weft.wasm leaves out what few pages need: what writes C and reads expressions (inspect), and
// the network of digits. The other one has it, and a page loads it when it first asks for that.
type module struct {
	name, tags string
	laws       bool   // it tells where laws are written
	rest       string // the name of its second part
	inlined    bool   // functions of Go's runtime are inlined: a run of a small model takes a tenth less, and weft.wasm would be 11 kB larger
}

var modules = []module{
	{name: "weft.wasm", tags: "lean", rest: "rest.wasm"},
	{name: "whole.wasm", laws: true, inlined: true},
	{name: "models.wasm", tags: "lean,models", inlined: true},
}

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

// empty is the rest of an engine that stays in one part, which nobody loads: bundlers and the package expect a file.
var empty = []byte("\x00asm\x01\x00\x00\x00")

// build makes a module, perhaps in two parts, and notes their sizes and which build they are of.
func (m module) build(root, goroot, out string, names bool, sizes map[string]int, builds map[string]string) error {
	whole := filepath.Join(out, m.name+".whole")
	defer os.Remove(whole)
	absolute, err := filepath.Abs(whole)
	if err != nil {
		return err
	}
	flags := []string{"-tags=" + m.tags}
	if m.inlined {
		flags = append(flags, "-gcflags=runtime="+unchecked, "-gcflags=internal/runtime/...="+unchecked)
	}
	if m.laws {
		lines, err := lawLines(root)
		if err != nil {
			return err
		}
		flags = append(flags, "-ldflags=-w -X 'main.lawLines="+lines+"'")
	}
	cmd := compile(absolute, "./wasm", flags...)
	cmd.Dir = root
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", m.name, err)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		return err
	}
	allocator := allocating(data)
	if data, err = squeeze(data, names, m.rest == ""); err != nil {
		return fmt.Errorf("squeeze %s: %w", m.name, err)
	}
	parts, err := m.parts(root, goroot, data, allocator)
	if err != nil {
		return err
	}
	for name, part := range parts {
		part, builds[name] = marked(part)
		sizes[name] = len(part)
		if err := os.WriteFile(filepath.Join(out, name), part, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// marked is a module with a section at its end that says which build it is of, and what it says: a browser may keep scripts of one build and modules of
// another, and where both seem to fit they would be wrong in their own ways.
func marked(module []byte) (out []byte, id string) {
	sum := sha256.Sum256(module)
	id = hex.EncodeToString(sum[:4])
	body := append(appendName(nil, "build"), id...)
	return append(appendUint(append(slices.Clone(module), customSection), uint64(len(body))), body...), id
}

// parts splits a module that has a second part, unless that cannot be known, and leaves out what the first part can make by itself. The functions
// always stay in the first one.
func (m module) parts(root, goroot string, data []byte, always map[int]bool) (map[string][]byte, error) {
	parts := map[string][]byte{m.name: data}
	if m.rest != "" {
		called, err := learn(root, goroot, data)
		if err == nil {
			var first, rest []byte
			if first, rest, err = split(data, func(i int) bool { return called[i] || always[i] }); err == nil {
				parts = map[string][]byte{m.name: first, m.rest: rest}
			}
		}
		if errors.Is(err, errForm) || errors.Is(err, errNoNode) {
			fmt.Fprintf(os.Stderr, "%s stays in one part: %v\n", m.name, err)
		} else if err != nil {
			return nil, err
		}
	}
	filled, err := fill(parts[m.name])
	if err != nil {
		return nil, fmt.Errorf("fill %s: %w", m.name, err)
	}
	parts[m.name] = filled
	return parts, nil
}

// unchecked has nil not be checked for.
const unchecked = "-d=disablenil"

// compile has Go's compiler make a module of a command.
func compile(out, command string, flags ...string) *exec.Cmd {
	args := append([]string{"build", "-trimpath", "-ldflags=-w", "-gcflags=all=-l " + unchecked, "-o", out}, flags...)
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
