// Package formats finds out which format a file of weights has, and opens it. It refuses to know what the tensors are for.
//
//	f, err := formats.Open("model.gguf") // or .safetensors, .pt, .npz, an index of shards, a folder
//	defer f.Close()
//	report, err := nn.LoadFrom(ctx, f, model, nn.LoadOptions{})
package formats

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-ml/weft/safetensors"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/gguf"
	"github.com/weft-ml/weft/weights/llama2c"
	"github.com/weft-ml/weft/weights/numpy"
	"github.com/weft-ml/weft/weights/pytorch"
	"github.com/weft-ml/weft/weights/zipfile"
)

// Open opens a file of weights of any format, by its first bytes; an index of shards (….index.json); or a folder that holds one of these
// names: model.safetensors.index.json, model.safetensors, pytorch_model.bin.index.json, pytorch_model.bin, or a single .gguf file. Packed
// tensors of GGUF files are unpacked to F32 as they are read; gguf.Open leaves them packed.
func Open(path string) (weights.File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return openFolder(path)
	}
	if strings.HasSuffix(path, ".index.json") {
		return weights.OpenShards(path, openOne)
	}
	return openOne(path)
}

func openFolder(path string) (weights.File, error) {
	for _, name := range []string{"model.safetensors.index.json", "model.safetensors", "pytorch_model.bin.index.json", "pytorch_model.bin"} {
		at := filepath.Join(path, name)
		if _, err := os.Stat(at); err == nil {
			return Open(at)
		}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, &weights.Error{Format: "weights", Path: path, Cause: "cannot read the folder", Err: err}
	}
	var found []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".gguf") {
			found = append(found, e.Name())
		}
	}
	if len(found) != 1 {
		return nil, &weights.Error{Format: "weights", Path: path, Cause: fmt.Sprintf(
			"holds no model.safetensors, no pytorch_model.bin, no index of either, and %d .gguf files; name the file", len(found))}
	}
	return Open(filepath.Join(path, found[0]))
}

// openOne opens a single file by its first bytes.
func openOne(path string) (weights.File, error) {
	f, size, err := weights.OpenFile("weights", path)
	if err != nil {
		return nil, err
	}
	head := make([]byte, min(size, 16))
	_, err = f.ReadAt(head, 0)
	f.Close()
	if err != nil {
		return nil, &weights.Error{Format: "weights", Path: path, Cause: "cannot read it", Err: err}
	}
	begins := func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }
	switch {
	case begins("GGUF"):
		g, err := gguf.Open(path)
		if err != nil {
			return nil, err
		}
		return g.Unpacked(), nil
	case begins("\x93NUMPY"):
		return opened(numpy.Open(path))
	case begins("PK"):
		return openZip(path)
	case begins("\x80") && len(head) > 1 && head[1] >= 2 && head[1] <= 5:
		return opened(pytorch.Open(path))
	case len(head) >= 9 && head[8] == '{' && binary.LittleEndian.Uint64(head) <= uint64(size):
		return opened(safetensors.Open(path))
	}
	switch strings.ToLower(filepath.Ext(path)) { // the name says what the bytes should be, and the format what is wrong with them
	case ".gguf":
		return opened(gguf.Open(path))
	case ".safetensors":
		return opened(safetensors.Open(path))
	case ".npy", ".npz":
		return opened(numpy.Open(path))
	case ".pt", ".pth":
		return opened(pytorch.Open(path))
	}
	l, err := llama2c.Open(path)
	if err != nil {
		return nil, &weights.Error{Format: "weights", Path: path, Cause: "none of GGUF, safetensors, PyTorch, NumPy; and if it were a checkpoint of llama2.c", Err: err}
	}
	return l, nil
}

// opened makes no file of a nil pointer.
func opened[F weights.File](f F, err error) (weights.File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openZip tells the two formats apart that are zip files.
func openZip(path string) (weights.File, error) {
	f, size, err := weights.OpenFile("weights", path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := zipfile.Entries(f, size)
	if err != nil {
		return nil, &weights.Error{Format: "weights", Path: path, Cause: "bad zip file", Err: err}
	}
	for name := range entries {
		if filepath.Base(name) == "data.pkl" {
			return opened(pytorch.Open(path))
		}
	}
	return opened(numpy.Open(path))
}
