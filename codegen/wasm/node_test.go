package wasm_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/plan/wasmmod"
	need "github.com/weft-ml/weft/tests/require"
)

// The script reads a module, the memory at the start and the addresses of the calls' arguments from files, and
// writes the memory at the end.
const script = `
const fs = require('fs');
const job = JSON.parse(fs.readFileSync('job.json'));
const memory = new WebAssembly.Memory({initial: job.pages, maximum: job.pages, shared: job.shared});
const bytes = new Uint8Array(memory.buffer);
bytes.set(fs.readFileSync('memory.bin'));
const code = new WebAssembly.Module(fs.readFileSync('module.wasm'));
const kernels = new WebAssembly.Instance(code, {weft: {memory}}).exports;
for (const c of job.calls) kernels[c.entry](c.table, 0, job.scratch, 0, 1);
fs.writeFileSync('memory.bin', bytes);
`

type nodeJob struct {
	Pages   int        `json:"pages"`
	Shared  bool       `json:"shared"`
	Scratch int        `json:"scratch"`
	Calls   []nodeCall `json:"calls"`
}

type nodeCall struct {
	Entry string `json:"entry"`
	Table int    `json:"table"`
}

// TestNode runs all ops in V8 as well: another engine, with shared memory and with relaxed multiply-adds, which round once where the processor's do.
func TestNode(t *testing.T) {
	node, err := exec.LookPath("node")
	need.Device(t, "NODE", err)
	list := trials()
	// As the player asks the engine.
	once := exec.Command(node, "--experimental-wasm-relaxed-simd", "--input-type=module", "-e",
		"import { fused } from '../../runtime/wasm/page/processor.js'; process.exit(fused() ? 0 : 1)").Run() == nil
	for _, m := range []wasm.Machine{{}, {Relaxed: true}, {Relaxed: true, Fused: once}} {
		for _, directives := range opDirectives {
			runNode(t, node, m, directives, list)
		}
	}
}

func runNode(t *testing.T, node string, m wasm.Machine, directives string, list []trial) {
	job := nodeJob{Shared: m.Relaxed}
	var memory []byte
	place := func(b []byte) int {
		memory = append(memory, make([]byte, -len(memory)&63)...)
		memory = append(memory, b...)
		return len(memory) - len(b)
	}
	place(make([]byte, 64))
	var kernels []plan.Kernel
	var outs []int
	for _, x := range list {
		k := render(t, m, directives, x.probe)
		kernels = append(kernels, k)
		out := place(make([]byte, k.Binds[0].Bytes))
		outs = append(outs, out)
		table := binary.LittleEndian.AppendUint32(nil, uint32(out))
		for _, d := range x.data {
			table = binary.LittleEndian.AppendUint32(table, uint32(place(d)))
		}
		job.Calls = append(job.Calls, nodeCall{k.Entry, place(table)})
	}
	job.Scratch = place(make([]byte, 1<<16))
	job.Pages = len(memory)/wasmmod.PageBytes + 1
	limits := wasmmod.Memory{Min: 1}
	if job.Shared {
		limits = wasmmod.Memory{Min: uint32(job.Pages), Max: uint32(job.Pages), Shared: true}
	}

	dir := t.TempDir()
	text, err := json.Marshal(job)
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"job.json": text, "memory.bin": memory, "module.wasm": wasmmod.Join(kernels, limits), "run.cjs": []byte(script),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	args := []string{"run.cjs"}
	if m.Relaxed {
		args = []string{"--experimental-wasm-relaxed-simd", "run.cjs"}
	}
	cmd := exec.Command(node, args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	require.NoError(t, cmd.Run(), said.String())
	memory, err = os.ReadFile(filepath.Join(dir, "memory.bin"))
	require.NoError(t, err)
	for i := range list {
		list[i].check(t, directives, memory[outs[i]:outs[i]+int(kernels[i].Binds[0].Bytes)])
	}
}
