// Package atomicfile writes files that appear whole or not at all, and clears away what killed writers left behind.
//
// A file is written beside its place under a name of its own, and renamed. While it is written its writer holds a lock
// on it, which the system takes back when the process ends, however it ends. So whoever writes next can tell what is
// dead from what is not, without looking at process numbers, which mean nothing across containers and machines. Where
// there are no such locks a file counts as dead after a day.
//
//	atomicfile.Sweep(dir, ".save-")
//	f, err := atomicfile.Create(dir, ".save-", 0o666)
//	f.Write(…)
//	err = f.Commit(path, atomicfile.Durable)
//
// It refuses to know what is in the files.
package atomicfile

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	suffix    = ".tmp"
	digits    = 16             // of the random part of a name
	deadAge   = 24 * time.Hour // without locks: nobody writes for so long
	folderEnd = ".d"           // of the folder beside a file
	attempts  = 100
)

// Durable makes Commit wait until the contents are on the disk, so that a power cut leaves the old file or the new one.
// Fast leaves that to the system, for files whose damage is noticed.
const (
	Durable = true
	Fast    = false
)

var (
	errBusy        = errors.New("somebody holds the lock")
	errUnsupported = errors.New("no locks here")
)

// File is a file that is not there yet.
type File struct {
	*os.File
}

// Create makes an empty file in a folder, under a name that begins with prefix. The permissions are perm less the umask.
func Create(dir, prefix string, perm fs.FileMode) (*File, error) {
	for range attempts {
		f, err := os.OpenFile(filepath.Join(dir, name(prefix)), os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if held(f) {
			return &File{f}, nil
		}
		f.Close() // swept between its creation and its lock
	}
	return nil, fmt.Errorf("create a file in %s: others remove it at once", dir)
}

// Commit gives the file its name, in place of what had it. After an error the file is gone and the old one as it was.
func (f *File) Commit(path string, durable bool) error {
	var err error
	if durable {
		err = f.Sync() // the data must be on disk before the name points to it
	}
	if !renamesOpen {
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		f.Discard()
		return err
	}
	if renamesOpen { // until now, so that nobody takes it for dead
		err = f.Close()
	}
	if durable {
		// The file is complete either way; syncing the folder only makes its new name survive a power cut, and some
		// systems cannot do it.
		if dir, err := os.Open(filepath.Dir(path)); err == nil {
			_ = dir.Sync()
			dir.Close()
		}
	}
	return err
}

// Link gives the file a name that nobody has; the error is fs.ErrExist where somebody has it. The file is to be discarded
// after that.
func (f *File) Link(path string) error { return os.Link(f.Name(), path) }

// Discard removes the file.
func (f *File) Discard() {
	_ = os.Remove(f.Name())
	_ = f.Close() // a second time says so, and means nothing
	_ = os.Remove(f.Name())
}

// Folder is a folder for work that nobody else sees into. A file beside it carries its lock.
type Folder struct {
	Path string
	lock *File
}

// Mkdir makes an empty folder in dir as Create makes a file.
func Mkdir(dir, prefix string) (*Folder, error) {
	lock, err := Create(dir, prefix, 0o600)
	if err != nil {
		return nil, err
	}
	path := lock.Name() + folderEnd
	if err := os.Mkdir(path, 0o700); err != nil {
		lock.Discard()
		return nil, err
	}
	return &Folder{path, lock}, nil
}

// Remove removes the folder with everything in it. What cannot be removed now is swept some day.
func (d *Folder) Remove() {
	_ = os.RemoveAll(d.Path)
	d.lock.Discard()
}

// Sweep removes the files and folders of a prefix whose writers are dead. That others do the same at the same time, or
// may not, means nothing.
func Sweep(dir, prefix string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		file, folder := strings.CutSuffix(e.Name(), folderEnd)
		switch {
		case !ours(file, prefix):
		case e.Type().IsRegular() && !folder:
			removeDead(path)
		case e.IsDir() && folder:
			info, err := e.Info()
			if _, gone := os.Lstat(filepath.Join(dir, file)); err == nil && mine(info) && errors.Is(gone, fs.ErrNotExist) {
				_ = os.RemoveAll(path) // its lock comes before it and goes after it
			}
		}
	}
}

func name(prefix string) string {
	return fmt.Sprintf("%s%0*x%s", prefix, digits, rand.Uint64(), suffix)
}

func ours(name, prefix string) bool {
	number, end := strings.CutSuffix(name, suffix)
	number, begin := strings.CutPrefix(number, prefix)
	_, err := hex.DecodeString(number)
	return begin && end && err == nil && len(number) == digits
}

// held takes the lock of a fresh file and reports whether its name still leads to it: a sweep may have come between.
func held(f *os.File) bool {
	if err := lock(f, true); err != nil {
		return true // no locks here; age decides
	}
	is, err := f.Stat()
	there, failed := os.Lstat(f.Name())
	return err == nil && failed == nil && os.SameFile(is, there)
}

// removeDead removes a file, and a folder beside it, if nobody writes them any more. Its lock tells, and is held until all
// is gone, so that nobody who waits for it believes to have it; where there are no locks its age does.
func removeDead(path string) {
	info, err := os.Lstat(path)
	if err != nil || !mine(info) {
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	switch err := lock(f, false); {
	case err == nil:
		_ = os.RemoveAll(path + folderEnd)
		_ = os.Remove(path)
	case !errors.Is(err, errBusy) && time.Since(info.ModTime()) > deadAge:
		f.Close() // some systems remove no file that is open, so this one
		if os.Remove(path) == nil {
			_ = os.RemoveAll(path + folderEnd)
		}
	}
}
