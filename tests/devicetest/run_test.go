package devicetest

import (
	"testing"

	_ "github.com/weft-ml/weft/backends"
)

func TestCPU(t *testing.T)    { Run(t, "CPU") }
func TestINTERP(t *testing.T) { Run(t, "INTERP") }

func TestDifferences(t *testing.T) { RunDifferences(t, "REF") }
