package native

import "syscall"

// withThread makes a program end with the thread that starts it.
func withThread() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
