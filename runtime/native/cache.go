//go:build !wasm

package native

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	indexExt   = ".kernel"
	tempPrefix = "tmp-"
	tempAge    = time.Hour           // no compiler runs that long: its process was killed
	unusedAge  = 60 * 24 * time.Hour // a library that nobody loaded for so long
)

// cache is a folder of libraries named by the hash of their bytes, and one small index file for
// each kernel, named by the kernel's key, that holds the name of its library. Files appear by
// rename only, so several processes may use the folder at once and any may be killed; what
// is read is checked, and what does not check is built again.
type cache struct{ dir string }

// openCache creates the folder and tries to write to it: a cache that silently does not keep
// would cost seconds in every process.
func openCache(dir string) (*cache, error) {
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("CPU: no folder for compiled kernels: %w; set WEFT_CACHE (Options.CacheDir) to a folder", err)
		}
		dir = filepath.Join(base, "weft")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("CPU: the cache folder: %w", err)
	}
	c := &cache{dir}
	err = os.MkdirAll(dir, 0o700)
	if err == nil {
		var temp string
		if temp, err = c.temp(); err == nil {
			err = os.Remove(temp)
		}
	}
	if err != nil {
		return nil, c.unwritable(err)
	}
	c.sweep(time.Now())
	return c, nil
}

func (c *cache) unwritable(err error) error {
	return fmt.Errorf("CPU: cannot write compiled kernels to %s: %w; make it writable or set WEFT_CACHE (Options.CacheDir) to another folder", c.dir, err)
}

// temp creates an empty folder within the cache, so that a rename out of it is atomic.
func (c *cache) temp() (string, error) { return os.MkdirTemp(c.dir, tempPrefix+"*") }

// sweep removes what killed processes left and what was not used for long. Another process may
// do the same at the same time, so a failure to remove means nothing.
func (c *cache) sweep(now time.Time) {
	entries, _ := os.ReadDir(c.dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		age, path := now.Sub(info.ModTime()), filepath.Join(c.dir, e.Name())
		switch ext := filepath.Ext(e.Name()); {
		case strings.HasPrefix(e.Name(), tempPrefix) && age > tempAge:
			_ = os.RemoveAll(path)
		case (ext == libraryExt || ext == indexExt) && age > unusedAge:
			_ = os.Remove(path)
		}
	}
}

func (c *cache) library(sum string) string { return filepath.Join(c.dir, sum+libraryExt) }
func (c *cache) index(key string) string   { return filepath.Join(c.dir, key+indexExt) }

// find returns the name of the library that holds the kernel, "" when there is none.
func (c *cache) find(key string) string {
	text, err := os.ReadFile(c.index(key))
	if err != nil {
		return ""
	}
	sum := strings.TrimSpace(string(text))
	if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size {
		return ""
	}
	touch(c.index(key))
	return sum
}

// verify reports whether the library is there and has the bytes that its name says. One that
// has not is removed, so that a later process does not stumble either.
func (c *cache) verify(sum string) (bool, error) {
	path := c.library(sum)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("CPU: read a compiled kernel: %w; remove it or set WEFT_CACHE (Options.CacheDir) to another folder", err)
	}
	if hashOf(b) != sum {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, c.unwritable(err)
		}
		return false, nil
	}
	touch(path)
	return true, nil
}

// add moves a compiled library into the cache and returns its name.
func (c *cache) add(built string) (sum string, err error) {
	b, err := os.ReadFile(built)
	if err != nil {
		return "", c.unwritable(err)
	}
	sum = hashOf(b)
	if err = os.Rename(built, c.library(sum)); err != nil {
		// Windows does not replace a library that some process has loaded; then it is there.
		if ok, _ := c.verify(sum); !ok {
			return "", c.unwritable(err)
		}
	}
	return sum, nil
}

// point writes the index file of a kernel. dir is a folder of temp.
func (c *cache) point(dir, key, sum string) error {
	temp := filepath.Join(dir, "index")
	err := os.WriteFile(temp, []byte(sum+"\n"), 0o600)
	if err == nil {
		err = os.Rename(temp, c.index(key))
	}
	if err != nil {
		return c.unwritable(err)
	}
	return nil
}

// touch keeps a file that is used from being swept. Failing costs one compile much later.
func touch(path string) {
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
		_ = os.Chtimes(path, time.Time{}, time.Now())
	}
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
