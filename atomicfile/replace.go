package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes the file at a path that a person gave, in one step: another process sees the old file or the whole new one, and after an
// error the old one is as it was. A link is followed, so that the file it names is replaced, and an old file's permissions stay. What is
// there and is no regular file, or may not be written, is an error. What killed writers of the prefix left goes.
func Replace(path, prefix string, write func(w io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o666) // less the umask
	old, err := os.Stat(path)
	switch {
	case err == nil && !old.Mode().IsRegular():
		return errors.New("it exists and is not a regular file")
	case err == nil && old.Mode().Perm()&0o200 == 0:
		return errors.New("the file is read-only")
	case err == nil:
		mode = old.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	dir := filepath.Dir(path) // a rename is one step only within a file system
	Sweep(dir, prefix)
	f, err := Create(dir, prefix, mode)
	if err != nil {
		return fmt.Errorf("check that the folder exists and may be written to: %w", err)
	}
	err = write(f)
	if err == nil && old != nil {
		err = f.Chmod(mode)
	}
	if err != nil {
		f.Discard()
		return err
	}
	return f.Commit(path, Durable)
}
