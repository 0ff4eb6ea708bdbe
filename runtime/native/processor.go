package native

import (
	goruntime "runtime"

	"golang.org/x/sys/cpu"
)

// Processor is what code generation wants to know of the machine's cores.
type Processor struct {
	VectorBytes int // of a vector register that -march=native may use
	NoFMA       bool
	Dot4        bool // an instruction multiplies fours of bytes and adds the products
	Tables      bool // instructions select bytes from 128
	DotBF16     bool // an instruction multiplies pairs of bfloat16 and adds the products
	MatrixBytes bool // instructions multiply matrices of numbers of 8 bits, and the system lets this process use them
	MatrixBF16  bool // the same of bfloat16
	L1, L2      int  // bytes of the data caches of one core: typical of processors with these vectors
}

// Describe looks at the processor this program runs on.
func Describe() Processor {
	x := cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL:
		tiles := x.HasAMXTile && x.HasAMXInt8 && x.HasAMXBF16 && grantTiles() == nil
		return Processor{VectorBytes: 64, NoFMA: !x.HasFMA, Dot4: x.HasAVX512VNNI, Tables: x.HasAVX512VBMI, DotBF16: x.HasAVX512BF16, MatrixBytes: tiles, MatrixBF16: tiles, L1: 48 << 10, L2: 1 << 20}
	case x.HasAVX2 && x.HasFMA:
		return Processor{VectorBytes: 32, Dot4: x.HasAVXVNNI, L1: 32 << 10, L2: 512 << 10}
	case cpu.ARM64.HasASIMD:
		return Processor{VectorBytes: 16, L1: 64 << 10, L2: 1 << 20}
	}
	return Processor{VectorBytes: 16, NoFMA: goruntime.GOARCH == "amd64" && !x.HasFMA, L1: 32 << 10, L2: 256 << 10}
}
