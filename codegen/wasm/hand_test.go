package wasm

import (
	"context"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/native"
	machine "github.com/weft-ml/weft/runtime/wasm"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// The product of two matrices of side, written by hand for wazero: panels of 128 columns packed in blocks of 8, six
// rows with each element repeated four times, tiles of 6×8 in registers.
const (
	side, panel, rows, cols, unroll = 1024, 128, 6, 8, 4
	packedBytes                     = side * panel * 4
	repeatedBytes                   = side * rows * 16
)

type hand struct{ encoder }

// count runs body for a local from 0 in steps while it is below n.
func (h *hand) count(i uint32, step, n int32, body func()) {
	h.i32(0)
	h.set(i)
	h.open("loop")
	body()
	h.add(i, step)
	h.get(i)
	h.i32(n)
	h.op("i32.lt_s")
	h.with("br_if", 0)
	h.end()
}

func (h *hand) add(l uint32, n int32) {
	h.get(l)
	h.i32(n)
	h.op("i32.add")
	h.set(l)
}

// sum sets l = base + Σ factor·local.
func (h *hand) sum(l, base uint32, terms ...[2]int32) {
	h.get(base)
	for _, t := range terms {
		h.get(uint32(t[0]))
		h.i32(t[1])
		h.op("i32.mul", "i32.add")
	}
	h.set(l)
}

// handProduct is out = a·b; the kernel's parameters are out, a, b, its iterations panels.
func handProduct() []byte {
	h := &hand{}
	var base [3]uint32
	for i := range base {
		base[i] = h.local(i32)
		h.get(paramBuf)
		h.mem("i32.load", uint32(4*i))
		h.set(base[i])
	}
	out, a, b := base[0], base[1], base[2]
	block, k, m, from, to, row, repeated := h.local(i32), h.local(i32), h.local(i32), h.local(i32), h.local(i32), h.local(i32), h.local(i32)
	h.open("loop") // over panels
	h.count(block, 1, panel/cols, func() {
		h.sum(from, b, [2]int32{paramLo, panel * 4}, [2]int32{int32(block), cols * 4})
		h.sum(to, paramScratch, [2]int32{int32(block), side * cols * 4})
		h.count(k, 1, side, func() {
			for j := range uint32(2) {
				h.get(to)
				h.get(from)
				h.mem("v128.load", 16*j)
				h.mem("v128.store", 16*j)
			}
			h.add(from, side*4)
			h.add(to, cols*4)
		})
	})
	h.count(m, rows, side, func() {
		h.get(m) // the last rows overlap those before
		h.i32(side - rows)
		h.get(m)
		h.i32(side - rows)
		h.op("i32.lt_s", "select")
		h.set(row)
		h.sum(from, a, [2]int32{int32(row), side * 4})
		h.get(paramScratch)
		h.i32(packedBytes)
		h.op("i32.add")
		h.tee(repeated)
		h.set(to)
		h.count(k, 1, side, func() {
			for i := range uint32(rows) {
				h.get(to)
				h.get(from)
				h.mem("v128.load32_zero", i*side*4)
				h.v128([4]uint32{0x03020100, 0x03020100, 0x03020100, 0x03020100})
				h.op("i8x16.swizzle")
				h.mem("v128.store", 16*i)
			}
			h.add(from, 4)
			h.add(to, rows*16)
		})
		h.count(block, 1, panel/cols, func() { h.tile(out, block, k, from, to, row, repeated) })
	})
	h.add(paramLo, 1)
	h.get(paramLo)
	h.get(paramHi)
	h.op("i32.lt_s")
	h.with("br_if", 0)
	h.end()
	return h.body()
}

func (h *hand) tile(out, block, k, from, to, row, repeated uint32) {
	var acc [rows][2]uint32
	for i := range acc {
		for j := range acc[i] {
			acc[i][j] = h.local(v128)
			h.v128([4]uint32{})
			h.set(acc[i][j])
		}
	}
	h.get(repeated)
	h.set(from)
	h.sum(to, paramScratch, [2]int32{int32(block), side * cols * 4})
	x, y := h.local(v128), [2]uint32{h.local(v128), h.local(v128)}
	h.count(k, unroll, side, func() {
		h.get(from) // the furthest first: the others need no check
		h.mem("i32.load8_u", unroll*rows*16-1)
		h.op("drop")
		h.get(to)
		h.mem("i32.load8_u", unroll*cols*4-1)
		h.op("drop")
		for u := range uint32(unroll) {
			for j, l := range y {
				h.get(to)
				h.mem("v128.load", u*cols*4+16*uint32(j))
				h.set(l)
			}
			for i := range acc {
				h.get(from)
				h.mem("v128.load", (u*rows+uint32(i))*16)
				h.set(x)
				for j, l := range acc[i] {
					h.get(l)
					h.get(x)
					h.get(y[j])
					h.op("f32x4.mul", "f32x4.add")
					h.set(l)
				}
			}
		}
		h.add(from, unroll*rows*16)
		h.add(to, unroll*cols*4)
	})
	h.sum(to, out, [2]int32{int32(row), side * 4}, [2]int32{paramLo, panel * 4}, [2]int32{int32(block), cols * 4})
	for i := range acc {
		for j, l := range acc[i] {
			h.get(to)
			h.get(l)
			h.mem("v128.store", uint32(i*side*4+16*j))
		}
	}
}

// generated is the same product from its Spec.
func generated(t testing.TB) plan.Kernel {
	m := Machine{Wazero: true}
	home := uop.NewArena()
	s := &codegen.Spec{Home: home}
	for i := range 3 {
		s.Params = append(s.Params, codegen.Param{DType: dtype.F32, Dims: []int{side, side}, Write: i == 0})
	}
	var r [3]*uop.UOp
	for i := range r {
		r[i] = home.Range(i, side, "")
	}
	load := func(p int, x, y *uop.UOp) *uop.UOp {
		return home.Load(home.Param(p, side*side, dtype.F32), home.True(), x, y)
	}
	v := home.ReduceRanges(uop.Sum, []*uop.UOp{load(1, r[0], r[2]).Mul(load(2, r[2], r[1]))}, r[2:])
	s.Outs = []codegen.Out{{Axes: r[:2], Index: r[:2], Value: v}}
	p, err := lower.Lower(s, model.Choose(s, Target(m)), Target(m))
	require.NoError(t, err)
	k, err := Renderer(m)(p)
	require.NoError(t, err)
	return k
}

func byHand(k plan.Kernel) plan.Kernel {
	k.Name, k.Entry, k.Code = "hand", "hand", handProduct()
	k.Threads, k.Scratch, k.Directives = side/panel, packedBytes+repeatedBytes, "by hand"
	return k
}

// playProduct plays a kernel and gives its time and result.
func playProduct(t testing.TB, k plan.Kernel, times int) (time.Duration, []float32) {
	dev, err := machine.Open(machine.Options{CacheDir: t.TempDir(), Threads: 1})
	require.NoError(t, err)
	defer dev.Close()
	const bytes = side * side * 4
	p := &plan.Plan{Version: plan.Version, Target: "wasm", Kernels: []plan.Kernel{k}, Steps: []plan.Step{{Slots: []int{0, 1, 2}}}}
	var args []runtime.Mem
	for i := range 3 {
		p.Memory = append(p.Memory, plan.Memory{Kind: plan.State, Arg: i, Bytes: bytes})
		p.Slots = append(p.Slots, plan.Slot{Memory: i, Bytes: bytes, DType: dtype.F32, Dims: []int{side, side}})
		m, err := dev.Alloc(bytes)
		require.NoError(t, err)
		var data []byte
		for j := range side * side {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32((j*(i+3))%17)-8))
		}
		require.NoError(t, dev.Write(m, 0, data))
		args = append(args, m)
	}
	l, err := dev.Load(context.Background(), p)
	require.NoError(t, err)
	best := time.Hour
	for range times {
		start := time.Now()
		require.NoError(t, dev.Play(l, args, nil))
		best = min(best, time.Since(start))
	}
	raw := make([]byte, bytes)
	require.NoError(t, dev.Read(context.Background(), raw, args[0], 0))
	out := make([]float32, side*side)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return best, out
}

