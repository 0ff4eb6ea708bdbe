package native

import (
	goruntime "runtime"
	"sync"
	"syscall"
)

// grantTiles asks Linux for the tile registers of AMX, whose 8 KiB a thread has to be given before it may use them: once for all threads
// of the process, those that there are and those to come. Without it the first tile instruction ends the process.
// Source: Documentation/arch/x86/xstate.rst.
var grantTiles = sync.OnceValue(func() error {
	const archPrctl, request, tileData = 158, 0x1023, 18
	if goruntime.GOARCH != "amd64" {
		return syscall.ENOSYS
	}
	if _, _, errno := syscall.RawSyscall(archPrctl, request, tileData, 0); errno != 0 {
		return errno
	}
	return nil
})
