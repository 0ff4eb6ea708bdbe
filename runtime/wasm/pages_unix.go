//go:build !windows && !js

package wasm

import "golang.org/x/sys/unix"

// reserve asks the system for addresses, which cost nothing until they are used: 4 GiB, or as much as there is.
func reserve() (*pages, error) {
	var err error
	for size := mostBytes; size >= leastBytes; size /= 2 {
		var b []byte
		if b, err = unix.Mmap(-1, 0, size&^(pageBytes-1), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE); err == nil {
			return &pages{all: b}, nil
		}
	}
	return nil, err
}

func (p *pages) commit(int, int) bool { return true }

func (p *pages) release() {
	_ = unix.Munmap(p.all)
	p.all, p.used = nil, nil
}
