// Package folder reads pictures from folders, one for each class: dir/cat/1.png, dir/dog/2.jpg. It is apart from package data because
// decoders of picture files are heavy, and programs in a page that read none should not carry them.
//
// It refuses to know tensors, networks and devices: pictures are bytes.
//
//	p, err := folder.Load("pets", folder.Options{H: 64, W: 64})
//	x := tensor.FromBytes(dtype.U8, []int{p.N, p.C, p.H, p.W}, p.Images)
package folder

import (
	"errors"
	"fmt"
	"image"
	_ "image/gif" // registers the decoder
	_ "image/jpeg"
	_ "image/png"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-ml/weft/data"
)

// Pictures are N pictures of C colours, H rows and W columns, and the class of each.
type Pictures struct {
	Classes    []string // the folders' names, in the order of bytes
	Files      []string // the file of each picture, in the order of classes and names
	Labels     []int32  // the class of each
	Images     []byte   // n·c·h·w: red, green and blue planes, or one of grey
	N, C, H, W int
}

// Options are the options of Load.
type Options struct {
	H, W   int   // every picture is scaled to this size, each new pixel the mean of what it covers; 0: all must have one size
	Grey   bool  // one plane of brightness instead of three of colour
	Pixels int   // the most that a file may have, before scaling; 0 means 64 Mi
	Bytes  int64 // the most that all pictures together may have; 0 means 2³¹−1
}

const (
	usualPixels = 1 << 26
	usualBytes  = 1<<31 - 1
)

// Load reads the pictures (PNG, JPEG and GIF, of which the first frame) of the folders in dir; other files are passed over. Transparency is
// dropped. What cannot be read is a *data.FileError that names the file.
func Load(dir string, o Options) (*Pictures, error) {
	if (o.H == 0) != (o.W == 0) || o.H < 0 || o.W < 0 {
		return nil, fmt.Errorf("data: a size of %d×%d; give both, or none", o.H, o.W)
	}
	if o.Pixels == 0 {
		o.Pixels = usualPixels
	}
	if o.Bytes == 0 {
		o.Bytes = usualBytes
	}
	entries, err := list(dir)
	if err != nil {
		return nil, err
	}
	p := &Pictures{C: 3, H: o.H, W: o.W}
	if o.Grey {
		p.C = 1
	}
	for _, class := range entries {
		if info, err := os.Stat(filepath.Join(dir, class.Name())); err != nil || !info.IsDir() { // a link to a folder is one
			continue
		}
		if err := p.class(filepath.Join(dir, class.Name()), class.Name(), o); err != nil {
			return nil, err
		}
	}
	if len(p.Classes) == 0 {
		return nil, &data.FileError{Path: dir, Cause: "holds no folders", Remedy: "put the pictures of each class into a folder of its name"}
	}
	return p, nil
}

// list gives what is in a folder, by name.
func list(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &data.FileError{Path: dir, Cause: "no such folder", Remedy: "give the folder that holds a folder for each class"}
	case err != nil:
		return nil, &data.FileError{Path: dir, Cause: "cannot list the folder", Err: err, Remedy: "give a folder, and check its permissions"}
	}
	return entries, nil
}

// class reads the pictures of one folder.
func (p *Pictures) class(dir, name string, o Options) error {
	files, err := list(dir)
	if err != nil {
		return err
	}
	before := p.N
	for _, f := range files {
		if !slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif"}, strings.ToLower(filepath.Ext(f.Name()))) {
			continue
		}
		path := filepath.Join(dir, f.Name())
		if err := p.add(path, o); err != nil {
			return err
		}
		p.Files, p.Labels = append(p.Files, path), append(p.Labels, int32(len(p.Classes)))
		p.N++
	}
	if p.N == before {
		return &data.FileError{Path: dir, Cause: "holds no pictures (.png, .jpg, .jpeg, .gif)", Remedy: "fill or remove the folder"}
	}
	p.Classes = append(p.Classes, name)
	return nil
}

// add reads one picture. Its size is known, and bounded, before it is decoded.
func (p *Pictures) add(path string, o Options) error {
	fail := func(cause, remedy string, err error) error {
		return &data.FileError{Path: path, Cause: cause, Remedy: remedy, Err: err}
	}
	f, err := os.Open(path)
	if err != nil {
		return fail("cannot open", "check its permissions", err)
	}
	defer f.Close()
	size, _, err := image.DecodeConfig(f)
	if err != nil {
		return fail("is no picture that can be read", "remove it or convert it to PNG or JPEG", err)
	}
	if size.Width < 1 || size.Height < 1 || size.Width > o.Pixels/size.Height {
		return fail(fmt.Sprintf("has %d×%d pixels, at most %d are read", size.Height, size.Width, o.Pixels), "make it smaller, or raise Options.Pixels", nil)
	}
	if p.H == 0 {
		p.H, p.W = size.Height, size.Width
	}
	if o.H == 0 && (size.Height != p.H || size.Width != p.W) {
		return fail(fmt.Sprintf("is %d×%d, the ones before are %d×%d", size.Height, size.Width, p.H, p.W), "give a size in Options", nil)
	}
	if most := (o.Bytes - int64(len(p.Images))) / int64(p.C) / int64(p.H); int64(p.W) > most {
		return fail(fmt.Sprintf("the pictures up to this one take more than %d bytes", o.Bytes), "read fewer or smaller ones, or raise Options.Bytes", nil)
	}
	if _, err := f.Seek(0, 0); err != nil {
		return fail("cannot be read twice", "give a regular file", err)
	}
	im, _, err := image.Decode(f)
	if err != nil {
		return fail("is broken", "copy or download the file again", err)
	}
	if b := im.Bounds(); b.Dx() != size.Width || b.Dy() != size.Height {
		return fail(fmt.Sprintf("says %d×%d and is %d×%d", size.Height, size.Width, b.Dy(), b.Dx()), "copy or download the file again", nil)
	}
	p.Images = append(p.Images, scaled(planes(im, o.Grey), p.C, size.Height, size.Width, p.H, p.W)...)
	return nil
}
