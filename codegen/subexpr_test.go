package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
)

// A softmax computes each exponential once: the sum and the quotients read one copy of a row, if it is not too long.
func TestExponentialsAreComputedOnce(t *testing.T) {
	chosen := func(k *kit) string { return codegen.DirectivesString(model.Choose(k.s, target())) }
	assert.Contains(t, chosen(softmaxSpec(64, 1024)), "stage r1e at a0 by ranges layout r1.a")
	assert.NotContains(t, chosen(softmaxSpec(64, 1<<16)), "r1e")
	assert.NotContains(t, chosen(softmaxSpec(64, 1021)), "r1e", "its last elements are reduced apart")

	k := softmaxSpec(4, 64)
	directives, err := codegen.ParseDirectives("split r1.a 8 exact; stage r1e at a0 by ranges layout r1.a.1,r1.a.0")
	require.NoError(t, err)
	_, err = lower.Lower(k.s, directives, target())
	assert.ErrorContains(t, err, "its layout must be the range of r1 as it is")
}
