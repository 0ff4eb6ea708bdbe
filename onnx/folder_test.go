package onnx

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// put writes a file with its folders.
func put(t *testing.T, path string, raw []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, raw, 0o600))
}

func link(t *testing.T, path, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	if err := os.Symlink(filepath.FromSlash(to), path); err != nil && goruntime.GOOS == "windows" {
		t.Skip("links need a right there: ", err)
	} else {
		require.NoError(t, err)
	}
}

// In the cache of a hub a model and its data are links into one folder.
func TestDataBehindLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	put(t, at("blobs/1"), withInit(outside("location", "w.bin")))
	put(t, at("blobs/2"), make([]byte, 8))
	link(t, at("snapshots/a/onnx/model.onnx"), "../../../blobs/1")
	link(t, at("snapshots/a/onnx/w.bin"), "../../../blobs/2")
	_, err := Open(at("snapshots/a/onnx/model.onnx"))
	require.NoError(t, err)
	link(t, at("latest"), "snapshots/a") // a link to the folder is of no account
	_, err = Open(at("latest/onnx/model.onnx"))
	require.NoError(t, err)

	put(t, at("within/model.onnx"), withInit(outside("location", "sub/w.bin")))
	put(t, at("within/w.bin"), make([]byte, 8))
	link(t, at("within/sub/w.bin"), "../w.bin")
	_, err = Open(at("within/model.onnx"))
	require.NoError(t, err)
}

// Other links that lead out of the folder are refused, by name.
func TestLinksOutOfTheFolder(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	model := withInit(outside("location", "w.bin"))
	put(t, at("blobs/1"), model)
	put(t, at("blobs/in/2"), make([]byte, 8))
	put(t, at("secret"), make([]byte, 8))
	refused := func(name, says string) {
		t.Helper()
		_, err := Open(at(name + "/model.onnx"))
		require.ErrorContains(t, err, says)
	}
	const out = `the link "w.bin" leads to "../secret", out of the model's folder; put the file itself there in its place`
	put(t, at("file/model.onnx"), model) // the model is no link
	link(t, at("file/w.bin"), "../secret")
	refused("file", out)
	link(t, at("elsewhere/model.onnx"), "../blobs/1") // the data are of another folder than the model,
	link(t, at("elsewhere/w.bin"), "../secret")
	refused("elsewhere", out)
	link(t, at("below/model.onnx"), "../blobs/1") // also of one below it
	link(t, at("below/w.bin"), "../blobs/in/2")
	refused("below", "out of the model's folder")
	link(t, at("blobs/3"), "../secret") // or lead there and further
	link(t, at("further/model.onnx"), "../blobs/1")
	link(t, at("further/w.bin"), "../blobs/3")
	refused("further", "out of the model's folder")
	link(t, at("gone/model.onnx"), "../blobs/1")
	link(t, at("gone/w.bin"), "../blobs/9")
	refused("gone", `the link "w.bin" leads to "../blobs/9", where there is no file; load the model again, whole`)
	link(t, at("dir/model.onnx"), "../blobs/1")
	link(t, at("dir/w.bin"), "../blobs/in")
	refused("dir", `"w.bin", which is no ordinary file`)
	link(t, at("by/model.onnx"), "../blobs/1") // a folder that is a link
	put(t, at("by/x"), nil)
	put(t, at("blobs/1"), withInit(outside("location", "sub/secret")))
	link(t, at("by/sub"), "..")
	refused("by", `the link "sub" leads to "..", out of the model's folder`)
}
