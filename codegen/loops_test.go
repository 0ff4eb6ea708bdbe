package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
)

// A kernel with more loops than can be told apart is an error, whoever looks at it first.
func TestTooManyLoops(t *testing.T) {
	k := newKit()
	in, out := k.param(dtype.F32, false, 7), k.param(dtype.F32, true, 5)
	var v = k.load(in, k.Index(0))
	for range 600 {
		r := k.rng(7)
		v = v.Add(k.sum(k.load(in, r), r))
	}
	k.out(out, k.rngs(5), v)
	target := c.Target(c.Machine{VectorBytes: 32, Registers: 16})
	var directives []codegen.Directive
	assert.NotPanics(t, func() { directives = model.Choose(k.s, target) })
	_, err := lower.Lower(k.s, directives, target)
	assert.ErrorContains(t, err, "more than 512 loops")
}
