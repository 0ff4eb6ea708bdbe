// Command face makes the face of the engine in a page, all that must say the same about what can be called, of one table:
//
//	go generate ./wasm/face
//
// methods.txt is the table. What comes out is the dispatch of the engine (wasm/operations.go), the table by which weft.js checks
// calls (wasm/js/table.js), the methods in weft.d.ts, docs/javascript.md and the reference of the site (site/reference). A test says where one of them is old, and where package
// tensor can do something that the table lacks.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run .

func main() {
	files, err := build(filepath.Join("..", ".."))
	if err == nil {
		for name, data := range files {
			if err = os.WriteFile(name, data, 0o666); err != nil {
				break
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "face:", err)
		os.Exit(1)
	}
}

// build gives the files, by their paths, of the repository at root.
func build(root string) (map[string][]byte, error) {
	t, err := parse(source)
	if err != nil {
		return nil, err
	}
	s, err := readGo(filepath.Join(root, "tensor"))
	if err != nil {
		return nil, err
	}
	operations, err := t.operations(s)
	if err != nil {
		return nil, err
	}
	declared := filepath.Join(root, "wasm/js/weft.d.ts")
	old, err := os.ReadFile(declared)
	if err != nil {
		return nil, err
	}
	types, err := t.types(old, s)
	if err != nil {
		return nil, err
	}
	files, err := t.reference(root, s)
	if err != nil {
		return nil, err
	}
	files[filepath.Join(root, "wasm/operations.go")] = operations
	files[filepath.Join(root, "wasm/js/table.js")] = t.script()
	byHand, err := t.byHandDocs(string(types), filepath.Dir(declared))
	if err != nil {
		return nil, err
	}
	files[filepath.Join(root, "docs/javascript.md")] = append(t.document(s), byHand...)
	files[declared] = types
	return files, nil
}
