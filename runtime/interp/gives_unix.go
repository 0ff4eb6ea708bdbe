//go:build !windows && !wasm

package interp

import "golang.org/x/sys/unix"

// gives says whether the system gives so many bytes.
func gives(bytes int64) bool {
	b, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	return err == nil && unix.Munmap(b) == nil
}
