package page_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/plan/wasmmod"
	"github.com/weft-ml/weft/runtime"
	native "github.com/weft-ml/weft/runtime/wasm"
	"github.com/weft-ml/weft/runtime/wasm/page"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

const side = 96

// product is the kernel of out = a·b.
func product(t *testing.T) plan.Kernel {
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
	m := wasm.Machine{}
	p, err := lower.Lower(s, model.Choose(s, wasm.Target(m)), wasm.Target(m))
	require.NoError(t, err)
	k, err := wasm.Renderer(m)(p)
	require.NoError(t, err)
	k.Flops = 1 << 30 // worth several threads
	return k
}

// chain is out = (a·b)·b by way of two slots of the arena and a copy between them.
func chain(k plan.Kernel) *plan.Plan {
	const n = side * side * 4
	slot := func(memory int, at int64) plan.Slot {
		return plan.Slot{Memory: memory, Offset: at, Bytes: n, DType: dtype.F32, Dims: []int{side, side}}
	}
	return &plan.Plan{
		Version: plan.Version, Target: "wasm", Kernels: []plan.Kernel{k}, Peak: 2 * n, Vars: []plan.Var{{Name: "n", Lo: 1, Hi: 9}},
		Memory: []plan.Memory{{Kind: plan.Arena, Bytes: 2 * n}, {Kind: plan.Input, Bytes: n}, {Kind: plan.Input, Arg: 1, Bytes: n}, {Kind: plan.Output, Arg: 2, Bytes: n}},
		Slots:  []plan.Slot{slot(0, 0), slot(0, n), slot(1, 0), slot(2, 0), slot(3, 0)},
		Steps: []plan.Step{
			{Kind: plan.Launch, Slots: []int{0, 2, 3}}, {Kind: plan.Copy, Slots: []int{1, 0}}, {Kind: plan.Launch, Slots: []int{4, 1, 3}},
		},
	}
}

// single is a plan of one kernel, written by hand, with one output.
func single(name string, threads int32, n int64, code ...byte) *plan.Plan {
	return &plan.Plan{
		Version: plan.Version, Target: "wasm",
		Kernels: []plan.Kernel{{Name: name, Entry: name, Code: code, Threads: threads, Scratch: 64, Flops: 1 << 30, Binds: []plan.Bind{{Write: true, Bytes: n}}}},
		Memory:  []plan.Memory{{Kind: plan.Output, Bytes: n}},
		Slots:   []plan.Slot{{Bytes: n, DType: dtype.I32, Dims: []int{int(n / 4)}}},
		Steps:   []plan.Step{{Slots: []int{0}}},
	}
}

// tell writes where its scratch is to the element of its first iteration, after a while.
var tell = []byte{
	1, 1, 0x7f, // a local i32
	0x03, 0x40, 0x20, 5, 0x41, 1, 0x6a, 0x22, 5, 0x41, 0xa0, 0x8d, 0x06, 0x48, 0x0d, 0, 0x0b, // loop 100,000 times
	0x20, 0, 0x28, 2, 0, 0x20, 3, 0x41, 2, 0x74, 0x6a, 0x20, 2, 0x36, 2, 0, 0x0b, // buf[0][lo] = scratch
}

func matrix(step int) []byte {
	var b []byte
	for i := range side * side {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i*step%7)-3))
	}
	return b
}

// TestPlayer has the player play plans under Node, alone and with threads, and compares with the native device.
func TestPlayer(t *testing.T) {
	node, err := exec.LookPath("node")
	need.Device(t, "NODE", err)
	k := product(t)
	p := chain(k)
	require.NoError(t, p.Check("WASM", "wasm"))
	dir := t.TempDir()
	files := map[string][]byte{
		"package.json": []byte(`{"type": "module"}`), "chain.plan": page.Pack(p, p.Kernels), "again.plan": page.Pack(p, nil),
		"a": matrix(3), "b": matrix(5), "want": playNatively(t, p, matrix(3), matrix(5)),
	}
	several := single("tell", 64, 256, tell...)
	several.Kernels[0].Flops = 1 << 20 // none of them is worth waking a thread
	several.Steps = slices.Repeat(several.Steps, 16)
	for name, q := range map[string]*plan.Plan{"trap": single("trap", 64, 256, 0, 0x00, 0x0b), "tell": single("tell", 64, 256, tell...), "several": several} {
		files[name+".plan"] = page.Pack(q, q.Kernels)
	}
	for _, name := range []string{"processor.js", "threads.js", "spares.js", "lent.js", "guest.js", "kernels.js", "testdata/player.js", "testdata/node-thread.js", "testdata/node-guest.js"} {
		files[filepath.Base(name)], err = os.ReadFile(name)
		require.NoError(t, err)
	}
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	cmd := exec.Command(node, "player.js")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "all is well")
}

func playNatively(t *testing.T, p *plan.Plan, a, b []byte) []byte {
	dev, err := native.Open(native.Options{CacheDir: t.TempDir(), Threads: 1})
	require.NoError(t, err)
	defer dev.Close()
	var args []runtime.Mem
	for _, data := range [][]byte{a, b, make([]byte, len(a))} {
		m, err := dev.Alloc(int64(len(data)))
		require.NoError(t, err)
		require.NoError(t, dev.Write(m, 0, data))
		args = append(args, m)
	}
	l, err := dev.Load(context.Background(), p)
	require.NoError(t, err)
	require.NoError(t, dev.Play(l, args, []int32{3}))
	out := make([]byte, len(a))
	require.NoError(t, dev.Read(context.Background(), out, args[2], 0))
	return out
}

func TestPack(t *testing.T) {
	p := chain(product(t))
	assert.Equal(t, page.Pack(p, nil), page.Pack(p, nil))
	whole := page.Pack(p, p.Kernels)
	assert.True(t, bytes.Contains(whole, p.Kernels[0].Code))
	assert.False(t, bytes.Contains(page.Pack(p, nil), p.Kernels[0].Code))
}

func TestModulesSayOfWhichKindTheirMemoryIs(t *testing.T) {
	k := []plan.Kernel{product(t)}
	for _, shared := range []bool{false, true} {
		m := wasmmod.Join(k, wasmmod.Memory{Min: 1, Max: wasmmod.MaxPages, Shared: shared})
		assert.Equal(t, map[bool]byte{false: 1, true: 3}[shared], m[wasmmod.FlagsAt])
	}
}
