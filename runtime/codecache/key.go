package codecache

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/weft-ml/weft/atomicfile"
)

const keyName = "key"

// loadKey reads the folder's key or makes one. Of processes that make one at once the first wins. A key that others can
// read, that is not this user's or has another form is replaced: what was signed with it is compiled again.
func (f *Folder) loadKey() error {
	path := f.Name(keyName)
	for range 100 {
		key, err := f.readKey(path)
		if err == nil {
			f.key = key
			return nil
		}
		t, failed := atomicfile.Create(f.temp(), tempPrefix, 0o600)
		if failed != nil {
			return f.named(failed)
		}
		_, _ = rand.Read(key[:]) // it never fails
		if _, failed = fmt.Fprintf(t, "%x\n", key); failed != nil {
			t.Discard()
			return f.named(failed)
		}
		first := errors.Is(err, fs.ErrNotExist)
		if first {
			if failed = t.Link(path); failed == nil || errors.Is(failed, fs.ErrExist) {
				t.Discard()
				continue
			}
		}
		if failed = t.Commit(path, atomicfile.Fast); failed != nil { // also where there are no links
			return fmt.Errorf("the key %s (%w) cannot be replaced: %w; remove it", f.Outside(path), f.named(err), f.named(failed))
		}
	}
	return fmt.Errorf("the key %s changes all the time", f.Outside(path))
}

func (f *Folder) readKey(path string) (key [32]byte, err error) {
	text, err := read(path)
	if err != nil {
		return key, err
	}
	if info, err := os.Lstat(path); err != nil || !secret(info) {
		return key, errors.New("others can read it")
	}
	n := hex.EncodedLen(len(key))
	if len(text) != n+1 || text[n] != '\n' {
		return key, fmt.Errorf("%d bytes, not %d", len(text), n+1)
	}
	_, err = hex.Decode(key[:], text[:n])
	return key, err
}
