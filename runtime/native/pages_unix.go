//go:build !windows && !wasm

package native

import "golang.org/x/sys/unix"

// mapPages returns zeroed, page-aligned memory outside the Go heap.
func mapPages(bytes int) ([]byte, error) {
	return unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

// forbidPages makes touching pages end the process.
func forbidPages(b []byte) error { return unix.Mprotect(b, unix.PROT_NONE) }

func unmapPages(b []byte) { _ = unix.Munmap(b) }
