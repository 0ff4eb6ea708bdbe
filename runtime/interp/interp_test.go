package interp

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

// rows: out[i] = Σ over lanes of x[i,·]², in threads.
const rows = `bytecode 1
param f32 4096 r
param f32 4 w
scratch f32 1024 0
scalars 2 0 3 0
lanes 3 0 0 0
const 0 s0 0x0
const 2 s2 0x400
thread s0 #4
  mov.f32 s1 s0
  mul.idx s1 s0 s2
  strip s1 #1024
    loadv.f32 v0 s1 #0 *1
    mul.f32 v0 v0 v0
    storev.f32 _ s1 _ v0 #2 *1
    mov.f32 v1 v0
    tree
      even.f32 v2 v1
      odd.f32 v1 v1 s0
      halve
      add.f32 v1 v2 v1
    end
    first.f32 s1 v1
  end
  store.f32 _ s0 _ s1 #1
end
`

func examplePlan(source string) *plan.Plan {
	return &plan.Plan{
		Version: plan.Version, Target: Name,
		Kernels: []plan.Kernel{{Name: "r_4_1024", Source: source, Threads: 4, Binds: []plan.Bind{{Bytes: 16384}, {Bytes: 16, Write: true}}}},
		Memory:  []plan.Memory{{Kind: plan.Input, Bytes: 16384}, {Kind: plan.Output, Arg: 1, Bytes: 16}, {Kind: plan.Arena, Bytes: 256}},
		Slots:   []plan.Slot{{Memory: 0, Bytes: 16384}, {Memory: 2, Offset: 64, Bytes: 16}, {Memory: 1, Bytes: 16}},
		Steps:   []plan.Step{{Kind: plan.Launch, Slots: []int{0, 1}}, {Kind: plan.Copy, Slots: []int{2, 1}}},
		Peak:    256,
	}
}

func open(t *testing.T, o Options) *Device {
	d, err := Open(o)
	require.NoError(t, err)
	return d.(*Device)
}

func alloc(t *testing.T, d *Device, n int64) runtime.Mem {
	m, err := d.Alloc(n)
	require.NoError(t, err)
	return m
}

func TestPlay(t *testing.T) {
	ctx := context.Background()
	for _, threads := range []int{1, 2, 5} {
		var names []string
		d := open(t, Options{Threads: threads, Poison: true, Trace: func(name string, _ time.Duration, _ *plan.Kernel) { names = append(names, name) }})
		l, err := d.Load(ctx, examplePlan(rows))
		require.NoError(t, err)
		in, out := alloc(t, d, 16384), alloc(t, d, 16)
		var data []byte
		for range 4096 {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(0.5))
		}
		require.NoError(t, d.Write(in, 0, data))
		require.NoError(t, d.Play(l, []runtime.Mem{in, out}, nil))
		got := make([]byte, 16)
		require.NoError(t, d.Read(ctx, got, out, 0))
		for i := range 4 { // s1 is the index of the strip and then the sum of the last one, 512 · 0.25
			require.Equal(t, float32(128), math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])))
		}
		require.Equal(t, []string{"r_4_1024", "copy"}, names)
		require.Equal(t, Stats{Live: 16400, Peak: 16656, Launches: 1}, d.Stats())
	}
}

func TestMemory(t *testing.T) {
	ctx := context.Background()
	d := open(t, Options{MemoryLimit: 20000, Poison: true})
	a := alloc(t, d, 16384)
	var full *runtime.OutOfMemory
	_, err := d.Alloc(4000)
	require.ErrorAs(t, err, &full)
	require.Equal(t, &runtime.OutOfMemory{Device: Name, Asked: 4000, Live: 16384, Max: 20000}, full)
	b := alloc(t, d, 3500)
	l, err := d.Load(ctx, examplePlan(rows))
	require.NoError(t, err)
	require.ErrorAs(t, d.Play(l, []runtime.Mem{a, b}, nil), &full) // the arena
	got := make([]byte, 2)
	require.NoError(t, d.Read(ctx, got, b, 3498))
	require.Equal(t, []byte{guard.Poison, guard.Poison}, got)
	b.Free()
	require.ErrorContains(t, d.Play(l, []runtime.Mem{a, b}, nil), "freed before")
	require.ErrorContains(t, d.Write(a, 16380, make([]byte, 5)), "write 5 bytes at 16380 of a buffer of 16384")
	_, err = d.Alloc(-1)
	require.ErrorContains(t, err, "cannot allocate -1 bytes")
	_, err = open(t, Options{}).Alloc(1 << 60)
	require.ErrorAs(t, err, &full)
	require.NoError(t, d.Close())
	_, err = d.Alloc(1)
	require.ErrorAs(t, err, new(*runtime.Closed))
}

