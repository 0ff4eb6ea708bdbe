package wasm

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// reserve asks the system for addresses, which cost nothing until they are committed: 4 GiB, or as much as there is.
func reserve() (*pages, error) {
	var err error
	for size := mostBytes; size >= leastBytes; size /= 2 {
		n := size &^ (pageBytes - 1)
		var addr uintptr
		if addr, err = windows.VirtualAlloc(0, uintptr(n), windows.MEM_RESERVE, windows.PAGE_READWRITE); err == nil {
			// Not a Go pointer, so the rule that vet checks (uintptr to Pointer) does not apply.
			return &pages{all: unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), n)}, nil
		}
	}
	return nil, err
}

// commit makes bytes usable.
func (p *pages) commit(from, to int) bool {
	if from == to {
		return true
	}
	_, err := windows.VirtualAlloc(uintptr(unsafe.Pointer(&p.all[from])), uintptr(to-from), windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err == nil
}

// giveBack lets the system have pages, which stay committed: it need not write them out.
func (p *pages) giveBack(from, to int) {
	if b := p.within(from, to, os.Getpagesize()); len(b) > 0 {
		_, _ = windows.VirtualAlloc(uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), windows.MEM_RESET, windows.PAGE_READWRITE)
	}
}

func (p *pages) release() {
	_ = windows.VirtualFree(uintptr(unsafe.Pointer(&p.all[0])), 0, windows.MEM_RELEASE)
	p.all, p.used = nil, nil
}
