package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// names finds what a page, a script or a sheet may load: quoted names of files.
var names = regexp.MustCompile(`["']([\w./-]+\.(?:js|css|svg|wasm))["']`)

// weigh prints for each page of a folder what a reader's browser loads with it: bytes as they lie here, and as hosts send
// them, compressed.
func weigh(out io.Writer, dir string) error {
	fmt.Fprintf(out, "%-14s %5s %12s %14s\n", "page", "files", "bytes", "as sent")
	packing := "gzip"
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "index.html" {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		page := filepath.ToSlash(rel)
		files := map[string]bool{}
		if err := follow(dir, page, files); err != nil {
			return err
		}
		if err := oneEngine(dir, files); err != nil {
			return err
		}
		raw, sent := 0, 0
		for f := range files {
			n, small, err := sizes(filepath.Join(dir, filepath.FromSlash(f)))
			if err != nil {
				return err
			}
			raw, sent = raw+n, sent+small
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f)) + ".br"); err == nil {
				packing = "gzip, the engine brotli"
			}
		}
		name := "/" + strings.TrimSuffix(page, "index.html")
		_, err = fmt.Fprintf(out, "%-14s %5d %12d %14d\n", name, len(files), raw, sent)
		return err
	})
	if err == nil {
		fmt.Fprintf(out, "(as sent: %s)\n", packing)
	}
	return err
}

// oneEngine leaves the engine that a page opens: weft.wasm with its rest, unless it says that it wants another.
func oneEngine(dir string, files map[string]bool) error {
	engine := "weft.wasm"
	for f := range files {
		if path.Ext(f) != ".js" || path.Base(f) == "weft.js" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f)))
		if err != nil {
			return err
		}
		for option, other := range map[string]string{"whole: true": "whole.wasm", "models: true": "models.wasm"} {
			if strings.Contains(string(text), option) {
				engine = other
			}
		}
	}
	for f := range files {
		if path.Ext(f) == ".wasm" && path.Base(f) != engine && (engine != "weft.wasm" || path.Base(f) != "rest.wasm") {
			delete(files, f)
		}
	}
	return nil
}

// follow collects a file of dir and what it names, and so on.
func follow(dir, file string, found map[string]bool) error {
	if found[file] {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	found[file] = true
	if !slices.Contains([]string{".html", ".js", ".css"}, path.Ext(file)) {
		return nil
	}
	for _, m := range names.FindAllSubmatch(text, -1) {
		next := path.Join(path.Dir(file), string(m[1]))
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(next))); err != nil || info.IsDir() {
			continue // a name in a text, not a file
		}
		if err := follow(dir, next, found); err != nil {
			return err
		}
	}
	return nil
}

// sizes gives the bytes of a file, and of what a host sends for it.
func sizes(file string) (raw, sent int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	if packed, err := os.Stat(file + ".br"); err == nil {
		return len(text), int(packed.Size()), nil
	}
	var n counter
	z, err := gzip.NewWriterLevel(&n, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	return len(text), int(n), err
}

type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
