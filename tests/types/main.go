// Command types checks the types of all packages of the module and of their tests, for platforms that are named as go/arch, without cgo: what a
// build for each and a compiler for their tests would say of types, in a few seconds instead of minutes. What is imported from elsewhere is
// read without the bodies of its functions.
//
//	go run ./tests/types js/wasm windows/amd64
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is a package as go list tells of it: a test's variant is one of its own.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Standard        bool
	Module          *struct{ Main bool }
	Error           *struct{ Err string }
}

func main() {
	failed := false
	for _, platform := range os.Args[1:] {
		system, arch, ok := strings.Cut(platform, "/")
		if !ok {
			fmt.Fprintf(os.Stderr, "types: %s is no platform such as linux/arm64\n", platform)
			os.Exit(2)
		}
		all, err := list(system, arch)
		if err != nil {
			fmt.Fprintf(os.Stderr, "types: %s: %v\n", platform, err)
			os.Exit(1)
		}
		wrong, own := check(all, arch)
		fmt.Printf("%s: %d packages and tests of the module, %d errors\n", platform, own, len(wrong))
		for _, err := range wrong {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// list gives the packages of the module, their tests and all that they import, each after what it imports.
func list(system, arch string) (out []listed, err error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Standard,Module,Error", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	read, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(read); ; {
		var p listed
		if err = d.Decode(&p); err != nil {
			break
		}
		out = append(out, p)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out, errors.Join(err, cmd.Wait())
}

// check gives what is wrong with packages of the module, and how many these are.
func check(all []listed, arch string) (wrong []error, own int) {
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	sizes := types.SizesFor("gc", arch)
	files := token.NewFileSet()
	for _, p := range all {
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // the main packages of tests are written by go test
			continue
		}
		ours := p.Module != nil && p.Module.Main
		if ours {
			own++
		}
		if p.Error != nil {
			wrong = append(wrong, errors.New(p.Error.Err))
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				wrong = append(wrong, err)
				continue
			}
			parsed = append(parsed, f)
		}
		c := types.Config{
			IgnoreFuncBodies: !ours, FakeImportC: true, Sizes: sizes,
			Importer: importer(func(path string) (*types.Package, error) {
				if to, ok := p.ImportMap[path]; ok {
					path = to
				}
				if q := done[path]; q != nil {
					return q, nil
				}
				return nil, fmt.Errorf("%s is not among the packages", path)
			}),
			Error: func(err error) {
				if ours {
					wrong = append(wrong, err)
				}
			},
		}
		path, _, _ := strings.Cut(p.ImportPath, " ")
		done[p.ImportPath], _ = c.Check(path, files, parsed, nil)
	}
	return wrong, own
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
