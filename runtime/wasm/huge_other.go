//go:build !linux && !windows && !js

package wasm

// hugePages does nothing: these systems choose the size of pages themselves.
func hugePages([]byte) {}
