package devicetest

import (
	"testing"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	_ "github.com/weft-ml/weft/tests/kernels" // WEFT_KERNELS
)

// On CPU the arrays lie between fences: what touches memory outside of them ends the process.
func TestCPU(t *testing.T)    { RunWith(t, "CPU", engine.Options{Poison: true, Fence: true}) }
func TestINTERP(t *testing.T) { RunPart(t, "INTERP", 3) }

func TestDifferences(t *testing.T) { RunDifferences(t, "REF") }

func TestBusy(t *testing.T) { RunBusy(t, "INTERP") }
