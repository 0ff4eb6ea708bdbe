//go:build !linux

package codecache

import "os"

// through gives the folder's path: there is no other way to it.
func through(_ *os.File, path string) string { return path }
