package codegen_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// asked counts what a kernel asks for ahead: cache lines in all iterations of a row, of what it reads and of what it writes.
func asked(t *testing.T, k *kit, target *codegen.Target) (reads, writes int) {
	t.Helper()
	p, err := lower.Lower(k.s, model.Choose(k.s, target), target)
	require.NoError(t, err)
	var count func(stmts []codegen.Stmt, times int)
	count = func(stmts []codegen.Stmt, times int) {
		for _, s := range stmts {
			switch s := s.(type) {
			case *codegen.Prefetch:
				if s.Write {
					writes += times
				} else {
					reads += times
				}
			case *codegen.If:
				count(s.Body, times)
			case *codegen.Loop:
				n := 1
				if s.Kind == codegen.Serial {
					n = int(s.Range.Arg().(uop.RangeArg).N)
				}
				count(s.Body, times*n)
			}
		}
	}
	count(p.Body, 1)
	return reads, writes
}

// A kernel that goes through each row several times asks for each line of the next row, once; no other kernel asks for anything.
func TestNextRowIsAskedFor(t *testing.T) {
	target := c.Target(c.Machine{VectorBytes: 32})
	for _, m := range []int{256, 1000, 1024, 4096, 16384} {
		t.Run(fmt.Sprint(m), func(t *testing.T) {
			reads, writes := asked(t, softmaxSpec(64, m), target)
			lines := (m + 15) / 16
			assert.InDelta(t, lines, reads, float64(lines)/8, "read")
			assert.InDelta(t, lines, writes, float64(lines)/8, "written")
		})
	}
	none := func(name string, k *kit, target *codegen.Target) {
		reads, writes := asked(t, k, target)
		assert.Zero(t, reads+writes, name)
	}
	none("short rows", softmaxSpec(64, 128), target)
	none("rows larger than the second cache", softmaxSpec(64, 200_000), target)
	none("a product", productSpec(64, 1024, 512), target)
	none("another machine", softmaxSpec(64, 1024), c.Target(c.Machine{VectorBytes: 16}))
	k := newKit()
	o, x := k.param(dtype.F32, true, 64), k.param(dtype.F32, false, 64, 1024)
	a := k.rngs(64, 1024)
	k.out(o, a[:1], k.sum(k.load(x, a[0], a[1]), a[1]))
	none("each row once", k, target)
	reads, writes := asked(t, softmaxSpec(8192, 1024), target) // its results pass by the caches
	assert.Positive(t, reads)
	assert.Zero(t, writes)
}
