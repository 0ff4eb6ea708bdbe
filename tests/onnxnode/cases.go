// Package onnxnode runs folders of ONNX models with inputs and expected outputs: the backend tests of the ONNX project, and whole models. It
// refuses to know what operators mean.
package onnxnode

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing/fstest"
)

// Case is a model with its data sets.
type Case struct {
	Name  string // folder and name
	Files fs.FS  // its folder
}

// Load finds the cases below a folder, or in the archive that lies in it.
func Load(dir string) ([]*Case, error) {
	files := fs.FS(os.DirFS(dir))
	if found, _ := fs.Glob(files, "*.tar.gz"); len(found) > 0 {
		var err error
		if files, err = archive(files, found[0]); err != nil {
			return nil, err
		}
	}
	var cases []*Case
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Base(name) != "model.onnx" {
			return err
		}
		sub, err := fs.Sub(files, path.Dir(name))
		cases = append(cases, &Case{path.Dir(name), sub})
		return err
	})
	if err == nil && len(cases) == 0 {
		err = fmt.Errorf("there is no model.onnx below %s", dir)
	}
	slices.SortFunc(cases, func(a, b *Case) int { return strings.Compare(a.Name, b.Name) })
	return cases, err
}

// archive reads a tar file, which is small, into memory.
func archive(files fs.FS, name string) (fs.FS, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out := fstest.MapFS{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, h.Name, err)
		}
		out[path.Clean(h.Name)] = &fstest.MapFile{Data: b}
	}
}

// Sets are the folders of a case's data.
func (c *Case) Sets() ([]string, error) {
	list, err := fs.Glob(c.Files, "test_data_set_*")
	slices.Sort(list)
	return list, err
}

// Select keeps the cases whose name contains one of the words.
func Select(cases []*Case, words string) []*Case {
	if words == "" {
		return cases
	}
	return slices.DeleteFunc(slices.Clone(cases), func(c *Case) bool {
		return !slices.ContainsFunc(strings.Split(words, ","), func(w string) bool { return strings.Contains(c.Name, w) })
	})
}
