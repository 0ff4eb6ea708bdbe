package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// unpackScript unpacks packed.wasm, which arrives in pieces of so many bytes, to unpacked.wasm.
const unpackScript = `import { readFileSync, writeFileSync } from 'node:fs'
import { unpacking } from './unpack.mjs'
const whole = readFileSync('packed.wasm')
const piece = Number(process.argv[2])
const arriving = new ReadableStream({
  start(c) {
    for (let at = 0; at < whole.length; at += piece) c.enqueue(new Uint8Array(whole.subarray(at, at + piece)))
    c.close()
  },
})
const module = new Uint8Array(await new Response(arriving.pipeThrough(unpacking())).arrayBuffer())
writeFileSync('unpacked.wasm', module)
console.log(WebAssembly.validate(module))
`

// runScript runs unpacked.wasm as a Go program.
const runScript = `import { readFileSync } from 'node:fs'
import './wasm_exec.mjs'
const go = new globalThis.Go()
const { instance } = await WebAssembly.instantiate(readFileSync('unpacked.wasm'), go.importObject)
await go.run(instance)
process.exit() // timers of the runtime would find the program gone
`

// workshop is a folder where Node unpacks and runs modules.
type workshop struct {
	t         *testing.T
	node, dir string
}

func newWorkshop(t *testing.T) workshop {
	node, err := exec.LookPath("node")
	need.Device(t, "NODE", err)
	w := workshop{t, node, t.TempDir()}
	goroot, err := output("go", "env", "GOROOT")
	require.NoError(t, err)
	for to, from := range map[string]string{"unpack.mjs": "../js/unpack.js", "wasm_exec.mjs": filepath.Join(goroot, "lib/wasm/wasm_exec.js")} {
		script, err := os.ReadFile(from)
		require.NoError(t, err)
		w.write(to, script)
	}
	w.write("unpack-it.mjs", []byte(unpackScript))
	w.write("run.mjs", []byte(runScript))
	return w
}

func (w workshop) write(name string, data []byte) {
	require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, name), data, 0o600))
}

// run runs a script and gives what it and the program say.
func (w workshop) run(args ...string) (string, error) {
	cmd := exec.Command(w.node, args...)
	cmd.Dir = w.dir
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// unpack gives a module as unpack.js makes it of one that arrives in pieces.
func (w workshop) unpack(packed []byte, piece string) []byte {
	w.write("packed.wasm", packed)
	said, err := w.run("unpack-it.mjs", piece)
	require.NoError(w.t, err, said)
	require.Equal(w.t, "true", strings.TrimSpace(said), "the module validates")
	module, err := os.ReadFile(filepath.Join(w.dir, "unpacked.wasm"))
	require.NoError(w.t, err)
	return module
}

// program is testdata/program as Go's compiler writes it.
func program(t *testing.T) []byte {
	file := filepath.Join(t.TempDir(), "program.wasm")
	said, err := compile(file, "./testdata/program").CombinedOutput()
	require.NoError(t, err, string(said))
	module, err := os.ReadFile(file)
	require.NoError(t, err)
	return module
}

func TestPackedProgramRuns(t *testing.T) {
	w, module := newWorkshop(t), program(t)
	packed, plain, err := squeeze(module, false)
	require.NoError(t, err)
	require.Less(t, len(packed), len(plain)/2)
	require.Equal(t, packed[4:8], []byte(packedVersion))
	for _, piece := range []string{"97", "65536", "100000000"} {
		require.True(t, string(w.unpack(packed, piece)) == string(plain), "in pieces of %s bytes another module comes out", piece)
	}
	said, err := w.run("run.mjs")
	require.NoError(t, err, said)
	require.Equal(t, "1023 166785405000 runtime error: index out of range [0] with length 0\n"+
		"[0: 0 1: 1.5 2: 3 3: 4.5 4: 6] map[a:1 b:2]\n", said)
}

// What serves people can be kept, and a module without packing passes as it is.
func TestNamesAndPlainModules(t *testing.T) {
	w, module := newWorkshop(t), program(t)
	packed, plain, err := squeeze(module, true)
	require.NoError(t, err)
	require.Contains(t, string(plain), "main.recovered")
	require.True(t, string(w.unpack(packed, "65536")) == string(plain))
	require.True(t, string(w.unpack(plain, "1000")) == string(plain))
	require.True(t, string(w.unpack(module, "100000000")) == string(module))
}

func TestCutOff(t *testing.T) {
	w := newWorkshop(t)
	packed, _, err := squeeze(program(t), false)
	require.NoError(t, err)
	for _, part := range []int{8, 5, 2} { // within data, code, code
		w.write("packed.wasm", packed[:len(packed)*part/9])
		said, err := w.run("unpack-it.mjs", "65536")
		require.Error(t, err)
		require.Contains(t, said, "weft.wasm is cut off")
	}
}

// withCode is a module of one function.
func withCode(body ...byte) []byte {
	b := append([]byte{1}, append(appendUint(nil, uint64(len(body))), body...)...)
	m := append([]byte("\x00asm\x01\x00\x00\x00"), 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0)
	return append(append(appendUint(append(m, codeSection), uint64(len(b))), b...), customSection, 3, 1, 'x', 0)
}

// Code of another form than Go writes is not packed, and said to be such.
func TestUnknownCode(t *testing.T) {
	for name, body := range map[string][]byte{
		"an instruction":          {0, 0xfd, 0x0c, end},
		"an alignment":            {0, 0x41, 0, 0x29, 0, 0, 0x1a, end},
		"a long number":           {0, 0x02, 0x40, 0x0c, 0x80, 0x00, end, end},
		"code behind the end":     {0, end, 0x01, end},
		"a block that stays open": {0, 0x02, 0x40, end},
	} {
		_, plain, err := squeeze(withCode(body...), false)
		require.ErrorIs(t, err, errForm, name)
		require.Equal(t, withCode(body...)[:len(plain)], plain, name)
	}
	_, _, err := squeeze(withCode(0, 0x41), false)
	require.Error(t, err)
	require.False(t, errors.Is(err, errForm), "a module that is cut off is no matter of form")
}

// Tables of functions that have another form stay as they are.
func TestUnknownTables(t *testing.T) {
	memory := append([]byte(magic), make([]byte, 200)...)
	for i := range 64 { // where the parts begin, in no order
		memory[len(magic)+i] = byte(200 - i)
	}
	before := string(memory)
	require.Equal(t, region{}, forgetLines(memory))
	require.Equal(t, before, string(memory))

	section := make([]byte, 100)
	require.Equal(t, append([]byte{105, 0, 0, 0, 0, 0}, section...), packData(section, region{records: 8, tables: 4, functions: 3}))
}

// TestBudget builds the engine and says how large it is; more than the budget fails.
func TestBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("building and compressing the engine takes a minute")
	}
	_, err := exec.LookPath("node")
	if _, found := exec.LookPath("brotli"); found == nil {
		err = nil
	}
	need.Device(t, "NODE", err)
	out := t.TempDir()
	require.NoError(t, build(out, false))
	require.NoError(t, report(out))
}
