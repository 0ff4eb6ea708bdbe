package browser

import (
	"os/exec"
	"syscall"
)

// Together makes a program and all that it starts a group, which ends with this process, however that ends.
func Together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// KillAll ends what Together made a group.
func KillAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
