package codegen

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDirectivesText(t *testing.T) {
	text := "split a0 6 shift; fuse a0 a1; nest r0 r0.a.1; order a0 r0.a a1; thread a0; tile a1; vector a2; " +
		"stage p1 at root by box; stage p2 at a0 by ranges layout r0.a,a1 tile r0.a vector a1; carry r0 in scratch layout a0,a1; finite p2"
	directives, err := ParseDirectives(text)
	require.NoError(t, err)
	assert.Equal(t, text, DirectivesString(directives))
	for _, bad := range []string{"splat a0 4", "split a0", "split a0 x", "split a0 4 maybe", "stage p1 a0", "carry r0", "vector", "split a0 0"} {
		_, err := ParseDirectives(bad)
		assert.ErrorContains(t, err, "cannot read the directive", bad)
	}
}
