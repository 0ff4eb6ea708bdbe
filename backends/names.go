package backends

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/engine"
)

func init() {
	engine.Advice = advice
	engine.AllowCrossing()
	engine.AllowForeign()
}

// comes says which package brings a device, of those that a native program can have.
var comes = map[string]string{
	"CPU": "backends", "WASM": "backends", "INTERP": "backends", "NULL": "backends", "REF": "backends", "WEBGPU": "backends/webgpu",
}

// others are names that people know devices by.
var others = map[string]string{
	"GPU": "WEBGPU", "WGPU": "WEBGPU", "VULKAN": "WEBGPU", "METAL": "WEBGPU", "CUDA": "WEBGPU", "OPENCL": "WEBGPU", "DX12": "WEBGPU", "D3D12": "WEBGPU",
	"C": "CPU", "CLANG": "CPU", "GCC": "CPU", "NATIVE": "CPU", "HOST": "CPU", "X86": "CPU", "ARM": "CPU",
	"WEBASSEMBLY": "WASM", "INTERPRETER": "INTERP", "PYTHON": "REF", "REFERENCE": "REF",
}

// advice says what a name that is no device may have been meant for, and what a program imports to have it.
func advice(name string, known []string) (said []string) {
	meant := meantBy(name, known)
	switch {
	case meant == "":
	case slices.Contains(known, meant):
		said = append(said, fmt.Sprintf("perhaps %s is meant", meant))
	case meant == name:
		said = append(said, "this program does not have it; "+linkIn(meant))
	default:
		said = append(said, fmt.Sprintf("perhaps %s is meant, which this program does not have; %s", meant, linkIn(meant)))
	}
	return said
}

func linkIn(device string) string {
	return fmt.Sprintf("import _ %q", "github.com/weft-ml/weft/"+comes[device])
}

// meantBy is the device that a name may stand for, or "": itself, another word for it, or the name that is nearest by letters.
func meantBy(name string, known []string) string {
	all := slices.Clone(known)
	for n := range comes {
		all = append(all, n)
	}
	slices.Sort(all)
	if slices.Contains(all, name) {
		return name
	}
	if n := others[name]; n != "" {
		return n
	}
	best, most := "", min(2, len(name)/2)
	for _, n := range all {
		if d := apart(name, n); d <= most && (best == "" || d < apart(name, best)) {
			best = n
		}
	}
	return best
}

// apart counts the letters to add, to drop or to change between two names.
func apart(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := above
			if a[i] != b[j] {
				d = 1 + min(above, row[j], row[j+1])
			}
			above, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
