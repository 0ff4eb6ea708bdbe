package data

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A record of CIFAR-10's binary version is a byte for the label and 32×32 pixels of three colours, plane by plane: red, green, blue.
const (
	cifarSide   = 32
	cifarImage  = 3 * cifarSide * cifarSide
	cifarRecord = 1 + cifarImage
	cifarMost   = 1 << 20 // records of one file
)

// CIFAR10Names are the classes of CIFAR-10 by label.
var CIFAR10Names = []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}

// LoadCIFAR10 reads the binary version of CIFAR-10, or any data in that form, from the folder dir or its folder cifar-10-batches-bin:
// data_batch_1.bin, data_batch_2.bin and so on to train with, and test_batch.bin. Any number of records is read; labels are 0 to 9. What is
// not exactly right is an error (*FileError) that names the file, the cause and the remedy.
func LoadCIFAR10(dir string) (*Set, error) {
	if info, err := os.Stat(filepath.Join(dir, "cifar-10-batches-bin")); err == nil && info.IsDir() {
		dir = filepath.Join(dir, "cifar-10-batches-bin")
	}
	set := &Set{Name: "CIFAR-10 files in " + dir}
	for i := 1; ; i++ {
		path := filepath.Join(dir, fmt.Sprintf("data_batch_%d.bin", i))
		if _, err := os.Stat(path); i > 1 && errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err := set.Train.addCIFAR(path); err != nil {
			return nil, err
		}
	}
	if err := set.Test.addCIFAR(filepath.Join(dir, "test_batch.bin")); err != nil {
		return nil, err
	}
	return set, nil
}

// addCIFAR appends the records of a file.
func (s *Split) addCIFAR(path string) error {
	const unpack = "give the folder that holds data_batch_1.bin … and test_batch.bin, unpacked from the binary version of CIFAR-10"
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &FileError{Path: path, Cause: "no such file", Remedy: unpack}
	case err != nil:
		return &FileError{Path: path, Cause: "cannot look at the file", Err: err, Remedy: "check its permissions"}
	case !info.Mode().IsRegular():
		return &FileError{Path: path, Cause: "is not a regular file", Remedy: "put the file itself there"}
	case info.Size() == 0 || info.Size()%cifarRecord != 0:
		return &FileError{Path: path, Cause: fmt.Sprintf("has %d bytes, no whole number of records of %d", info.Size(), cifarRecord), Remedy: unpack}
	case info.Size() > cifarMost*cifarRecord:
		return &FileError{Path: path, Cause: fmt.Sprintf("has more than %d records", cifarMost), Remedy: "split it"}
	}
	f, err := os.Open(path)
	if err != nil {
		return &FileError{Path: path, Cause: "cannot open", Err: err, Remedy: "check its permissions"}
	}
	defer f.Close()
	r, record := bufio.NewReaderSize(f, 1<<16), make([]byte, cifarRecord)
	for i := range int(info.Size() / cifarRecord) {
		if _, err := io.ReadFull(r, record); err != nil {
			return &FileError{Path: path, Cause: fmt.Sprintf("reading stopped in record %d", i), Err: unexpected(err), Remedy: fetchAgain}
		}
		if record[0] >= Classes {
			return &FileError{Path: path, Cause: fmt.Sprintf("the label of record %d, at byte %d, is %d, outside 0..%d", i, i*cifarRecord, record[0], Classes-1),
				Remedy: "use data with ten classes, labelled 0 to 9"}
		}
		s.Labels, s.Images = append(s.Labels, record[0]), append(s.Images, record[1:]...)
	}
	s.N, s.C, s.H, s.W = len(s.Labels), 3, cifarSide, cifarSide
	return nil
}
