//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package atomicfile

import (
	"io/fs"
	"os"
)

const renamesOpen = false

// lock says that there is none: age decides. Windows, besides, removes no file that is open.
func lock(*os.File, bool) error { return errUnsupported }

func mine(fs.FileInfo) bool { return true }
