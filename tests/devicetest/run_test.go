package devicetest

import (
	"testing"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/tests/kernels" // WEFT_KERNELS
)

func TestCPU(t *testing.T)    { Run(t, "CPU") }
func TestINTERP(t *testing.T) { Run(t, "INTERP") }

func TestDifferences(t *testing.T) { RunDifferences(t, "REF") }
