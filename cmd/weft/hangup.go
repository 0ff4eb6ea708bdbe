//go:build !js

package main

import (
	"os"
	"syscall"
)

// hangup says that the terminal was closed.
var hangup os.Signal = syscall.SIGHUP
