//go:build !windows && !js

package wasm

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserve asks the system for addresses, which cost nothing until they are used: 4 GiB, or as much as there is.
func reserve() (*pages, error) {
	var err error
	for size := mostBytes; size >= leastBytes; size /= 2 {
		var b []byte
		if b, err = unix.Mmap(-1, 0, size&^(pageBytes-1), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE); err == nil {
			hugePages(b[smallPages:])
			return &pages{all: b}, nil
		}
	}
	return nil, err
}

// smallPages is how much of the memory has pages of the usual size, for programs that need no more.
const smallPages = 2 << 20

// giveBack lets the system have pages; when they are touched again it gives others.
func (p *pages) giveBack(from, to int) {
	if b := p.within(from, to, os.Getpagesize()); len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_DONTNEED) // a refusal costs only memory
	}
}

func (p *pages) commit(int, int) bool { return true }

func (p *pages) release() {
	_ = unix.Munmap(p.all)
	p.all, p.used = nil, nil
}
