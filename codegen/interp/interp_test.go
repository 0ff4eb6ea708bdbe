package interp_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/plan/bytecode"
	"github.com/weft-ml/weft/runtime"
	machine "github.com/weft-ml/weft/runtime/interp"
	"github.com/weft-ml/weft/uop"
)

type array []uop.Value

func numel(p codegen.Param) int {
	n := 1
	for _, d := range p.Dims {
		n *= d
	}
	return n
}

func encode(d dtype.DType, a array) []byte {
	var out []byte
	for _, v := range a {
		b := binary.LittleEndian.AppendUint64(nil, uop.ToBits(d, v))
		out = append(out, b[:d.Size()]...)
	}
	return out
}

func decode(d dtype.DType, b []byte) (a array) {
	for ; len(b) > 0; b = b[d.Size():] {
		var full [8]byte
		copy(full[:], b[:d.Size()])
		a = append(a, uop.FromBits(d, binary.LittleEndian.Uint64(full[:])))
	}
	return a
}

// play runs a kernel on a device of so many threads; the arrays of written parameters are replaced.
func play(t testing.TB, k plan.Kernel, params []codegen.Param, bufs []array, threads int) error {
	dev, err := machine.Open(machine.Options{Threads: threads, Poison: true})
	require.NoError(t, err)
	p := &plan.Plan{Version: plan.Version, Target: "interp", Kernels: []plan.Kernel{k}}
	step := plan.Step{Kind: plan.Launch}
	var mems []runtime.Mem
	for i, q := range params {
		data := encode(q.DType, bufs[i])
		m, err := dev.Alloc(int64(len(data)))
		require.NoError(t, err)
		require.NoError(t, dev.Write(m, 0, data))
		mems = append(mems, m)
		p.Memory = append(p.Memory, plan.Memory{Kind: plan.State, Arg: i, Bytes: int64(len(data))})
		p.Slots = append(p.Slots, plan.Slot{Memory: i, Bytes: int64(len(data)), DType: q.DType})
		step.Slots = append(step.Slots, i)
	}
	p.Steps = []plan.Step{step}
	ctx := context.Background()
	l, err := dev.Load(ctx, p)
	require.NoError(t, err)
	if err := dev.Play(l, mems, nil); err != nil {
		return err
	}
	for i, q := range params {
		data := make([]byte, mems[i].Bytes())
		require.NoError(t, dev.Read(ctx, data, mems[i], 0))
		bufs[i] = decode(q.DType, data)
	}
	return nil
}

func random(d dtype.DType, n int, r *rand.Rand) array {
	a := make(array, n)
	for i := range a {
		switch {
		case d == dtype.Bool:
			a[i] = uop.Value(r.Intn(2))
		case d.IsFloat():
			a[i] = uop.FloatValue(d, r.NormFloat64()*3)
		default:
			a[i] = uop.IntValue(d, int64(r.Intn(200)-100))
		}
	}
	return a
}

// elementwiseKernel stores op(loads…) for n elements, in one vector loop.
func elementwiseKernel(o uop.Op, from []dtype.DType, to dtype.DType, n int) *codegen.Program {
	t := uop.NewArena()
	i := t.Range(0, n, "a0")
	p := &codegen.Program{Name: o.String(), Threads: 1}
	var src []*uop.UOp
	for slot, d := range from {
		src = append(src, t.Load(t.Param(slot, n, d), t.True(), i))
		p.Params = append(p.Params, codegen.Param{DType: d, Dims: []int{n}})
	}
	p.Params = append(p.Params, codegen.Param{DType: to, Dims: []int{n}, Write: true})
	value := legal.Legalize(t, interp.Target(false), t.Make(o, to, nil, src...))[0]
	store := &codegen.Store{Buf: t.Param(len(from), n, to), Index: []*uop.UOp{i}, Value: value}
	p.Body = []codegen.Stmt{&codegen.Loop{Range: i, Kind: codegen.Vector, Body: []codegen.Stmt{store}}}
	return p
}

func typesOf(o uop.Op) (out []dtype.DType) {
	for _, d := range dtype.All {
		switch o {
		case uop.Sqrt, uop.Exp2, uop.Log2, uop.Sin, uop.Trunc, uop.RoundEven, uop.Div:
			if !d.IsFloat() {
				continue
			}
		case uop.IDiv, uop.Mod, uop.And, uop.Or, uop.Xor, uop.Shl, uop.Shr:
			if d.IsFloat() {
				continue
			}
		case uop.Dot2, uop.Dot4, uop.DotBF16:
			if d != dtype.I32 {
				continue
			}
		}
		out = append(out, d)
	}
	return out
}

var specials = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -2.5, 1e-40, 3e38, -3e38, 65520, 1e9, -1e10, 1e19, 2e19,
	math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-24, 0x1p-25, 127.5, -128.5}

