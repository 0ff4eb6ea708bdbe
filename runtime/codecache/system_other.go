//go:build !unix && !windows

package codecache

import "io/fs"

func own(fs.FileInfo) bool                             { return true }
func secret(fs.FileInfo) bool                          { return true }
func exposed(fs.FileInfo, string) (why, remedy string) { return "", "" }

// Full reports whether an error says that nothing more fits; here none does.
func Full(error) bool { return false }
