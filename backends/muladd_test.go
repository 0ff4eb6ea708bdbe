//go:build !js

package backends_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/null"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// hardest are numbers at the edges of float64 and float32: as such, as factors and as sums they meet each other.
func hardest() []float64 {
	out := []float64{0, 1, 3, 0.1, 1e16, math.Pi, 1 + 0x1p-52, 1 - 0x1p-53, 1 + 0x1p-23, 1 - 0x1p-24, 0x1p-1074, 0x1.8p-1073, 0x1p-1022, 0x0.fffffffffffffp-1022,
		0x1p-538, 0x1.0000001p-511, 0x1.fffffffffffffp-500, 0x1p-149, 0x1.8p-148, 0x1p-126, 0x1.fffffcp-127, 0x1p-75, 0x1.000002p-63, 0x1p511, 0x1.fffffffffffffp511,
		0x1p512, 0x1.fffffffffffffp1023, 0x1p1023, 0x1.fffffep127, 0x1p127, 0x1p64, 0x1.fffffep63, math.Inf(1), math.NaN()}
	for _, v := range out {
		out = append(out, -v)
	}
	return out
}

// triples are factors and terms for which rounding twice shows: sums that nearly cancel, ties, results among the denormal numbers.
func triples(d dtype.DType) (a, b, c []float64) {
	digits, low := 52, -1074
	round := func(v float64) float64 { return v }
	if d == dtype.F32 {
		digits, low = 23, -149
		round = func(v float64) float64 { return float64(float32(v)) }
	}
	add := func(x, y, z float64) { a, b, c = append(a, round(x)), append(b, round(y)), append(c, round(z)) }
	edges := hardest()
	for _, x := range edges {
		for _, y := range edges {
			for _, z := range edges {
				add(x, y, z)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	number := func(exponent int) float64 {
		m := 1 + r.Float64()
		if r.IntN(2) == 0 { // few digits, which make ties
			m = 1 + float64(r.IntN(16))/16 + math.Ldexp(float64(r.IntN(3)-1), -digits/2)
		}
		return round(math.Ldexp(m*float64(1-2*r.IntN(2)), exponent))
	}
	for range 60_000 {
		x, y := number(r.IntN(-low)+low/2), 0.
		_, e := math.Frexp(x)
		switch target := r.IntN(3); target {
		case 0: // a product of about 1
			y = number(r.IntN(5) - e)
		case 1: // among or just above the smallest numbers
			y = number(low + r.IntN(2*digits) - e)
		default:
			y = number(r.IntN(-low) + low/2)
		}
		p := round(x * y)
		_, pe := math.Frexp(p)
		switch r.IntN(4) {
		case 0: // nearly cancels
			add(x, y, -p*(1+math.Ldexp(float64(r.IntN(5)-2), -digits)))
		case 1: // a tie, but for the other's last digits
			add(x, y, number(pe+digits+r.IntN(4)-2))
		case 2: // the product is a last digit and less
			add(x, y, number(pe-digits+r.IntN(4)-2))
		default:
			add(x, y, number(pe+r.IntN(2*digits)-digits))
		}
	}
	return a, b, c
}

func bytesOf(d dtype.DType, v []float64) (raw []byte) {
	for _, x := range v {
		if d == dtype.F32 {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
		} else {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
		}
	}
	return raw
}

// checkMulAdd computes a·b + c on e and compares the bits with those of the definition.
func checkMulAdd(t *testing.T, e *engine.Engine, d dtype.DType) {
	ctx := context.Background()
	a, b, c := triples(d)
	n := len(a)
	var in []*uop.UOp
	for _, v := range [][]float64{a, b, c} {
		u, err := e.FromBytes(d, []int{n}, bytesOf(d, v))
		require.NoError(t, err)
		in = append(in, u)
	}
	out := in[0].MulAdd(in[1], in[2])
	require.NoError(t, e.Realize(ctx, out))
	raw := make([]byte, n*d.Size())
	require.NoError(t, e.Read(ctx, out, raw))
	bad := 0
	for i := range n {
		want := math.FMA(a[i], b[i], c[i])
		got := 0.
		if d == dtype.F32 {
			got = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
			want = uop.Eval(uop.MulAdd, d, d, uop.FloatValue(d, a[i]), uop.FloatValue(d, b[i]), uop.FloatValue(d, c[i])).Float()
		} else {
			got = math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		}
		if math.Float64bits(got) != math.Float64bits(want) && !(got != got && want != want) {
			if bad++; bad <= 5 {
				t.Errorf("%v: %x · %x + %x = %x, not %x", d, a[i], b[i], c[i], want, got)
			}
		}
	}
	require.Zero(t, bad, "of %d", n)
}

// withoutFMA is a compiler whose code may not use multiply-add instructions.
func withoutFMA(t *testing.T, noOpt bool) *engine.Engine {
	cc := need.Compiler(t)
	e, err := engine.Open("CPU", engine.Options{CC: cc + " -mno-fma -mno-avx512f -mno-fma4", NoOpt: noOpt})
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, e.Close()) })
		var u *uop.UOp
		if u, err = e.FromBytes(dtype.F32, []int{1}, make([]byte, 4)); err == nil {
			err = e.Realize(context.Background(), u.Add(u))
		}
	}
	if err != nil && strings.Contains(err.Error(), "-mno-fma") {
		t.Skip("another kind of processor: its compiler knows no -mno-fma")
	}
	require.NoError(t, err)
	return e
}

func TestMulAddIsExact(t *testing.T) {
	with, err := engine.Use("CPU")
	need.Device(t, "CPU", err)
	for name, e := range map[string]*engine.Engine{"with instructions": with, "without": withoutFMA(t, false), "without, one by one": withoutFMA(t, true)} {
		for _, d := range []dtype.DType{dtype.F64, dtype.F32} {
			t.Run(fmt.Sprint(name, " ", d), func(t *testing.T) { checkMulAdd(t, e, d) })
		}
	}
}

// On a processor without the instruction sums of products and polynomials are products and sums: one multiply-add takes a hundred
// instructions there. Those of the graph are computed all the same.
func TestSumsWithoutMulAdd(t *testing.T) {
	for _, without := range []bool{false, true} {
		for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
			e, err := engine.New(engine.Backend{Name: "C", Open: func(engine.Options, func(*plan.Kernel, float64)) (*engine.Machine, error) {
				return &engine.Machine{Device: null.Open(null.Options{}), Target: c.Target(c.Machine{NoFMA: without}), Render: c.Render}, nil
			}}, engine.Options{})
			require.NoError(t, err)
			x, err := e.Empty(d, []int{32, 32})
			require.NoError(t, err)
			code := func(u *uop.UOp) string {
				v, err := e.Plan(u)
				require.NoError(t, err)
				require.Len(t, v.Plan.Kernels, 1)
				return v.Plan.Kernels[0].Source
			}
			call := regexp.MustCompile(`\b(weft_)?fma_f\d+(x\d+)?\(`)
			for name, u := range map[string]*uop.UOp{"sum": x.Mul(x.Flip(0)).Reduce(uop.Sum, 1), "polynomial": x.Exp2()} {
				assert.Equal(t, !without, call.MatchString(body(code(u))), "%s of %v, without %v", name, d, without)
			}
			assert.Regexp(t, call, body(code(x.MulAdd(x.Flip(0), x.Flip(1)))))
			require.NoError(t, e.Close())
		}
	}
}

// body is a kernel without the functions before it.
func body(source string) string { return source[strings.Index(source, "\nvoid "):] }
