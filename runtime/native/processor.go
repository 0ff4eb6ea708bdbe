package native

import "golang.org/x/sys/cpu"

// Processor is what code generation wants to know of the machine's cores.
type Processor struct {
	VectorBytes int // of a vector register that -march=native may use
	L1, L2      int // bytes of the data caches of one core: typical of processors with these vectors
}

// Describe looks at the processor this program runs on.
func Describe() Processor {
	x := cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL:
		return Processor{64, 48 << 10, 1 << 20}
	case x.HasAVX2 && x.HasFMA:
		return Processor{32, 32 << 10, 512 << 10}
	case cpu.ARM64.HasASIMD:
		return Processor{16, 64 << 10, 1 << 20}
	}
	return Processor{16, 32 << 10, 256 << 10}
}
