package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// TestTypes has TypeScript's compiler check weft.d.ts and a program that uses it. $TSC names it; npm install
// --ignore-scripts typescript brings it.
func TestTypes(t *testing.T) {
	tsc := os.Getenv("TSC")
	if tsc == "" {
		tsc = "tsc"
	}
	_, err := exec.LookPath(tsc)
	need.Device(t, "TSC", err)
	out, err := exec.Command(tsc, "-p", "testdata").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
