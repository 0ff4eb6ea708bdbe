//go:build cgo && (darwin || (windows && (amd64 || arm64)))

package wgpu

// guarded calls f. The binding returns errors of use; where memory is used up the library ends the program.
func (t *transport) guarded(f func() error) error { return t.note(f()) }
