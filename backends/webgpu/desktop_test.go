//go:build !cogentcore

// The older library of package cogentcore looks for OpenGL in any case, and with it for a desktop.

package webgpu

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
)

const quietChild = "WEFT_TEST_QUIET_CHILD"

// Where there is no desktop, no library complains about that on standard error, and the environment is as it was.
func TestNoWordsFromADriver(t *testing.T) {
	if os.Getenv(quietChild) != "" {
		for range 2 {
			e, err := engine.Open("WEBGPU", engine.Options{})
			require.NoError(t, err)
			require.NoError(t, e.Sync(context.Background()))
			require.NoError(t, e.Close())
		}
		_, set := os.LookupEnv("NODEVICE_SELECT")
		require.False(t, set)
		return
	}
	e, err := engine.Open("WEBGPU", engine.Options{})
	need.Device(t, "WEBGPU", err)
	require.NoError(t, e.Close())
	child := exec.Command(os.Args[0], "-test.run=^TestNoWordsFromADriver$")
	child.Env = []string{quietChild + "=1"}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "XDG_") && !strings.HasPrefix(name, "WAYLAND_") && name != "NODEVICE_SELECT" && name != "MESA_VK_DEVICE_SELECT" {
			child.Env = append(child.Env, v)
		}
	}
	var out, words strings.Builder
	child.Stdout, child.Stderr = &out, &words
	require.NoError(t, child.Run(), "%s%s", out.String(), words.String())
	assert.Empty(t, words.String())
}

func TestHeadless(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, true},
		{map[string]string{"XDG_RUNTIME_DIR": ""}, true},
		{map[string]string{"XDG_RUNTIME_DIR": "run"}, true},
		{map[string]string{"XDG_RUNTIME_DIR": "/run/user/1000"}, false},
		{map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, true},
		{map[string]string{"WAYLAND_DISPLAY": "/run/wayland-0"}, false},
		{map[string]string{"WAYLAND_SOCKET": "3"}, false},
		{map[string]string{"MESA_VK_DEVICE_SELECT": "10005:0"}, false},
		{map[string]string{"NODEVICE_SELECT": "0"}, false},
	} {
		got := headless(func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
		assert.Equal(t, c.want && runtime.GOOS == "linux", got, "%v", c.env)
	}
}
