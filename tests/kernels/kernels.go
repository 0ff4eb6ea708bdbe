// Package kernels writes every kernel that a test binary compiles to the folder that WEFT_KERNELS names, a file each: a
// change called refactor must leave the folder as it was, any other shows its diff. Tests import it blank.
//
//	make kernels DIR=before
//
// It refuses to know what the kernels are for.
package kernels

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
)

func init() {
	if dir := os.Getenv("WEFT_KERNELS"); dir != "" {
		engine.Watch(func(device string, k *plan.Kernel, tree string) {
			if err := write(dir, device, k, tree); err != nil {
				panic(fmt.Errorf("WEFT_KERNELS: %w", err))
			}
		})
	}
}

// write stores a kernel under its device, name and entry; the entry follows from its text, so equal kernels of several
// tests share a file.
func write(dir, device string, k *plan.Kernel, tree string) error {
	dir = filepath.Join(dir, device)
	path := filepath.Join(dir, k.Name+"-"+k.Entry+".txt")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // several test binaries write at once
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	text := k.Source
	if text == "" {
		text = tree
	}
	_, err = fmt.Fprintf(f, "%s %s\nmoves %s\nthreads %d scratch %d flops %d bytes %d\n%s", k.Name, k.Kinds, k.Directives, k.Threads, k.Scratch, k.Flops, k.Bytes, text)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
