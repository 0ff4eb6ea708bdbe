package codegen_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// nibbles is Σ over blocks of scale·Σ (lower halves·x + upper halves·x), of rows rows of x, as matrices of four bits are multiplied.
func nibbles(rows int) (k *kit, out int) {
	const blocks, bytes = 24, 16
	n := 96
	if rows > 8 {
		n = 960
	}
	k = newKit()
	out = k.param(dtype.F32, true, rows, n)
	x, w, scale := k.param(dtype.F32, false, rows, 2, blocks, bytes), k.param(dtype.U8, false, n, blocks, bytes), k.param(dtype.F32, false, n, blocks)
	a := k.rngs(rows, n, blocks, bytes)
	q := k.load(w, a[1], a[2], a[3]).Cast(dtype.I32)
	v := q.And(q.Int(15)).Add(q.Int(-8)).Cast(dtype.F32).Mul(k.load(x, a[0], k.Index(0), a[2], a[3]))
	v = v.Add(q.Shr(q.Int(4)).Add(q.Int(-8)).Cast(dtype.F32).Mul(k.load(x, a[0], k.Index(1), a[2], a[3])))
	k.out(out, a[:2], k.sum(v.Mul(k.load(scale, a[1], a[2])), a[2:]...))
	return k, out
}

// Rows of packed numbers that are read once are read one after the other; where several rows of factors share them, what is unpacked
// stays in registers; where many do, it is unpacked ahead, for a block of rows that do not lie a power of two apart.
func TestPackedRows(t *testing.T) {
	dev := openCPU(t, 2)
	for rows, want := range map[int]string{1: "vector r0.b; thread a0", 4: "tile a0; split a1 6 exact; tile a1.1; vector r0.b",
		32: "stage p2u at a1.0 by ranges layout r0.a,a1.1,r0.b vector r0.b; stage p2u.1 at a1.0 by ranges layout r0.a,a1.1,r0.b vector r0.b"} {
		k, out := nibbles(rows)
		directives := model.Choose(k.s, target())
		require.Contains(t, codegen.DirectivesString(directives), want)
		bufs := k.random(rand.New(rand.NewPCG(8, 9)))
		got, exact := &job{k.s, directives, bufs}, &job{k.s, nil, clone(bufs)}
		run(t, dev, []*job{got, exact})
		require.Empty(t, differ(dtype.F32, got.bufs[out], exact.bufs[out], 1e-4))
	}
}

// Of a sum of sums of products each product is a multiply-add.
func TestSumsOfProductsAreMultiplyAdds(t *testing.T) {
	for n := 1; n <= 4; n++ {
		k := newKit()
		x, y, out := k.param(dtype.F32, false, n, 40), k.param(dtype.F32, false, n, 40), k.param(dtype.F32, true)
		r := k.rng(40)
		var sum *uop.UOp
		for i := range n {
			product := k.load(x, k.Index(i), r).Mul(k.load(y, k.Index(i), r))
			if sum != nil {
				product = sum.Add(product)
			}
			sum = product
		}
		k.out(out, nil, k.sum(sum, r))
		p, err := lower.Lower(k.s, nil, target())
		require.NoError(t, err)
		assert.Equal(t, n, strings.Count(codegen.Dump(p), "muladd"))
		assert.NotContains(t, codegen.Dump(p), "mul ")
	}
}

// The products that are added up before a factor multiplies them are multiply-adds as those of a sum are, where the target has them.
func TestProductsWithinASumAreMultiplyAdds(t *testing.T) {
	for soft, want := range map[bool]int{false: 2, true: 0} {
		k, _ := nibbles(1)
		to := *target()
		to.SoftFMA = soft
		p, err := lower.Lower(k.s, nil, &to)
		require.NoError(t, err)
		assert.Equal(t, want, strings.Count(codegen.Dump(p), "muladd"))
	}
}
