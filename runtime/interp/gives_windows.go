package interp

import "golang.org/x/sys/windows"

// gives says whether the system gives so many bytes.
func gives(bytes int64) bool {
	at, err := windows.VirtualAlloc(0, uintptr(bytes), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	return err == nil && windows.VirtualFree(at, 0, windows.MEM_RELEASE) == nil
}
