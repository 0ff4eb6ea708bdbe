//go:build !linux && !wasm

package native

// hugePages does nothing: these systems choose the size of pages themselves.
func hugePages([]byte) {}
