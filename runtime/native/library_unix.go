//go:build !windows && !wasm

package native

import "github.com/ebitengine/purego"

const libraryExt = ".so"

func openLibrary(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func librarySymbol(lib uintptr, name string) (uintptr, error) { return purego.Dlsym(lib, name) }
