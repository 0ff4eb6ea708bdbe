package native

import (
	"bytes"
	"debug/elf"
	"errors"
)

// whole looks whether a library has all the bytes that it says to have: the loader would look for them and crash.
func whole(text []byte) error {
	f, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for _, p := range f.Progs {
		if p.Off > uint64(len(text)) || p.Filesz > uint64(len(text))-p.Off {
			return errors.New("it is cut off")
		}
	}
	return nil
}
