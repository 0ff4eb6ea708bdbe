//go:build !unix

package browser

import "os/exec"

func together(*exec.Cmd) {}

func killAll(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
