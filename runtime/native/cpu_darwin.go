package native

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// processor names the processor for people; it is not part of any cache key.
func processor() string {
	if name, err := unix.Sysctl("machdep.cpu.brand_string"); err == nil {
		return name
	}
	return runtime.GOARCH
}
