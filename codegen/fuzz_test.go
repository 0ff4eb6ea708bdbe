package codegen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/bounded"
)

// Whatever text comes: no panic, no memory beyond its own, and directives that were read are the same when they are written and
// read again.
func FuzzParseDirectives(f *testing.F) {
	f.Add("split a0 8 shift; order a0.0 a1 a0.1; thread a0.0; vector a1")
	f.Add("stage v1 at a0.0 by box layout a1,a0 tile a1 vector a0 workgroup; carry r0 in scratch layout a0,a1")
	f.Add("fuse a0 a1; nest v0 a0 a1; grid a0; lane a1; tile a2; group a3")
	f.Add("split a0 9223372036854775807 guard")
	f.Fuzz(func(t *testing.T, text string) {
		var directives []Directive
		var err error
		bounded.Memory(t, len(text), 1024, func() { directives, err = ParseDirectives(text) })
		if err != nil {
			return
		}
		again, err := ParseDirectives(DirectivesString(directives))
		require.NoError(t, err, DirectivesString(directives))
		require.Equal(t, directives, again)
	})
}
