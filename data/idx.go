package data

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// An idx file is two zero bytes, a byte for the element type (8: unsigned bytes), a byte for
// the number of dims, the dims as big-endian uint32, and the elements.
const (
	magicLabels = 0x0801 // 2049: one dim
	magicImages = 0x0803 // 2051: three dims
)

// maxElements bounds what a header may claim; the real bound is the bytes that are there.
const maxElements = 1<<31 - 1

// FileError is what is wrong with a data file: which file, what, and what to do about it.
type FileError struct {
	Path   string
	Cause  string
	Remedy string
	Err    error // the error of the system or of gzip, if there was one
}

func (e *FileError) Error() string {
	s := "data: " + e.Path + ": " + e.Cause
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s + "; " + e.Remedy
}

func (e *FileError) Unwrap() error { return e.Err }

const (
	fetchAgain = "copy or download the file again"
	wantIDX    = "expected an idx file of unsigned bytes, as MNIST is distributed, plain or gzipped"
)

// readIDX reads an idx file of unsigned bytes with the given magic from r, which holds size
// bytes, gzipped or not (the content tells, not the name). No memory is reserved on the word of
// the header: it grows with the bytes that are really there.
func readIDX(path string, r io.Reader, size int64, magic uint32) (dims []int, body []byte, err error) {
	fail := func(cause, remedy string, err error) ([]int, []byte, error) {
		return nil, nil, &FileError{Path: path, Cause: cause, Remedy: remedy, Err: err}
	}
	br := bufio.NewReaderSize(r, 1<<16)
	src, packed := io.Reader(br), false
	if head, _ := br.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return fail("broken gzip header", fetchAgain, unexpected(err))
		}
		src, packed = zr, true
	}

	header := make([]byte, 4+4*int(magic&0xff))
	if n, err := io.ReadFull(src, header); err != nil {
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fail("cannot read the idx header", fetchAgain, err)
		}
		if n < 4 || binary.BigEndian.Uint32(header) == magic {
			return fail(fmt.Sprintf("ends within the idx header, after %d of %d bytes", n, len(header)), fetchAgain, nil)
		}
	}
	if got := binary.BigEndian.Uint32(header); got != magic {
		return fail(magicCause(got, magic), wantIDX, nil)
	}
	dims = make([]int, magic&0xff)
	need := uint64(1)
	for i := range dims {
		d := binary.BigEndian.Uint32(header[4+4*i:])
		if d == 0 {
			return fail(fmt.Sprintf("dim %d of the idx header is 0: the file holds nothing", i), "give a file with at least one picture", nil)
		}
		hi, lo := bits.Mul64(need, uint64(d))
		if hi != 0 || lo > maxElements {
			return fail(fmt.Sprintf("the idx header claims more than %d bytes", uint64(maxElements)), fetchAgain, nil)
		}
		dims[i], need = int(d), lo
	}
	if err := plausible(path, dims, need, len(header), size, packed); err != nil {
		return nil, nil, err
	}

	// One byte more than needed: it shows trailing bytes, and reaching the end checks gzip's checksum.
	body, err = io.ReadAll(io.LimitReader(src, int64(need)+1))
	switch {
	case err != nil && packed:
		return fail(fmt.Sprintf("broken gzip data after %d of %d bytes", len(body), need), fetchAgain, unexpected(err))
	case err != nil:
		return fail(fmt.Sprintf("reading stopped after %d of %d bytes", len(body), need), fetchAgain, err)
	case uint64(len(body)) < need:
		return fail(fmt.Sprintf("truncated: the header %v promises %d bytes, %d are there", dims, need, len(body)), fetchAgain, nil)
	case uint64(len(body)) > need:
		return fail(fmt.Sprintf("bytes follow the %d that the header %v promises", need, dims), fetchAgain, nil)
	}
	return dims, body, nil
}

// plausible refuses a header that the size of the file already shows to be a lie.
func plausible(path string, dims []int, need uint64, header int, size int64, packed bool) error {
	have := uint64(max(size-int64(header), 0))
	if packed {
		// Deflate packs at most 258 bytes into 2 bits: 1032 to 1.
		if have = uint64(size) * 1032; need > have {
			return &FileError{Path: path, Remedy: fetchAgain, Cause: fmt.Sprintf(
				"the header %v promises %d bytes, which a gzip file of %d bytes cannot hold", dims, need, size)}
		}
		return nil
	}
	if need > have {
		return &FileError{Path: path, Remedy: fetchAgain, Cause: fmt.Sprintf(
			"truncated: the header %v promises %d bytes, %d are there", dims, need, have)}
	}
	if need < have {
		return &FileError{Path: path, Remedy: fetchAgain, Cause: fmt.Sprintf(
			"%d bytes follow the %d that the header %v promises", have-need, need, dims)}
	}
	return nil
}

// magicCause says in words what a wrong first word of an idx file means.
func magicCause(got, want uint32) string {
	kind := map[uint32]string{magicImages: "images (2051)", magicLabels: "labels (2049)"}
	if k, ok := kind[got]; ok {
		return fmt.Sprintf("holds %s where %s are expected", k, kind[want])
	}
	if got>>16 == 0 && got>>8&0xff >= 0x09 && got>>8&0xff <= 0x0e {
		return fmt.Sprintf("idx elements of type 0x%02x, only unsigned bytes (0x08) are read", got>>8&0xff)
	}
	return fmt.Sprintf("not an idx file of %s: it begins with 0x%08x", kind[want], got)
}

// unexpected names an end of file that came too early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
