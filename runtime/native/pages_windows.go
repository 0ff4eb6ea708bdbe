package native

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapPages returns zeroed, page-aligned memory outside the Go heap.
func mapPages(bytes int) ([]byte, error) {
	addr, err := windows.VirtualAlloc(0, uintptr(bytes), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, err
	}
	// Not a Go pointer, so the rule that vet checks (uintptr to Pointer) does not apply.
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), bytes), nil
}

// forbidPages makes touching pages end the process.
func forbidPages(b []byte) error {
	var old uint32
	return windows.VirtualProtect(uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), windows.PAGE_NOACCESS, &old)
}

func unmapPages(b []byte) {
	_ = windows.VirtualFree(uintptr(unsafe.Pointer(&b[0])), 0, windows.MEM_RELEASE)
}