func samples(d dtype.DType, n int, r *rand.Rand) array {
	a := random(d, n, r)
	lo, hi := uop.IntLimits(dtype.I32)
	if d.IsInt() {
		lo, hi = uop.IntLimits(d)
	}
	for i := range a {
		switch {
		case i%3 > 0 || d == dtype.Bool:
		case d.IsFloat():
			a[i] = uop.FloatValue(d, specials[r.Intn(len(specials))])
		default:
			a[i] = []uop.Value{0, 1, uop.IntValue(d, -1), lo, hi, 7, 33}[r.Intn(7)]
		}
	}
	return a
}

// Every op on every type: the machine and the meaning agree bit for bit, transcendental functions nearly.
func TestOps(t *testing.T) {
	const n = 1100 // two strips and a rest
	check := func(o uop.Op, from []dtype.DType, to dtype.DType) {
		r := rand.New(rand.NewSource(int64(o)))
		p := elementwiseKernel(o, from, to, n)
		k, err := interp.Render(p)
		require.NoError(t, err)
		var bufs []array
		for _, q := range p.Params {
			bufs = append(bufs, samples(q.DType, n, r))
		}
		require.NoError(t, play(t, k, p.Params, bufs, 1))
		for i := range n {
			var v []uop.Value
			for j := range from {
				v = append(v, bufs[j][i])
			}
			d := from[len(from)-1]
			want, got := uop.Eval(o, d, to, v...), bufs[len(from)][i]
			if got == want || to.IsFloat() && got.Float() != got.Float() && want.Float() != want.Float() {
				continue
			}
			loose := o == uop.Exp2 || o == uop.Log2 || o == uop.Sin || o == uop.MulAdd && (to == dtype.F16 || to == dtype.BF16)
			if !loose || !(math.Abs(got.Float()-want.Float()) <= 1e-6*math.Abs(want.Float())+1e-2*math.Abs(want.Float())*boolFloat(to.Size() == 2)+1e-7) {
				require.Fail(t, "differs", "%s of %v to %s, %x: got %v, want %v\n%s", o, from, to, v, got, want, k.Source)
			}
		}
	}
	for o := range uop.Op(uop.NumOps) {
		if !o.Elementwise() {
			continue
		}
		for _, d := range typesOf(o) {
			switch o {
			case uop.Cast:
				for _, to := range dtype.All {
					check(o, []dtype.DType{d}, to)
				}
			case uop.Bitcast:
				for _, to := range dtype.All {
					if to.Size() == d.Size() && (to != dtype.Bool && d != dtype.Bool) {
						check(o, []dtype.DType{d}, to)
					}
				}
			case uop.Where:
				check(o, []dtype.DType{dtype.Bool, d, d}, d)
			case uop.Less, uop.Equal:
				check(o, []dtype.DType{d, d}, dtype.Bool)
			case uop.DotBF16:
				check(o, []dtype.DType{d, d}, dtype.F32)
			default:
				from := make([]dtype.DType, uop.Info(o).Arity)
				for i := range from {
					from[i] = d
				}
				check(o, from, d)
			}
		}
	}
}

func boolFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// product lowered by hand: thread m { vector n { acc = 0; k { acc = muladd } ; store } }.
func product(m, n, k int) *codegen.Program {
	t := uop.NewArena()
	im, in, ik := t.Range(0, m, "m"), t.Range(1, n, "n"), t.Range(2, k, "k")
	a, b := t.Param(0, m*k, dtype.F32), t.Param(1, k*n, dtype.F32)
	acc := t.Make(uop.Reg, dtype.F32, uop.RegArg{ID: 0})
	x := t.Load(a, t.True(), im.Mul(t.Index(k)).Add(ik))
	y := t.Load(b, t.True(), ik.Mul(t.Index(n)).Add(in))
	set := &codegen.Set{Regs: []*uop.UOp{acc}, Values: []*uop.UOp{x.MulAdd(y, acc)}}
	store := &codegen.Store{Buf: t.Param(2, m*n, dtype.F32), Index: []*uop.UOp{im.Mul(t.Index(n)).Add(in)}, Value: acc}
	inner := []codegen.Stmt{&codegen.Let{Reg: acc, Value: t.Int(dtype.F32, 0)},
		&codegen.Loop{Range: ik, Body: []codegen.Stmt{set}}, store}
	body := []codegen.Stmt{&codegen.Loop{Range: in, Kind: codegen.Vector, Body: inner}}
	f := func(d ...int) codegen.Param { return codegen.Param{DType: dtype.F32, Dims: d} }
	return &codegen.Program{Name: "product", Threads: m, Params: []codegen.Param{f(m, k), f(k, n), {DType: dtype.F32, Dims: []int{m, n}, Write: true}},
		Body: []codegen.Stmt{&codegen.Loop{Range: im, Kind: codegen.Thread, Body: body}}}
}

