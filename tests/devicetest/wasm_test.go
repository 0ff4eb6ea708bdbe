package devicetest

import "testing"

func TestWASM(t *testing.T) { Run(t, "WASM") }
