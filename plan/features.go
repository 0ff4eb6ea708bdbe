package plan

import (
	"errors"
	"strings"
)

// Features are what some graphics processors offer beyond what all of them do.
type Features uint8

const (
	Half      Features = 1 << iota // 16-bit floats lie in memory by themselves, not as parts of words
	Subgroups                      // invocations that run together merge values without memory, and are numbered
	Untold                         // Subgroups need no directive: the compiler of shaders knows them, and refuses that line
)

// Has says that all of some features are there.
func (f Features) Has(some Features) bool { return f&some == some }

// String gives WebGPU's names.
func (f Features) String() string {
	var names []string
	for i, name := range []string{"shader-f16", "subgroups", "subgroups without a directive"} {
		if f>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Needs are what the kernels of a plan take for granted.
func (p *Plan) Needs() (f Features) {
	for i := range p.Kernels {
		f |= p.Kernels[i].Needs
	}
	return f
}

// CheckFeatures says what the kernels of a plan need and a device has not, or nil.
func (p *Plan) CheckFeatures(has Features) error {
	if f := p.Needs() &^ has; f != 0 {
		return errors.New("its kernels need what this adapter does not offer (" + f.String() + "): compile it again for this one")
	}
	return nil
}
