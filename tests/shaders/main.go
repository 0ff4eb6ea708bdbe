// Command shaders takes the kernels that tests of WEBGPU wrote (WEFT_KERNELS) to the other compilers they must get
// past: Chromium, which makes a pipeline of each; Tint, its compiler, with features that its adapter here may lack; and
// naga's translations to Metal and HLSL, which macOS and Windows need.
//
//	WEFT_KERNELS=dir WEFT_DEVICES=WEBGPU go test -run 'WEBGPU|TorchOps' ./tests/devicetest ./tests/torchops
//	go run ./tests/shaders dir
//
// A compiler that is not there is said, and is a failure where CI=true.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

//go:embed tint.mjs
var tint []byte

// tintPackage is Dawn for Node.
const tintPackage = "webgpu@0.6.2"

// headLines stand before the source in a file of WEFT_KERNELS.
const headLines = 3

// perProcess is how many shaders Tint looks at in one process.
const perProcess = 400

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: shaders folder (one that WEFT_KERNELS named)")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "shaders:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	work, err := os.MkdirTemp("", "weft-shaders-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	files, err := collect(filepath.Join(dir, "WEBGPU"), work)
	if err != nil {
		return err
	}
	fmt.Printf("shaders %d\n", len(files))
	var all error
	for _, c := range []struct {
		name string
		ask  func(work string, files []string) ([]string, error)
	}{{"Chromium", askChromium}, {"Tint", askTint}, {"Metal", askNaga("metal")}, {"HLSL", askNaga("hlsl", "--shader-model", "66")}} {
		refused, err := c.ask(work, files)
		switch {
		case errors.Is(err, errMissing):
			fmt.Printf("%-16s not asked: %v\n", c.name, err)
			if os.Getenv("CI") == "true" {
				all = errors.Join(all, err)
			}
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Printf("%-16s %d of %d\n", c.name, len(files)-len(refused), len(files))
		for _, r := range refused[:min(len(refused), 10)] {
			fmt.Println("   ", r)
		}
		if len(refused) > 0 {
			all = errors.Join(all, fmt.Errorf("%s refused %d shaders", c.name, len(refused)))
		}
	}
	return all
}

// collect writes the sources of kernels to a folder, equal ones once.
func collect(from, to string) (files []string, err error) {
	list, err := filepath.Glob(filepath.Join(from, "*.txt"))
	if err != nil || len(list) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no kernels in %s: run the tests of WEBGPU with WEFT_KERNELS first", from))
	}
	seen := map[string]bool{}
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for range headLines {
			_, text, _ = bytes.Cut(text, []byte("\n"))
		}
		if seen[string(text)] {
			continue
		}
		seen[string(text)] = true
		file := filepath.Join(to, strings.TrimSuffix(filepath.Base(path), ".txt")+".wgsl")
		if err := os.WriteFile(file, text, 0o666); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

var errMissing = errors.New("it is not installed")

func missing(what string) error { return fmt.Errorf("%w: %s", errMissing, what) }

// askTint installs Dawn for Node in the cache folder of the user, once.
func askTint(_ string, files []string) (refused []string, err error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return nil, missing("node and npm")
	}
	home, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	home = filepath.Join(home, "weft", tintPackage)
	if err := os.MkdirAll(home, 0o777); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(home, "node_modules", "webgpu")); err != nil {
		cmd := exec.Command("npm", "install", "--ignore-scripts", "--no-fund", "--no-audit", "--prefix", home, tintPackage)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, missing(fmt.Sprintf("npm install %s: %v\n%s", tintPackage, err, out))
		}
	}
	script := filepath.Join(home, "tint.mjs")
	if err := os.WriteFile(script, tint, 0o666); err != nil {
		return nil, err
	}
	for at := 0; at < len(files); at += perProcess {
		part := files[at:min(at+perProcess, len(files))]
		found, err := node(script, part)
		if err != nil {
			if found, err = node(script, part); err != nil {
				return nil, err
			}
		}
		refused = append(refused, found...)
	}
	return refused, nil
}

// node runs the script; what counts is that it came to its end, not how the process ended.
func node(script string, files []string) (refused []string, err error) {
	var stderr bytes.Buffer
	cmd := exec.Command("node", append([]string{script}, files...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	for line := range bytes.Lines(out) {
		var m struct {
			File, Message string
			Line, Done    int
		}
		switch {
		case json.Unmarshal(line, &m) != nil:
		case m.Done == len(files):
			return refused, nil
		default:
			refused = append(refused, fmt.Sprintf("%s:%d: %s", filepath.Base(m.File), m.Line, m.Message))
		}
	}
	return nil, fmt.Errorf("node %s: %w\n%s", script, err, &stderr)
}

// findNaga looks where cargo installs as well.
func findNaga() (string, error) {
	if path, err := exec.LookPath("naga"); err == nil {
		return path, nil
	}
	cargo := os.Getenv("CARGO_HOME")
	if home, err := os.UserHomeDir(); cargo == "" && err == nil {
		cargo = filepath.Join(home, ".cargo")
	}
	path, err := exec.LookPath(filepath.Join(cargo, "bin", "naga"))
	if err != nil {
		return "", missing("naga (cargo install --locked naga-cli)")
	}
	return path, nil
}

// askNaga translates each shader; naga rejects the line that browsers demand for subgroups.
func askNaga(to string, flags ...string) func(string, []string) ([]string, error) {
	return func(work string, files []string) (refused []string, err error) {
		naga, err := findNaga()
		if err != nil {
			return nil, err
		}
		var mu sync.Mutex
		var wait sync.WaitGroup
		next := make(chan string)
		for range runtime.NumCPU() {
			wait.Go(func() {
				for file := range next {
					if why := translate(naga, work, file, to, flags); why != "" {
						mu.Lock()
						refused = append(refused, filepath.Base(file)+": "+why)
						mu.Unlock()
					}
				}
			})
		}
		for _, f := range files {
			next <- f
		}
		close(next)
		wait.Wait()
		return refused, nil
	}
}

func translate(naga, work, file, to string, flags []string) (why string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	in := filepath.Join(work, "naga-"+filepath.Base(file))
	if err := os.WriteFile(in, bytes.ReplaceAll(text, []byte("enable subgroups;\n"), nil), 0o666); err != nil {
		return err.Error()
	}
	out := strings.TrimSuffix(in, "wgsl") + to
	defer os.Remove(in)
	defer os.Remove(out)
	if text, err := exec.Command(naga, append(flags, in, out)...).CombinedOutput(); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		return line
	}
	return ""
}
