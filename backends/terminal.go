//go:build !js

package backends

import (
	"io"
	"os"
)

// terminal says whether what is written is shown to a person at once.
func terminal(log io.Writer) bool {
	f, ok := log.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
