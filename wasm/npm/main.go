// Command npm makes the package for npm of what wasm/pack writes: the scripts of a page as they are, and the worker as one file that
// imports nothing, since bundlers carry it along without looking into it.
//
//	go run ./wasm/npm -o bin/npm                    pack, then make the package
//	go run ./wasm/npm -o bin/npm -from site/dist    of what was packed before
//
// It knows files and what they import; it refuses to know what is in them.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed package.json
var manifest []byte

//go:embed README.md
var readme []byte

// bundler makes one file of many: a release of its own version, so that no program that imports Weft depends on it.
const bundler = "github.com/evanw/esbuild/cmd/esbuild@v0.28.2"

// notice goes before what Go's script for WebAssembly is part of.
const notice = "/* Holds wasm_exec.js, Copyright 2018 The Go Authors; its licence is LICENSE-GO. */"

func main() {
	out := flag.String("o", "", "folder to write to; what is in it is removed")
	from := flag.String("from", "", "folder that wasm/pack has written; without it, it is called")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := build(*out, *from); err != nil {
		fmt.Fprintln(os.Stderr, "npm:", err)
		os.Exit(1)
	}
}

func build(out, from string) error {
	root, err := output("go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	goroot, err := output("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	if from == "" {
		if from, err = os.MkdirTemp("", "weft-pack-"); err != nil {
			return err
		}
		defer os.RemoveAll(from)
		if _, err := output("go", "run", filepath.Join(root, "wasm/pack"), "-o", from); err != nil {
			return err
		}
	}
	if err := clear(out); err != nil {
		return err
	}
	files := map[string]string{"LICENSE": filepath.Join(root, "LICENSE"), "LICENSE-GO": filepath.Join(goroot, "LICENSE")}
	for _, name := range []string{"weft.wasm", "rest.wasm", "whole.wasm", "models.wasm"} {
		files[name] = filepath.Join(from, name)
	}
	scripts, err := reached(from, "weft.js", "export.js", "weft.d.ts", "export.d.ts")
	if err != nil {
		return err
	}
	for _, name := range scripts {
		files[name] = filepath.Join(from, name)
	}
	for to, from := range files {
		if err := copied(from, filepath.Join(out, to)); err != nil {
			return err
		}
	}
	for _, name := range []string{"worker.js", "thread.js"} {
		if err := single(filepath.Join(from, name), filepath.Join(out, name), "--banner:js="+notice); err != nil {
			return err
		}
	}
	if err := player(root, filepath.Join(out, "player")); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(out, "package.json"), manifest, 0o666), os.WriteFile(filepath.Join(out, "README.md"), readme, 0o666))
}

// player writes the player of exported folders: modules as they are, and its worker as one file.
func player(root, out string) error {
	from, err := os.MkdirTemp("", "weft-player-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(from)
	for _, folder := range []string{"export/js", "runtime/wasm/page", "runtime/webgpu/page"} {
		entries, err := os.ReadDir(filepath.Join(root, folder))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".js") || strings.HasSuffix(e.Name(), ".d.ts") {
				if err := copied(filepath.Join(root, folder, e.Name()), filepath.Join(from, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	names, err := reached(from, "model.js", "element.js", "model.d.ts", "element.d.ts")
	if err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o777); err != nil {
		return err
	}
	for _, name := range names {
		if err := copied(filepath.Join(from, name), filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return errors.Join(single(filepath.Join(from, "worker.js"), filepath.Join(out, "worker.js")), single(filepath.Join(from, "thread.js"), filepath.Join(out, "thread.js")))
}

func copied(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}

// clear makes a folder, or empties one that holds a package; anything else it leaves alone.
func clear(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, "package.json")); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is no package, and not empty: name another folder", folder)
	}
	return errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o777))
}

var imports = regexp.MustCompile(`(?:\bfrom ?|\bimport ?|\bimport\()['"]\./([\w.-]+)['"]`)

// reached lists scripts and all that they import, one from the other; of types those that belong to them.
func reached(folder string, names ...string) ([]string, error) {
	for i := 0; i < len(names); i++ {
		text, err := os.ReadFile(filepath.Join(folder, names[i]))
		if err != nil {
			return nil, err
		}
		types := strings.HasSuffix(names[i], ".d.ts")
		for _, m := range imports.FindAllStringSubmatch(string(text), -1) {
			name := m[1]
			if types {
				name = strings.TrimSuffix(name, ".js") + ".d.ts"
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// single makes one file of a script and all that it imports.
func single(from, to string, more ...string) error {
	args := []string{"run", bundler, from, "--bundle", "--format=esm", "--minify", "--charset=utf8", "--log-level=warning", "--target=es2022", "--outfile=" + to}
	_, err := output("go", append(args, more...)...)
	return err
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
