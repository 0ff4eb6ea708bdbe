package folder_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/data/folder"
)

// picture is h×w pixels whose red counts, whose green is 100 and whose blue is 200.
func picture(h, w int) *image.NRGBA {
	im := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range h * w {
		im.Set(i%w, i/w, color.NRGBA{byte(10 * i), 100, 200, 255})
	}
	return im
}

func write(t *testing.T, dir string, name string, encode func(b *bytes.Buffer) error) string {
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	var b bytes.Buffer
	require.NoError(t, encode(&b))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o666))
	return path
}

func asPNG(im image.Image) func(b *bytes.Buffer) error {
	return func(b *bytes.Buffer) error { return png.Encode(b, im) }
}

func TestPicturesInFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "dog/b.png", asPNG(picture(2, 3)))
	write(t, dir, "dog/a.PNG", asPNG(picture(2, 3)))
	write(t, dir, "dog/notes.txt", func(b *bytes.Buffer) error { return nil })
	write(t, dir, "readme", func(b *bytes.Buffer) error { return nil })
	write(t, dir, "cat/x.gif", func(b *bytes.Buffer) error {
		return gif.Encode(b, image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black}), nil)
	})
	p, err := folder.Load(dir, folder.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"cat", "dog"}, p.Classes)
	assert.Equal(t, []int32{0, 1, 1}, p.Labels)
	assert.Equal(t, []int{3, 3, 2, 3}, []int{p.N, p.C, p.H, p.W})
	assert.Equal(t, []string{"x.gif", "a.PNG", "b.png"}, []string{filepath.Base(p.Files[0]), filepath.Base(p.Files[1]), filepath.Base(p.Files[2])})
	assert.Equal(t, []byte{0, 10, 20, 30, 40, 50, 100, 100, 100, 100, 100, 100, 200, 200, 200, 200, 200, 200}, p.Images[18:36])
	assert.Equal(t, make([]byte, 18), p.Images[:18])
	write(t, dir, "cat/y.jpg", func(b *bytes.Buffer) error { return jpeg.Encode(b, picture(5, 4), nil) })
	_, err = folder.Load(dir, folder.Options{})
	assert.ErrorContains(t, err, "y.jpg: is 5×4, the ones before are 2×3; give a size in Options")
	p, err = folder.Load(dir, folder.Options{H: 1, W: 2, Grey: true})
	require.NoError(t, err)
	assert.Equal(t, []int{4, 1, 1, 2}, []int{p.N, p.C, p.H, p.W})
	// Two pixels of two rows and one and a half columns each: red 15·2/3 + 20·1/3 and so on; brightness 0.299 r + 0.587 g + 0.114 b.
	assert.InDelta(t, 0.299*(15*2./3+25*1./3)+58.7+22.8, float64(p.Images[4]), 1)
	assert.InDelta(t, 0.299*(25*1./3+35*2./3)+58.7+22.8, float64(p.Images[5]), 1)
}

// A class may be a link to a folder elsewhere.
func TestLinkedFolders(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	write(t, dir, "dog/a.png", asPNG(picture(2, 3)))
	write(t, elsewhere, "a.png", asPNG(picture(2, 3)))
	err := os.Symlink(elsewhere, filepath.Join(dir, "cat"))
	if err != nil && runtime.GOOS == "windows" {
		t.Skipf("Windows lets not everybody make links: %v", err)
	}
	require.NoError(t, err)
	require.NoError(t, os.Symlink(filepath.Join(dir, "dog", "a.png"), filepath.Join(dir, "no folder.png")))
	p, err := folder.Load(dir, folder.Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"cat", "dog"}, p.Classes)
	assert.Equal(t, []int32{0, 1}, p.Labels)
}

func TestPicturesAreRefused(t *testing.T) {
	dir := t.TempDir()
	load := func(o folder.Options) error {
		_, err := folder.Load(dir, o)
		require.Error(t, err)
		return err
	}
	assert.ErrorContains(t, load(folder.Options{}), "holds no folders; put the pictures of each class")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o777))
	assert.ErrorContains(t, load(folder.Options{}), "holds no pictures")
	path := write(t, dir, "empty/a.png", asPNG(picture(20, 30)))
	assert.ErrorContains(t, load(folder.Options{Pixels: 599}), "has 20×30 pixels, at most 599 are read")
	assert.ErrorContains(t, load(folder.Options{Bytes: 1799}), "take more than 1799 bytes")
	assert.ErrorContains(t, load(folder.Options{H: 1 << 31, W: 1 << 31}), "take more than 2147483647 bytes") // and more than 63 bits count
	assert.ErrorContains(t, load(folder.Options{H: 3}), "a size of 3×0; give both, or none")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	binary.BigEndian.PutUint32(raw[16:], 1<<30) // claims to be wide
	require.NoError(t, os.WriteFile(path, raw, 0o666))
	var e *data.FileError
	require.ErrorAs(t, load(folder.Options{}), &e)
	assert.Equal(t, path, e.Path)
	binary.BigEndian.PutUint32(raw[16:], 30)
	require.NoError(t, os.WriteFile(path, raw[:len(raw)/2], 0o666))
	assert.ErrorContains(t, load(folder.Options{}), "a.png: is broken: png: invalid format")
	require.NoError(t, os.WriteFile(path, []byte("no picture"), 0o666))
	assert.ErrorContains(t, load(folder.Options{}), "is no picture that can be read")
	dir += "/no"
	assert.ErrorContains(t, load(folder.Options{}), "no such folder")
}
