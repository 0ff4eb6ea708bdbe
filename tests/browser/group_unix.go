//go:build unix && !linux

package browser

import (
	"os/exec"
	"syscall"
)

// Together makes a program and all that it starts a group.
func Together(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// KillAll ends what Together made a group.
func KillAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
