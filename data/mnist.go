package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LoadMNIST reads the four files of MNIST, or of any data in that form, from the folder dir:
// train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte, also spelled train-images.idx3-ubyte and so on, plain or gzipped with
// .gz at the end. Any number of pictures of any size is read; labels are 0 to 9. What is not
// exactly right is an error (*FileError) that names the file, the cause and the remedy.
func LoadMNIST(dir string) (*Set, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &FileError{Path: dir, Cause: "no such folder", Remedy: "give the folder that holds the four MNIST files"}
	case err != nil:
		return nil, &FileError{Path: dir, Cause: "cannot look at the folder", Err: err, Remedy: "check its permissions"}
	case !info.IsDir():
		return nil, &FileError{Path: dir, Cause: "is a file, not a folder", Remedy: "give the folder that holds the four MNIST files"}
	}
	set := &Set{Name: "MNIST files in " + dir}
	if set.Train, err = loadSplit(dir, "train"); err != nil {
		return nil, err
	}
	if set.Test, err = loadSplit(dir, "t10k"); err != nil {
		return nil, err
	}
	if a, b := set.Train, set.Test; a.H != b.H || a.W != b.W {
		return nil, &FileError{Path: dir, Cause: fmt.Sprintf("training pictures are %d×%d, test pictures %d×%d", a.H, a.W, b.H, b.W),
			Remedy: "use the four files of one data set"}
	}
	return set, nil
}

func loadSplit(dir, prefix string) (Split, error) {
	imagesPath, dims, images, err := loadIDX(dir, prefix+"-images", "idx3-ubyte", magicImages)
	if err != nil {
		return Split{}, err
	}
	labelsPath, ldims, labels, err := loadIDX(dir, prefix+"-labels", "idx1-ubyte", magicLabels)
	if err != nil {
		return Split{}, err
	}
	if dims[0] != ldims[0] {
		return Split{}, &FileError{Path: labelsPath, Cause: fmt.Sprintf("%d labels for the %d pictures of %s", ldims[0], dims[0], filepath.Base(imagesPath)),
			Remedy: "use the four files of one data set"}
	}
	for i, l := range labels {
		if l >= Classes {
			return Split{}, &FileError{Path: labelsPath, Cause: fmt.Sprintf("label %d is %d, outside 0..%d", i, l, Classes-1),
				Remedy: "use data with ten classes, labelled 0 to 9"}
		}
	}
	return Split{Images: images, Labels: labels, N: dims[0], H: dims[1], W: dims[2]}, nil
}

// loadIDX finds and reads one of the four files under any of its spellings.
func loadIDX(dir, base, ext string, magic uint32) (path string, dims []int, body []byte, err error) {
	var names []string
	for _, sep := range []string{"-", "."} {
		names = append(names, base+sep+ext, base+sep+ext+".gz")
	}
	for _, name := range names {
		path = filepath.Join(dir, name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return path, nil, nil, &FileError{Path: path, Cause: "cannot look at the file", Err: err, Remedy: "check its permissions"}
		}
		if !info.Mode().IsRegular() {
			return path, nil, nil, &FileError{Path: path, Cause: "is not a regular file", Remedy: "put the file itself there"}
		}
		f, err := os.Open(path)
		if err != nil {
			return path, nil, nil, &FileError{Path: path, Cause: "cannot open", Err: err, Remedy: "check its permissions"}
		}
		defer f.Close()
		dims, body, err = readIDX(path, f, info.Size(), magic)
		return path, dims, body, err
	}
	return "", nil, nil, &FileError{Path: dir, Cause: fmt.Sprintf("holds no %s (nor %s, %s, %s)", names[0], names[1], names[2], names[3]),
		Remedy: "give the folder that holds the four MNIST files"}
}
