//go:build !unix

package browser

import "os/exec"

// Together and KillAll see to what a program starts, where the system has groups.
func Together(*exec.Cmd) {}

func KillAll(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
