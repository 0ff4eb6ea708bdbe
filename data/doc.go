// Package data reads and makes labelled pictures of digits for training: files in the form
// of MNIST (LoadMNIST), and synthetic digits drawn from the Go fonts at run time (Synthetic),
// which need no file and no network.
//
// It refuses to know tensors, networks and devices: pictures and labels are bytes.
//
//	set, err := data.LoadMNIST("mnist") // or data.Synthetic(1, 60_000, 10_000)
//	fmt.Println(set.Train.N, set.Train.H, set.Train.W, set.Train.Labels[0])
package data

// Classes is the number of labels: the digits 0 to 9.
const Classes = 10

// Set is a data set: pictures to train on and pictures held back to test with. Both halves
// have the same picture size.
type Set struct {
	Name        string // what it is, for people: "MNIST files in mnist", "synthetic digits"
	Train, Test Split
}

// Split is N grey pictures of H rows and W columns, one byte a pixel (0 is background), and
// a label in 0..9 for each.
type Split struct {
	Images  []byte // n·h·w, row by row
	Labels  []byte // n
	N, H, W int
}

// Image returns the pixels of picture i, H·W bytes that alias Images.
func (s Split) Image(i int) []byte {
	size := s.H * s.W
	return s.Images[i*size : (i+1)*size : (i+1)*size]
}
