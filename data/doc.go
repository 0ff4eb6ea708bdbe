// Package data reads and makes labelled pictures of digits for training: files in the form
// of MNIST (LoadMNIST) and pictures in that of CIFAR-10 (LoadCIFAR10), and synthetic digits drawn from the Go fonts at run time (Synthetic),
// which need no file and no network. Package folder below it reads pictures of any kind from folders.
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

// Split is N pictures of C colours, H rows and W columns, one byte a pixel and colour (of digits 0 is background), and
// a label in 0..9 for each.
type Split struct {
	Images  []byte // n·c·h·w, colour by colour, row by row
	Labels  []byte // n
	N, H, W int
	C       int // 3, or 1 for grey; 0 means 1
}

// Image returns the pixels of picture i, C·H·W bytes that alias Images.
func (s Split) Image(i int) []byte {
	size := max(s.C, 1) * s.H * s.W
	return s.Images[i*size : (i+1)*size : (i+1)*size]
}
