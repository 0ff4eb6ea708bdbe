// Package zipfile finds the entries of a zip file that is not trusted: no two may have one name or share bytes, none may lie outside of the file
// or claim to unpack to more than its bytes can. It refuses to know what they hold.
package zipfile

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// deflateMost is the most bytes that a byte of deflate stands for (1032), and some room for its ends.
const deflateMost = 1040

// Entry is where the bytes of a zip entry lie.
type Entry struct {
	Method   uint16
	At, Size int64 // of the bytes as they lie in the file
	Unpacked int64
	Zip      *zip.File
}

// Entries are the files, by name, of a zip file of size bytes that lies in src.
func Entries(src io.ReaderAt, size int64) (map[string]Entry, error) {
	z, err := zip.NewReader(src, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, err
	}
	out := map[string]Entry{}
	var order []Entry
	for _, e := range z.File {
		if strings.HasSuffix(e.Name, "/") && e.UncompressedSize64 == 0 {
			continue
		}
		if _, twice := out[e.Name]; twice {
			return nil, fmt.Errorf("entry %.100q occurs twice", e.Name)
		}
		at, err := e.DataOffset()
		if err != nil {
			return nil, fmt.Errorf("entry %.100q: %w", e.Name, err)
		}
		n := int64(e.CompressedSize64)
		switch {
		case e.Flags&1 != 0:
			return nil, fmt.Errorf("entry %.100q is encrypted", e.Name)
		case at < 0 || n < 0 || at > size || n > size-at:
			return nil, fmt.Errorf("entry %.100q: its %d bytes at %d end beyond the file's %d", e.Name, n, at, size)
		case e.Method == zip.Store && e.UncompressedSize64 != e.CompressedSize64:
			return nil, fmt.Errorf("entry %.100q: %d bytes stored as %d", e.Name, e.UncompressedSize64, e.CompressedSize64)
		case e.Method == zip.Deflate && e.UncompressedSize64/deflateMost > e.CompressedSize64:
			return nil, fmt.Errorf("entry %.100q: %d bytes cannot come of %d compressed ones", e.Name, e.UncompressedSize64, e.CompressedSize64)
		}
		entry := Entry{e.Method, at, n, int64(e.UncompressedSize64), e}
		out[e.Name] = entry
		order = append(order, entry)
	}
	slices.SortFunc(order, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Size, b.Size)) })
	end := int64(0)
	for _, e := range order {
		if e.At < end {
			return nil, fmt.Errorf("entry %.100q at %d shares bytes with another, which ends at %d", e.Zip.Name, e.At, end)
		}
		end = max(end, e.At+e.Size)
	}
	return out, nil
}

// Stored reads an entry of at most limit bytes that lies in the file as it is.
func Stored(src io.ReaderAt, e Entry, limit int64) ([]byte, error) {
	if e.Size > limit {
		return nil, fmt.Errorf("%d bytes, at most %d are read", e.Size, limit)
	}
	raw := make([]byte, e.Size)
	if n, err := src.ReadAt(raw, e.At); n < len(raw) {
		return nil, err
	}
	return raw, nil
}

// Reader reads an entry from its beginning, unpacking it. At its end the bytes are compared with their checksum.
func (e Entry) Reader() (io.ReadCloser, error) { return e.Zip.Open() }

// Unpack unpacks an entry whole. Nothing is reserved before the bytes that it takes have come.
func (e Entry) Unpack() ([]byte, error) {
	r, err := e.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out bytes.Buffer
	if _, err := io.Copy(&out, io.LimitReader(r, e.Unpacked+1)); err != nil {
		return nil, err
	}
	if int64(out.Len()) != e.Unpacked {
		return nil, fmt.Errorf("unpacks to %d bytes, not to %d", out.Len(), e.Unpacked)
	}
	return out.Bytes(), nil
}
