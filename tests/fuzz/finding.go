package fuzz

// What is how a program fails.
type What uint8

// The ways to fail.
const (
	Right  What = iota
	Wrong       // a value that no right device gives
	Fails       // an error from the engine
	Panics      // a panic that is no error in words
	Dies        // the process ends
	Hangs       // no answer in time
)

var whatNames = [...]string{"right", "wrong", "fails", "panics", "dies", "hangs"}

// String names it.
func (w What) String() string { return whatNames[w] }

// Finding is a program that fails on a device.
type Finding struct {
	Seed    uint64
	Device  string
	What    What
	Text    string   // what was seen
	Program *Program // nil: that of the seed
}
