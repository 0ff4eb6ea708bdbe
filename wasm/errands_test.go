package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The worker carries out what it is handed, all of a batch or nothing, and tells what the engine has to know.
func TestWorkersEndOfErrands(t *testing.T) {
	var wrong []string
	inNode(t, &wrong, "testdata/errands.mjs", "js/errands.js", "js/wire.js", "js/box.js", "../runtime/wasm/page/lent.js")
	assert.Empty(t, wrong)
}
