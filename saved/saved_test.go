package saved_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/tests/bounded"
	"github.com/weft-ml/weft/uop"
)

// program has every kind of node and field.
func program() *saved.Program {
	t := uop.NewArena()
	v := uop.VarArg{Name: "n", Lo: 0, Hi: 3}
	x := t.Param(0, 12, dtype.F32).Reshape(3, 4)
	w := t.Param(1, 12, dtype.F32).Reshape(3, 4)
	n := t.Make(uop.Var, dtype.Index, v)
	moved := x.Permute(1, 0).Flip(0).Pad([]int{1, 0}, []int{0, 2}).Shrink([]int{0, 1}, []int{5, 4}).Slide(0, 1, 1, -1, 5)
	row := t.Iota(4).Less(n).Reshape(1, 4).Expand(3, 4)
	sum := row.Where(x.Mul(w), x.Float(0.5)).Reduce(uop.Sum, 1)
	best := t.ReduceParts(uop.ArgMax, []int{1}, x, t.Iota(4).Cast(dtype.I32).Reshape(1, 4).Expand(3, 4)).Part(1)
	index := x.Cast(dtype.I32)
	flag := best.Reduce(uop.MaxOf, 0).Reshape(1)
	return &saved.Program{
		Arrays:     []saved.Array{{DType: dtype.F32, N: 12, Form: saved.Half}, {DType: dtype.U32, N: 2}, {DType: dtype.Bool, N: 3}},
		Generators: []saved.Generator{{Seed: 1, Drawn: 1 << 60}},
		Functions: []saved.Function{{
			Name: "f", Ran: true, Inputs: []saved.Input{{Name: "x", DType: dtype.F32, Shape: []int{3, 4}}}, Arrays: []int{0, 1},
			Targets: []saved.Target{
				{Value: sum, Shape: []int{3}, Dest: -1, On: []int{0}},
				{Value: moved.Contiguous().Scan(uop.Sum, 0), Shape: []int{5, 3}, Dest: -1},
				{Value: x.Gather(index, 0).Scatter(index, x, 1, uop.Sum).Reshape(12), Shape: []int{12}, Dest: 1},
				{Value: w.LooseMulAdd(x, w).MulAdd(x, w), Shape: []int{3, 4}, Dest: -1},
				{Value: best.Bitcast(dtype.U32).Shl(best.Bitcast(dtype.U32)), Shape: []int{3, 1}, Dest: -1},
				{Value: flag, Shape: []int{1}, Dest: -1, Checks: []saved.Check{{Number: 0, Arg: uop.CheckArg{Op: "At", Reason: "%d is outside", At: "a.go:1", N: 3}}}},
			},
			Results: []saved.Result{
				{Name: "y", Target: 0, Slot: -1, DType: dtype.F32, Shape: []int{3}, Sizes: []uop.Size{uop.SizeOf(v)}},
				{Name: "w", Target: -1, Slot: 1, DType: dtype.F32, Shape: []int{3, 4}},
			},
			Draws: []saved.Draw{{Slot: 2, Generator: 0, Words: 7}},
		}},
	}
}

// A program that is read and written again is the same bytes.
func TestEncodeDecode(t *testing.T) {
	b, err := saved.Encode(program())
	require.NoError(t, err)
	p, err := saved.Decode(b)
	require.NoError(t, err)
	again, err := saved.Encode(p)
	require.NoError(t, err)
	assert.Equal(t, b, again)
	f, g := program().Functions[0], p.Functions[0]
	assert.Equal(t, uop.LooseArg{}, g.Targets[3].Value.At(0).Arg())
	assert.Nil(t, g.Targets[3].Value.Arg())
	for i := range f.Targets {
		assert.Equal(t, f.Targets[i].Value.Shape(), g.Targets[i].Value.Shape())
		assert.Equal(t, f.Targets[i].Value.DType(), g.Targets[i].Value.DType())
		f.Targets[i].Value, g.Targets[i].Value = nil, nil
	}
	assert.EqualValues(t, f.Results, g.Results)
	assert.Equal(t, f.Draws, g.Draws)
	assert.Equal(t, f.Targets[5].Checks, g.Targets[5].Checks)
}

