package webgpu

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// Kind is what an adapter is; of several the greatest is taken.
type Kind uint8

const (
	OnProcessor Kind = iota // a software renderer
	Other
	Integrated
	Discrete
)

// Candidate is an adapter that a native transport found.
type Candidate struct {
	Name string
	Kind Kind
}

// Choose gives the position of the adapter to take: of the fastest kind among those whose names contain name, the one of this number. Where
// there are fewer, they come again from the first on: several devices may be opened on one adapter.
func Choose(all []Candidate, name string, number int) (int, error) {
	var best []int
	var names []string
	for i, c := range all {
		names = append(names, c.Name)
		switch {
		case !strings.Contains(strings.ToLower(c.Name), strings.ToLower(name)):
		case len(best) == 0 || c.Kind > all[best[0]].Kind:
			best = []int{i}
		case c.Kind == all[best[0]].Kind:
			best = append(best, i)
		}
	}
	switch {
	case len(best) > 0:
		return best[number%len(best)], nil
	case len(all) > 0:
		return 0, fmt.Errorf("no graphics adapter is called %q; there are %s", name, strings.Join(names, ", "))
	}
	return 0, noAdapter(runtime.GOOS)
}

func noAdapter(system string) error {
	const none = "no graphics adapter found: "
	switch system {
	case "darwin":
		return errors.New(none + "Metal offers none here (a virtual machine without graphics?); use another device")
	case "windows":
		return errors.New(none + "install the graphics card's driver with Direct3D 12 or Vulkan, or use another device")
	}
	return errors.New(none + "install a Vulkan driver (on Debian, with or without a GPU: apt-get install mesa-vulkan-drivers libvulkan1)" +
		" and see that VK_ICD_FILENAMES and VK_DRIVER_FILES, if set, name its file")
}

// Known adds what is known of a driver and cannot be asked.
func (a *Adapter) Known() {
	a.Limits.Flops, a.Limits.Moves = cardFlops, cardMoves
	if a.CPUBacked {
		a.Limits.Flops, a.Limits.Moves = softwareFlops, softwareMoves
	}
	if strings.Contains(a.Name, "llvmpipe") {
		a.Limits.Iterations, a.Tile = llvmpipeIterations, llvmpipeTile
	}
}

// What is counted on in a second, so that launches are cut that might keep an adapter busy for long. Nobody asks the adapter:
// for graphics processors it is what the weakest ones of today should do, for software what llvmpipe does on two cores where
// it does little (measured there: 0.2 to 20 GFLOP, 0.3 to 1.5 GB).
const (
	cardFlops, cardMoves         = 100e9, 10e9
	softwareFlops, softwareMoves = 2e9, 500e6
)

// llvmpipeIterations: LP_MAX_TGSI_LOOP_ITERATIONS of Mesa. An invocation is stopped without a word after that
// many iterations of all its loops together.
const llvmpipeIterations = 65535

// llvmpipeTile: it loads each element of each invocation in a loop of its own, some thirty times the price of a
// multiply-add, so large tiles pay although they do not fit the registers (16×16: 6.8 GFLOP a processor second, 8×8: 3.3).
const llvmpipeTile = 256