func TestBadKernels(t *testing.T) {
	ctx := context.Background()
	d := open(t, Options{Threads: 1})
	for change, want := range map[string]string{
		"bytecode 1>bytecode 2":                        "compile it again",
		"lanes 3>lanes 2":                              "register v2 cannot be operand",
		"mul.f32 v0 v0 v0>mul.f33 v0 v0 v0":            `no type "f33"`,
		"mul.f32 v0 v0 v0>mull.f32 v0 v0 v0":           `no instruction "mull.f32"`,
		"mul.f32 v0 v0 v0>mul.f32 s0 v0 v0":            "a scalar result of vectors",
		"mul.f32 v0 v0 v0>idiv.f32 v0 v0 v0":           "not defined for this type",
		"halve>strip s0 #3":                            "a strip in a strip",
		"_ s0 _ s1 #1>_ s0 _ s1 #0":                    "read only",
		"_ s0 _ s1 #1>_ s0 _ s1 #7":                    "no such buffer",
		"_ s0 _ s1 #1\nend>_ s0 _ s1 #1":               "not ended",
		"param f32 4 w>param f32 5 w":                  "its code uses 20 bytes",
		"param f32 4 w>param f64 2 w":                  "the buffer holds",
		"const 0 s0 0x0>const 9 s0 0x0":                "of class 9",
		"scratch f32 1024 0>scratch f32 99999999999 0": "bytes of scratch",
		"thread s0 #4>thread s0 #-4":                   "a negative count",
	} {
		from, to, _ := strings.Cut(change, ">")
		require.Contains(t, rows, from)
		_, err := d.Load(ctx, examplePlan(strings.Replace(rows, from, to, 1)))
		require.ErrorContains(t, err, want, change)
		require.ErrorContains(t, err, "load kernel r_4_1024", change)
	}
	// Wrong only when it runs.
	in, out := alloc(t, d, 16384), alloc(t, d, 16)
	for change, want := range map[string]string{
		"strip s1 #1024>strip s1 #1025":       "element 1024 of buffer 2, which has 1024",
		"_ s0 _ s1 #1>_ s2 _ s1 #1":           "element 1024 of buffer 1, which has 4",
		"v0 s1 #0 *1>v0 s1 #0 *9223372036854": "of buffer 0",
		"      halve\n>":                      "does not halve",
	} {
		from, to, _ := strings.Cut(change, ">")
		require.Contains(t, rows, from)
		l, err := d.Load(ctx, examplePlan(strings.Replace(rows, from, to, 1)))
		require.NoError(t, err, change)
		err = d.Play(l, []runtime.Mem{in, out}, nil)
		require.ErrorContains(t, err, want, change)
		require.ErrorContains(t, err, "kernel r_4_1024", change)
	}
}

// Whatever passes the check runs to an end or to an error, never to a crash.
func TestDamagedCode(t *testing.T) {
	d := open(t, Options{Threads: 1})
	in, out := alloc(t, d, 16384), alloc(t, d, 16)
	r := rand.New(rand.NewSource(1))
	lines := strings.Split(rows, "\n")
	words := strings.Fields("v0 v1 v2 s0 s1 s2 _ *3 *-1 #0 #1 #2 loadv.f32 gather.f32 mul.idx max.f32 cast.f32.i8 iota.idx any.b1 where.f32 storev.f32 scatter.f32 muladd.f32 end strip halve")
	ran := 0
	for range 4000 {
		l := append([]string{}, lines...)
		for range 1 + r.Intn(3) {
			i := 8 + r.Intn(len(l)-9)
			f := strings.Fields(l[i])
			if len(f) == 0 {
				continue
			}
			f[r.Intn(len(f))] = words[r.Intn(len(words))]
			l[i] = strings.Join(f, " ")
		}
		loaded, err := d.Load(context.Background(), examplePlan(strings.Join(l, "\n")))
		if err != nil {
			continue
		}
		ran++
		if err := d.Play(loaded, []runtime.Mem{in, out}, nil); err != nil {
			require.NotContains(t, err.Error(), "BUG", strings.Join(l, "\n"))
		}
	}
	require.Greater(t, ran, 100)
}