func floats(v ...float32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func file(t *testing.T) []byte {
	var b bytes.Buffer
	require.NoError(t, saved.Write(&b, program(), func(i int) ([]byte, error) {
		return [][]byte{floats(0, 1, -2, 0.1, 65504, 1e-7, 3, 4, 5, 6, 7, 8), {1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 1}}[i], nil
	}))
	return b.Bytes()
}

func read(b []byte) (all [][]byte, err error) {
	f, err := saved.Read(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return all, f.Contents(func(_ int, b []byte) error {
		all = append(all, b)
		return nil
	})
}

func TestFile(t *testing.T) {
	b := file(t)
	all, err := read(b)
	require.NoError(t, err)
	assert.Equal(t, floats(0, 1, -2, dtype.FromF16(dtype.ToF16(0.1)), 65504, dtype.FromF16(dtype.ToF16(1e-7)), 3, 4, 5, 6, 7, 8), all[0])
	assert.Equal(t, [][]byte{{1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 1}}, all[1:])
	for n := range b[:len(b)-61] { // the last bytes are no array's
		_, err := read(b[:n])
		require.Error(t, err, "%d bytes", n)
	}
	said := map[string]string{}
	for at, change := range map[int]byte{0: 'x', 8: 2, 12: 1, 30: 9, len(b) - 64: 7} {
		c := bytes.Clone(b)
		c[at] ^= change
		_, err := read(c)
		require.Error(t, err, "byte %d", at)
		said[err.Error()] = ""
	}
	assert.Contains(t, said, "saved function: it has version 3 of the format, and this version of Weft reads version 1; load it with the version of Weft that wrote it, or save it again")
	assert.Contains(t, said, "saved function: its program is damaged: the checksum differs; copy the file again")
	assert.Contains(t, said, "saved function: array 2 is damaged: the checksum differs; copy the file again")
}

// Eight bits are within half a step of the largest of a block; what they cannot hold is said.
func TestForms(t *testing.T) {
	var v []float32
	for i := range 200 {
		v = append(v, float32(math.Sin(float64(i)))*float32(i))
	}
	write := func(f saved.Form, v []float32) ([]byte, error) {
		p := program()
		p.Arrays = []saved.Array{{DType: dtype.F32, N: len(v), Form: f}}
		p.Functions = nil
		var b bytes.Buffer
		err := saved.Write(&b, p, func(int) ([]byte, error) { return floats(v...), nil })
		return b.Bytes(), err
	}
	b, err := write(saved.Bytes, v)
	require.NoError(t, err)
	all, err := read(b)
	require.NoError(t, err)
	for i := range v {
		got := math.Float32frombits(binary.LittleEndian.Uint32(all[0][4*i:]))
		assert.InDelta(t, v[i], got, float64(i/64*64+64)/254+1e-6, "element %d", i)
	}
	b, err = write(saved.Bytes, []float32{math.MaxFloat32, -math.MaxFloat32})
	require.NoError(t, err)
	all, err = read(b)
	require.NoError(t, err)
	for i, want := range []float64{math.MaxFloat32, -math.MaxFloat32} {
		assert.InEpsilon(t, want, math.Float32frombits(binary.LittleEndian.Uint32(all[0][4*i:])), 1e-6, "the greatest there are")
	}
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		_, err = write(saved.Bytes, []float32{1, bad})
		assert.ErrorContains(t, err, "8 bits have no place for")
		b, err = write(saved.Half, []float32{1, bad})
		require.NoError(t, err)
		all, err = read(b)
		require.NoError(t, err)
		got := math.Float32frombits(binary.LittleEndian.Uint32(all[0][4:]))
		assert.True(t, got == bad || got != got && bad != bad)
	}
	_, err = write(saved.Half, []float32{65520})
	assert.ErrorContains(t, err, "float16 has no place for")
}

// Nodes that package uop would take, but that mean nothing, are refused.
func TestRefusesNonsense(t *testing.T) {
	refuse := func(words string, change func(p *saved.Program, x *uop.UOp)) {
		p := program()
		f := &p.Functions[0]
		f.Targets, f.Results, f.Draws = f.Targets[:1], nil, nil
		f.Targets[0].On = nil
		x := uop.NewArena().Param(0, 12, dtype.F32)
		f.Targets[0] = saved.Target{Value: x, Shape: []int{12}, Dest: -1}
		change(p, x)
		_, err := saved.Encode(p)
		var e *saved.Error
		require.True(t, errors.As(err, &e), "%s: %v", words, err)
		assert.ErrorContains(t, err, words)
	}
	value := func(v *uop.UOp) func(*saved.Program, *uop.UOp) {
		return func(p *saved.Program, x *uop.UOp) {
			p.Functions[0].Targets[0].Value, p.Functions[0].Targets[0].Shape = v, v.Shape()
		}
	}
	x := uop.NewArena().Param(0, 12, dtype.F32)
	t1 := x.Home()
	refuse("idiv of float32", value(x.IDiv(x)))
	refuse("and of float32", value(x.And(x)))
	refuse("sqrt of int32", value(x.Cast(dtype.I32).Sqrt()))
	refuse("bitcast of float32 to uint8", value(x.Bitcast(dtype.U8)))
	refuse("bitcast of uint8 to bool", value(x.Cast(dtype.U8).Bitcast(dtype.Bool)))
	refuse("reduce by last", value(x.Reduce(uop.Last, 0)))
	refuse("reduce by argmax", value(t1.ReduceParts(uop.ArgMax, []int{0}, x, x).Part(0)))
	refuse("as one value", value(t1.ReduceParts(uop.Moments, []int{0}, x, x, x).Sqrt()))
	refuse("cannot be kept", value(t1.Iota(3)))
	refuse("cannot be saved", value(x.Detach()))
	refuse("a constant is no bool", value(t1.Make(uop.Const, dtype.Bool, uop.ConstArg{Value: 2})))
	n := t1.Index(1 << 40)
	refuse("index arithmetic that leaves", value(t1.Iota(12).Mul(n).Mul(n).Cast(dtype.I32)))
	refuse("index arithmetic that leaves", value(t1.Iota(12).Add(t1.Index(-1<<63)).Cast(dtype.I32)))
	refuse("shl of index arithmetic", value(t1.Iota(12).Shl(n).Cast(dtype.I32)))
	refuse("reduce by sum: parts of types", value(t1.Iota(12).Reduce(uop.Sum, 0).Cast(dtype.I32)))
	refuse("cast of int32 to index", value(x.Cast(dtype.I32).Cast(dtype.Index).Cast(dtype.I32)))
	refuse("the slot of an array is 7", value(t1.Param(7, 3, dtype.F32)))
	refuse("larger than any memory", value(x.Reshape(12, 1, 1).Expand(12, 1<<40, 1<<40).Reduce(uop.Sum, 1, 2)))
	refuse("input 0 is assigned", func(p *saved.Program, _ *uop.UOp) { p.Functions[0].Targets[0].Dest = 0 })
	refuse("are assigned to an array", func(p *saved.Program, _ *uop.UOp) { p.Functions[0].Targets[0].Dest = 2 })
	refuse("assigned twice", func(p *saved.Program, _ *uop.UOp) {
		f := &p.Functions[0]
		f.Targets[0].Dest = 1
		f.Targets = append(f.Targets, f.Targets[0])
	})
	refuse("two inputs have the name \"x\"", func(p *saved.Program, _ *uop.UOp) {
		p.Functions[0].Inputs = slices.Repeat([]saved.Input{{Name: "x", DType: dtype.F32, Shape: []int{12}}}, 2)
	})
	refuse("two results have the name \"y\"", func(p *saved.Program, _ *uop.UOp) {
		p.Functions[0].Results = slices.Repeat([]saved.Result{{Name: "y", Target: 0, Slot: -1, DType: dtype.F32, Shape: []int{12}}}, 2)
	})
	refuse("depends on check 3", func(p *saved.Program, _ *uop.UOp) { p.Functions[0].Targets[0].On = []int{3} })
	refuse("neither", func(p *saved.Program, _ *uop.UOp) {
		p.Functions[0].Results = []saved.Result{{Target: -1, Slot: -1, DType: dtype.F32}}
	})
	refuse("uses array 9", func(p *saved.Program, _ *uop.UOp) { p.Functions[0].Arrays[1] = 9 })
	refuse("draw", func(p *saved.Program, _ *uop.UOp) { p.Functions[0].Draws = []saved.Draw{{Slot: 1}} })
}

// Whatever the bytes of a program: an error, or a program that is written as it was read; never more memory than the bytes are worth.
func FuzzDecode(f *testing.F) {
	b, err := saved.Encode(program())
	require.NoError(f, err)
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		var p *saved.Program
		var err error
		bounded.Memory(t, len(b), 4096, func() { p, err = saved.Decode(b) })
		if err != nil {
			var e *saved.Error
			require.True(t, errors.As(err, &e), "%v", err)
			return
		}
		_, err = saved.Encode(p)
		require.NoError(t, err)
	})
}

// Whatever the bytes of a file.
func FuzzRead(f *testing.F) {
	f.Add([]byte("weftfunc"), uint64(1<<60))
	f.Add([]byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, contents []byte, n uint64) {
		p := program()
		b, err := saved.Encode(p)
		require.NoError(t, err)
		head := append([]byte("weftfunc"), 1, 0, 0, 0)
		head = binary.LittleEndian.AppendUint32(head, saved.Sum(b))
		if n%4 == 0 {
			n = uint64(len(b))
		}
		head = binary.LittleEndian.AppendUint64(head, n)
		all := append(append(head, b...), contents...)
		bounded.Memory(t, len(all), 4096, func() { _, err = read(all) })
		if err == nil {
			require.Equal(t, uint64(len(b)), n)
		}
	})
}
