package viz_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/viz"
)

// TestChild is the program of TestInterrupted: one that runs on.
func TestChild(t *testing.T) {
	if os.Getenv("WEFT_TEST_VIZ") == "" {
		t.Skip("TestInterrupted runs it")
	}
	defer viz.Open()()
	time.Sleep(time.Minute)
}

// An interrupt ends a program that is shown, as it does one that is not: the server waits for one only behind the program's end.
func TestInterrupted(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(self, "-test.run=^TestChild$")
	c.Env = append(os.Environ(), "WEFT_TEST_VIZ=1", "VIZ=1")
	said, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	defer func() { _ = c.Process.Kill() }()
	line, err := bufio.NewReader(said).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "http://127.0.0.1:")
	err = c.Process.Signal(os.Interrupt)
	if err != nil && runtime.GOOS == "windows" {
		t.Skipf("Windows sends no interrupts: %v", err)
	}
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, said)
		ended <- c.Wait()
	}()
	select {
	case err := <-ended:
		assert.Error(t, err)
	case <-time.After(20 * time.Second):
		t.Error("the program goes on")
	}
}