func TestProduct(t *testing.T) {
	const m, n, k = 5, 700, 33
	p := product(m, n, k)
	kernel, err := interp.Render(p)
	require.NoError(t, err)
	r := rand.New(rand.NewSource(1))
	bufs := []array{random(dtype.F32, m*k, r), random(dtype.F32, k*n, r), make(array, m*n)}
	for _, threads := range []int{1, 2, 5} {
		clear(bufs[2])
		require.NoError(t, play(t, kernel, p.Params, bufs, threads))
		for i := range m * n {
			acc := uop.Value(0)
			for j := range k {
				acc = uop.Eval(uop.MulAdd, dtype.F32, dtype.F32, bufs[0][i/n*k+j], bufs[1][j*n+i%n], acc)
			}
			require.Equal(t, acc, bufs[2][i])
		}
	}
	require.Contains(t, kernel.Source, "muladd.f32 v0 ", "the accumulator is not updated in place")
}

// A fold merges all lanes, those behind the last strip and masked ones excepted.
func TestFold(t *testing.T) {
	for _, n := range []int{1, 2, 7, 512, 513, 1500} {
		a := uop.NewArena()
		i := a.Range(0, n, "r0")
		x := a.Load(a.Param(0, n, dtype.F32), a.True(), i)
		best, at := a.Make(uop.Reg, dtype.F32, uop.RegArg{ID: 0}), a.Make(uop.Reg, dtype.I32, uop.RegArg{ID: 1})
		fold := &codegen.HorizontalReduce{Regs: []*uop.UOp{best, at}, Monoid: uop.ArgMax, Range: i, Values: []*uop.UOp{x, i.Cast(dtype.I32)}}
		p := &codegen.Program{Name: "argmax", Threads: 1, Params: []codegen.Param{{DType: dtype.F32, Dims: []int{n}},
			{DType: dtype.I32, Dims: []int{1}, Write: true}, {DType: dtype.F32, Dims: []int{1}, Write: true}},
			Body: []codegen.Stmt{
				&codegen.Let{Reg: best, Value: a.ConstOf(dtype.F32, uop.Least(dtype.F32))}, &codegen.Let{Reg: at, Value: a.Int(dtype.I32, -1)},
				&codegen.Loop{Range: i, Kind: codegen.Vector, Body: []codegen.Stmt{&codegen.If{Cond: a.Index(n / 3).Less(i.Add(a.Index(1))), Body: []codegen.Stmt{fold}}}},
				&codegen.Store{Buf: a.Param(1, 1, dtype.I32), Index: []*uop.UOp{a.Index(0)}, Value: at},
				&codegen.Store{Buf: a.Param(2, 1, dtype.F32), Index: []*uop.UOp{a.Index(0)}, Value: best},
			}}
		k, err := interp.Render(p)
		require.NoError(t, err)
		bufs := []array{random(dtype.F32, n, rand.New(rand.NewSource(int64(n)))), {0}, {0}}
		require.NoError(t, play(t, k, p.Params, bufs, 1))
		want := n / 3
		for j := n / 3; j < n; j++ {
			if bufs[0][j].Float() > bufs[0][want].Float() {
				want = j
			}
		}
		require.Equal(t, uop.Value(want), bufs[1][0], "n = %d\n%s", n, k.Source)
		require.Equal(t, bufs[0][want], bufs[2][0])
	}
}

// Gates and conditions keep lanes from touching memory; without them it is an error that names the kernel.
func TestBounds(t *testing.T) {
	const n = 600
	a := uop.NewArena()
	i := a.Range(0, n, "a0")
	in, out := a.Param(0, n, dtype.I16), a.Param(1, n, dtype.I16)
	left := i.Add(a.Index(-3))
	inside := a.Index(2).Less(i)
	params := []codegen.Param{{DType: dtype.I16, Dims: []int{n}}, {DType: dtype.I16, Dims: []int{n}, Write: true}}
	program := func(gate *uop.UOp, index *uop.UOp) *codegen.Program {
		store := &codegen.Store{Buf: out, Index: []*uop.UOp{index}, Value: a.Load(in, gate, left)}
		body := []codegen.Stmt{store}
		if index != i {
			body = []codegen.Stmt{&codegen.If{Cond: inside, Body: body}}
		}
		return &codegen.Program{Name: "shifted", Threads: 1, Params: params,
			Body: []codegen.Stmt{&codegen.Loop{Range: i, Kind: codegen.Vector, Body: body}}}
	}
	r := rand.New(rand.NewSource(3))
	bufs := []array{random(dtype.I16, n, r), random(dtype.I16, n, r)}
	k, err := interp.Render(program(inside, i))
	require.NoError(t, err)
	require.NoError(t, play(t, k, params, bufs, 1))
	for j := range n {
		want := uop.Value(0)
		if j > 2 {
			want = bufs[0][j-3]
		}
		require.Equal(t, want, bufs[1][j])
	}
	before := bufs[1][n-2]
	k, err = interp.Render(program(a.True(), left)) // under the condition: elements 0 … n−4
	require.NoError(t, err)
	require.NoError(t, play(t, k, params, bufs, 1))
	require.Equal(t, bufs[0][n-4], bufs[1][n-4])
	require.Equal(t, before, bufs[1][n-2])

	k, err = interp.Render(program(a.True(), i))
	require.NoError(t, err)
	require.ErrorContains(t, play(t, k, params, bufs, 1), "kernel shifted: element")
}