func TestProductByHand(t *testing.T) {
	k := generated(t)
	_, want := playProduct(t, k, 1)
	_, got := playProduct(t, byHand(k), 1)
	require.Equal(t, want, got, "sums of small integers are exact") // the same tile, the same order
}

// BenchmarkProduct compares the generated product of 1024² with the one by hand and with the peak of one core:
//
//	go test ./codegen/wasm -run XXX -bench Product -benchtime 20x
func BenchmarkProduct(b *testing.B) {
	cpu, err := native.Open(native.Options{CacheDir: b.TempDir(), Threads: 1})
	need.Device(b, "CPU", err)
	defer cpu.Close()
	peak, _, _, err := native.Limits(cpu)
	require.NoError(b, err)
	k := generated(b)
	rate := func(k plan.Kernel) float64 {
		d, _ := playProduct(b, k, b.N)
		return 2 * side * side * side / d.Seconds() / 1e9
	}
	ours, theirs := rate(k), rate(byHand(k))
	b.ReportMetric(ours, "GFLOP/s")
	b.ReportMetric(theirs, "by-hand-GFLOP/s")
	b.ReportMetric(ours/theirs, "of_hand")
	b.ReportMetric(peak, "peak-GFLOP/s")
	b.ReportMetric(ours/peak, "of_peak")
}
