package backends

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-ml/weft/atomicfile"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/choose"
	"github.com/weft-ml/weft/runtime/codecache"
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

const mostChoices = 1 << 20 // bytes; package choose keeps 200 lines

// Load reads the file.
func (c choices) Load() (string, error) {
	info, err := os.Stat(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > mostChoices) {
		err = fmt.Errorf("%s is not a file of at most %d bytes; remove it", c.path, mostChoices)
	}
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(c.path)
	return string(text), err
}

// Save replaces the file at once, so that another process never reads half of it.
func (c choices) Save(text string) error {
	dir := filepath.Join(filepath.Dir(c.path), codecache.TempFolder) // the folder itself has many other files
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	const prefix = "tmp-devices-"
	atomicfile.Sweep(dir, prefix)
	f, err := atomicfile.Create(dir, prefix, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(text); err != nil {
		f.Discard()
		return err
	}
	return f.Commit(c.path, atomicfile.Fast)
}
