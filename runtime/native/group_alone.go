//go:build unix && !linux

package native

import "syscall"

// withThread would make a program end with the thread that starts it; no other system can.
func withThread() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
