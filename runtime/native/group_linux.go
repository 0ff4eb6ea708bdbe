package native

import (
	"os"
	"os/exec"
	"syscall"
)

// runGroup runs a program as a group of its own, which is killed when its context ends. If this process is killed, so is
// the program.
func runGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != syscall.ESRCH {
			return err
		}
		return os.ErrProcessDone
	}
	return cmd.Run()
}
