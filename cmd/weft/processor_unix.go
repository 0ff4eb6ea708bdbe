//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime is what this process has taken of the processors, with all of its threads.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
