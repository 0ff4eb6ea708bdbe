// Package wasmmod joins the kernels of a plan, each a WebAssembly function body, into one binary module.
//
// It knows the frame of the binary format: types, import, exports, code. It refuses to know instructions.
//
//	m := wasmmod.Join(p.Kernels, wasmmod.Memory{Max: 65536})
package wasmmod

import (
	"encoding/binary"

	"github.com/weft-ml/weft/plan"
)

// The names under which a module imports its memory.
const (
	ImportModule = "weft"
	ImportName   = "memory"
)

// PageBytes is the unit of memory sizes; MaxPages is the most that 32 bits address.
const (
	PageBytes = 64 << 10
	MaxPages  = 1 << 16
)

// FlagsAt is where a module of Join says of which kind its memory is: 1 for a memory with a maximum, 3 for a shared
// one. Whoever runs a module may set that byte, since the code is the same.
const FlagsAt = 35

// Memory is the memory that a module imports: its kernels run in any memory of at least Min pages.
type Memory struct {
	Min, Max uint32 // pages; Max is needed where Shared
	Shared   bool
}

const (
	i32       = 0x7F
	funcType  = 0x60
	kindFunc  = 0
	kindMem   = 2
	secType   = 1
	secImport = 2
	secFunc   = 3
	secMemory = 5
	secExport = 7
	secCode   = 10
)

// abi is the number of i32 parameters of a kernel: buf, var, scratch, lo, hi.
const abi = 5

var magic = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

func appendU(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func appendName(b []byte, s string) []byte { return append(appendU(b, len(s)), s...) }

func appendSection(b []byte, id byte, content []byte) []byte {
	return append(appendU(append(b, id), len(content)), content...)
}

func (m Memory) limits(b []byte) []byte {
	flags := byte(0)
	if m.Max > 0 {
		flags |= 1
	}
	if m.Shared {
		flags |= 2
	}
	b = appendU(append(b, flags), int(m.Min))
	if m.Max > 0 {
		b = appendU(b, int(m.Max))
	}
	return b
}

// Join makes a module with one exported function for each different Entry of the kernels, in order.
func Join(kernels []plan.Kernel, memory Memory) []byte {
	var bodies [][]byte
	var exports []byte
	seen := map[string]bool{}
	for _, k := range kernels {
		if seen[k.Entry] {
			continue
		}
		seen[k.Entry] = true
		exports = appendU(append(appendName(exports, k.Entry), kindFunc), len(bodies))
		bodies = append(bodies, k.Code)
	}
	types := append([]byte{1, funcType}, appendU(nil, abi)...)
	for range abi {
		types = append(types, i32)
	}
	types = append(types, 0)
	imports := appendName(appendName([]byte{1}, ImportModule), ImportName)
	imports = memory.limits(append(imports, kindMem))
	functions := appendU(nil, len(bodies))
	codes := appendU(nil, len(bodies))
	for _, b := range bodies {
		functions = append(functions, 0)
		codes = append(appendU(codes, len(b)), b...)
	}
	out := appendSection(append([]byte(nil), magic...), secType, types)
	out = appendSection(out, secImport, imports)
	out = appendSection(out, secFunc, functions)
	out = appendSection(out, secExport, append(appendU(nil, len(bodies)), exports...))
	return appendSection(out, secCode, codes)
}

// Owner is a module that has nothing but a memory, exported as ImportName.
func Owner(memory Memory) []byte {
	out := appendSection(append([]byte(nil), magic...), secMemory, memory.limits([]byte{1}))
	exports := append(appendName([]byte{1}, ImportName), kindMem, 0)
	return appendSection(out, secExport, exports)
}
