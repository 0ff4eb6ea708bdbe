package onnx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// folder is a model's folder with the data outside of its file. Links that lead out of it are refused, but for one case: caches of downloaded
// models have a link for each file, all of them into one folder. Where the model's file is such a link, those beside it are followed that lead to
// files of the folder that it leads to.
type folder struct {
	at    string
	root  *os.Root
	store string   // where the model's file lies, if that is elsewhere
	files *os.Root // of store
}

// openFolder opens the folder of a model's file.
func openFolder(model string) (*folder, error) {
	d := &folder{at: filepath.Dir(model)}
	var err error
	if d.root, err = os.OpenRoot(d.at); err != nil {
		return nil, err
	}
	info, err := os.Lstat(model)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return d, nil
	}
	is, err := filepath.EvalSymlinks(model)
	if err != nil {
		return d, nil
	}
	d.store = filepath.Dir(is)
	if d.files, err = os.OpenRoot(d.store); err != nil {
		d.files = nil
	}
	return d, nil
}

func (d *folder) close() {
	d.root.Close()
	if d.files != nil {
		d.files.Close()
	}
}

// Open opens a file of the folder.
func (d *folder) Open(name string) (fs.File, error) {
	f, err := d.root.FS().Open(name)
	if err == nil {
		return f, nil
	}
	base, err := d.linked(name, err)
	if err != nil {
		return nil, err
	}
	return d.files.FS().Open(base)
}

// Stat says what a file of the folder is.
func (d *folder) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(d.root.FS(), name)
	if err == nil {
		return info, nil
	}
	base, err := d.linked(name, err)
	if err != nil {
		return nil, err
	}
	return d.files.Lstat(base)
}

// linked is the file of the store that a link leads to which was refused, or why it leads to none.
func (d *folder) linked(name string, refused error) (string, error) {
	link, leads := d.link(name)
	if link == "" {
		return "", refused
	}
	is, err := filepath.EvalSymlinks(filepath.Join(d.at, filepath.FromSlash(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the link %.200q leads to %.200q, where there is no file; load the model again, whole", link, leads)
	case err == nil && d.files != nil && same(filepath.Dir(is), d.store):
		return filepath.Base(is), nil
	}
	return "", fmt.Errorf("the link %.200q leads to %.200q, out of the model's folder; put the file itself there in its place", link, leads)
}

// link is the first part of a path that is a link, and where it leads.
func (d *folder) link(name string) (link, leads string) {
	for part := range strings.SplitSeq(name, "/") {
		link = path.Join(link, part)
		info, err := d.root.Lstat(link)
		if err != nil {
			return "", ""
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			leads, _ = d.root.Readlink(link)
			return link, leads
		}
	}
	return "", ""
}

// same says whether two paths are of one folder.
func same(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}
