package main

import (
	"os"
	"syscall"
)

// hangup has a stand-in where there are no terminals that are closed.
var hangup os.Signal = syscall.SIGTERM
