package bytecode

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/bounded"
)

// Whatever text comes: no panic, no memory beyond its own, and a program that was read is the same when it is written and read
// again.
func FuzzParse(f *testing.F) {
	f.Add("bytecode 1\nparam f32 4 w\nparam f32 4 r\nscalars 5 0 5 0\nlanes 0 0 0 0\nconst 2 s0 0x2\nconst 0 s1 0x3f800000\nloop s1 #2\n" +
		"  mul.idx s1 s1 s0\n  load.f32 s3 s1 #1\n  store.f32 _ s1 s3 #0\nend\n")
	f.Add("bytecode 1\nscratch f32 64 0\nvars 2\nscalars 1 1 1 1\nlanes 1 1 1 1\nstrip s0 #4\n end\n")
	f.Add("bytecode 1\nscratch f32 9223372036854775807 0\n")
	f.Add("bytecode 1\n" + strings.Repeat("loop s0 #1\n", 30))
	f.Fuzz(func(t *testing.T, text string) {
		var p *Program
		var err error
		bounded.Memory(t, len(text), 1024, func() { p, err = Parse(text) })
		if err != nil {
			return
		}
		again, err := Parse(p.String())
		require.NoError(t, err, p.String())
		require.Equal(t, p.String(), again.String())
		require.Equal(t, p, again)
	})
}
