package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// TestTypes has TypeScript's compiler check weft.d.ts and a program that uses it.
func TestTypes(t *testing.T) {
	out, err := exec.Command(need.TypeScript(t), "-p", "testdata").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
