package backends

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/choose"
)

func init() { engine.KeepChoices(openChoices) }

// choices is a file beside the compiled kernels that keeps how fast devices are and which was chosen.
type choices struct{ path string }

func openChoices(o engine.Options) (choose.Store, error) {
	dir := o.CacheDir
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("%w; set WEFT_CACHE (Options.CacheDir) to a folder", err)
		}
		dir = filepath.Join(base, "weft")
	}
	return choices{filepath.Join(dir, "devices.txt")}, nil
}

// Load reads the file.
func (c choices) Load() (string, error) {
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return string(text), nil
}

// Save replaces the file at once, so that another process never reads half of it.
func (c choices) Save(text string) error {
	dir := filepath.Dir(c.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "tmp-devices-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if failed := f.Close(); err == nil {
		err = failed
	}
	if err == nil {
		err = os.Rename(f.Name(), c.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
