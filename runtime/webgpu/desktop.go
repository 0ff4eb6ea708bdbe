package webgpu

import (
	"os"
	"sync"
)

// noDeviceSelect is what turns Mesa's layer VK_LAYER_MESA_device_select off, see its disable_environment.
const noDeviceSelect = "NODEVICE_SELECT"

var creating sync.Mutex

// WithoutDesktop calls create, which makes a Vulkan instance, so that Mesa does not look for a desktop. Its layer device_select
// asks the Wayland display which graphics processor it lives on, to list that one first, each time that adapters are listed;
// where there is no desktop, libwayland complains about that on standard error ("XDG_RUNTIME_DIR is invalid or not set in the
// environment"), once a listing. The order is of no use here: Choose goes by kinds and names.
//
// The layer can be turned off by a variable of the environment only, which the Vulkan loader reads as the instance is made; so
// it is set for that moment. The caller has seen that it is unset. While it is set, a child process that starts would inherit
// it, and would not ask a desktop either; other threads of C that read the environment just then are the same risk that any
// os.Setenv is.
func WithoutDesktop(create func()) {
	creating.Lock()
	defer creating.Unlock()
	if err := os.Setenv(noDeviceSelect, "1"); err == nil {
		defer os.Unsetenv(noDeviceSelect)
	}
	create()
}
