//go:build !unix && !windows && !wasm

package native

import "os/exec"

// runGroup runs a program.
func runGroup(cmd *exec.Cmd) error { return cmd.Run() }
