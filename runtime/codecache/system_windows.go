package codecache

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

// The folders of a user's profile are closed to others by their lists of rights, and files inherit them.
func own(fs.FileInfo) bool                             { return true }
func secret(fs.FileInfo) bool                          { return true }
func exposed(fs.FileInfo, string) (why, remedy string) { return "", "" }

// Full reports whether an error says that nothing more fits on the disk.
func Full(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
