package webgpu

import (
	"path/filepath"
	"runtime"
)

// headless says whether there is no desktop that Mesa could ask which graphics processor it lives on, and nobody has told Mesa's
// layer what to do: then it is turned off (see runtime/webgpu.WithoutDesktop). The rules are those by which libwayland finds a display.
func headless(lookup func(string) (string, bool)) bool {
	set := func(name string) bool { _, ok := lookup(name); return ok }
	absolute := func(name string) bool { v, _ := lookup(name); return filepath.IsAbs(v) }
	return runtime.GOOS == "linux" &&
		!absolute("XDG_RUNTIME_DIR") && !absolute("WAYLAND_DISPLAY") && !set("WAYLAND_SOCKET") &&
		!set("MESA_VK_DEVICE_SELECT") && !set("NODEVICE_SELECT")
}