// Staging: a scratch array is filled in one loop and read in another, per thread.
func TestScratch(t *testing.T) {
	const rows, n = 3, 520
	a := uop.NewArena()
	row, i, j := a.Range(0, rows, "a0"), a.Range(1, n, "a1"), a.Range(2, n, "a1'")
	s := a.Make(uop.Param, dtype.F64, uop.ParamArg{Slot: 0, N: n, Scratch: true})
	at := func(x *uop.UOp) *uop.UOp { return row.Mul(a.Index(n)).Add(x) }
	in, out := a.Param(0, rows*n, dtype.F64), a.Param(1, rows*n, dtype.F64)
	back := a.Index(n - 1).Sub(j)
	body := []codegen.Stmt{
		&codegen.Alloc{Buf: s, N: n},
		&codegen.Loop{Range: i, Kind: codegen.Vector, Body: []codegen.Stmt{&codegen.Store{Buf: s, Index: []*uop.UOp{i}, Value: a.Load(in, a.True(), at(i)).Add(a.Int(dtype.F64, 1))}}},
		&codegen.Loop{Range: j, Kind: codegen.Vector, Body: []codegen.Stmt{&codegen.Store{Buf: out, Index: []*uop.UOp{at(j)}, Value: a.Load(s, a.True(), back)}}},
	}
	p := &codegen.Program{Name: "staged", Threads: rows, Params: []codegen.Param{{DType: dtype.F64, Dims: []int{rows, n}}, {DType: dtype.F64, Dims: []int{rows, n}, Write: true}},
		Body: []codegen.Stmt{&codegen.Loop{Range: row, Kind: codegen.Thread, Body: body}}}
	k, err := interp.Render(p)
	require.NoError(t, err)
	r := rand.New(rand.NewSource(4))
	bufs := []array{random(dtype.F64, rows*n, r), make(array, rows*n)}
	require.NoError(t, play(t, k, p.Params, bufs, 2))
	for e := range rows * n {
		require.Equal(t, bufs[0][e/n*n+n-1-e%n].Float()+1, bufs[1][e].Float())
	}
}

// What is printed reads back the same; damaged text is an error.
func TestText(t *testing.T) {
	code, err := interp.Compile(product(2, 600, 3))
	require.NoError(t, err)
	again, err := bytecode.Parse(code.String())
	require.NoError(t, err)
	require.Equal(t, code.String(), again.String())
	text := code.String()
	r := rand.New(rand.NewSource(5))
	for range 2000 {
		b := []byte(text)
		for range 1 + r.Intn(3) {
			b[r.Intn(len(b))] = byte(" \n019vs_#*.abcdef"[r.Intn(16)])
		}
		if p, err := bytecode.Parse(string(b)); err == nil {
			require.NoError(t, p.Check())
		}
	}
}

func BenchmarkProduct(b *testing.B) {
	const m, n, k = 16, 512, 256
	p := product(m, n, k)
	kernel, err := interp.Render(p)
	require.NoError(b, err)
	bufs := []array{make(array, m*k), make(array, k*n), make(array, m*n)}
	dev, _ := machine.Open(machine.Options{Threads: 1})
	pl := &plan.Plan{Version: plan.Version, Target: "interp", Kernels: []plan.Kernel{kernel}}
	step := plan.Step{Kind: plan.Launch}
	var mems []runtime.Mem
	for i := range bufs {
		bytes := int64(numel(p.Params[i]) * 4)
		mem, _ := dev.Alloc(bytes)
		mems = append(mems, mem)
		pl.Memory = append(pl.Memory, plan.Memory{Kind: plan.State, Arg: i, Bytes: bytes})
		pl.Slots = append(pl.Slots, plan.Slot{Memory: i, Bytes: bytes})
		step.Slots = append(step.Slots, i)
	}
	pl.Steps = []plan.Step{step}
	l, err := dev.Load(context.Background(), pl)
	require.NoError(b, err)
	for b.Loop() {
		require.NoError(b, dev.Play(l, mems, nil))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(m*n*k), "ns/muladd")
}
