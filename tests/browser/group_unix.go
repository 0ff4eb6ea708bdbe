//go:build unix && !linux

package browser

import (
	"os/exec"
	"syscall"
)

// together makes a program and all that it starts a group.
func together(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
