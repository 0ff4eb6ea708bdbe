//go:build unix

package codecache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const othersWrite, othersRead, othersEnter = 0o022, 0o044, 0o011

func owner(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}

// own reports whether only this user can write a file.
func own(info fs.FileInfo) bool {
	return owner(info) == os.Geteuid() && info.Mode().Perm()&othersWrite == 0
}

// secret reports whether only this user can read a file.
func secret(info fs.FileInfo) bool { return own(info) && info.Mode().Perm()&othersRead == 0 }

// exposed says who else can write to a folder and what is to be done about it; nothing if nobody can.
func exposed(info fs.FileInfo, path string) (why, remedy string) {
	switch {
	case owner(info) != os.Geteuid():
		return fmt.Sprintf("belongs to user %d, not to you (user %d)", owner(info), os.Geteuid()), another
	case info.Mode().Perm()&othersWrite != 0 && !enclosed(path):
		return fmt.Sprintf("can be written by others (%v)", info.Mode()), fmt.Sprintf("run chmod go-w %s, or %s", path, another)
	}
	return "", ""
}

// enclosed reports whether a folder lies in one that is closed to others, who then do not reach it, whatever it permits.
func enclosed(path string) bool {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for up := filepath.Dir(path); up != path; path, up = up, filepath.Dir(up) {
		info, err := os.Stat(up)
		if err != nil {
			return false
		}
		if owner(info) == os.Geteuid() && info.Mode().Perm()&(othersEnter|othersWrite) == 0 {
			return true
		}
	}
	return false
}

// Full reports whether an error says that nothing more fits: on the disk, in what a user may have of it, in a file.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
