package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// runScript runs module.wasm as a Go program.
const runScript = `import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import './wasm_exec.mjs'
const go = new globalThis.Go()
const called = new Set()
let first
go.importObject.weft = {
  rest(i) {
    called.add(i)
    if (first.table && existsSync('rest.wasm')) new WebAssembly.Instance(new WebAssembly.Module(readFileSync('rest.wasm')), { first })
  },
}
const { instance } = await WebAssembly.instantiate(readFileSync('module.wasm'), go.importObject)
first = instance.exports
await go.run(instance)
writeFileSync('called.json', JSON.stringify([...called]))
process.exit() // timers of the runtime would find the program gone
`

// workshop is a folder where Node runs modules.
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
	script, err := os.ReadFile(filepath.Join(goroot, "lib/wasm/wasm_exec.js"))
	require.NoError(t, err)
	w.write("wasm_exec.mjs", script)
	w.write("run.mjs", []byte(runScript))
	return w
}

func (w workshop) write(name string, data []byte) {
	require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, name), data, 0o600))
}

// run runs a module and gives what it and Node say.
func (w workshop) run(module []byte) (string, error) {
	w.write("module.wasm", module)
	cmd := exec.Command(w.node, "run.mjs")
	cmd.Dir = w.dir
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// compiled is testdata/program as Go's compiler writes it, once for all tests.
var compiled = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "weft-pack-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "program.wasm")
	if said, err := compile(file, "./testdata/program").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return os.ReadFile(file)
})

// program is a copy of it.
func program(t *testing.T) []byte {
	module, err := compiled()
	require.NoError(t, err)
	return bytes.Clone(module)
}

const says = "1023 166785405000 runtime error: index out of range [0] with length 0\n" +
	"[0: 0 1: 1.5 2: 3 3: 4.5 4: 6] map[a:1 b:2]\n"

func TestSqueezedProgramRuns(t *testing.T) {
	w, module := newWorkshop(t), program(t)
	for _, names := range []bool{false, true} {
		squeezed, err := squeeze(module, names, false)
		require.NoError(t, err)
		require.Less(t, zipped(squeezed), zipped(module))
		require.Equal(t, names, strings.Contains(string(squeezed), "main.recovered"), "names serve people, and can be kept")
		said, err := w.run(squeezed)
		require.NoError(t, err, said)
		require.Equal(t, says, said)
	}
	squeezed, err := squeeze(module, false, false)
	require.NoError(t, err)
	again, err := squeeze(squeezed, false, false)
	require.NoError(t, err)
	require.True(t, string(again) == string(squeezed), "there is nothing left to leave out")
}

// The functions of Go's allocator that always stay in the first part are there under these names: another Go that has others fails here, not in a page.
func TestAllocatorIsThere(t *testing.T) {
	names := functionNames(program(t))
	for _, prefix := range allocator {
		assert.True(t, slices.ContainsFunc(slices.Collect(maps.Values(names)), func(name string) bool { return strings.HasPrefix(name, prefix) }), prefix)
	}
}

// zipped is how many bytes are sent, about: zeros cost nothing there.
func zipped(data []byte) int {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data) // to memory
	_ = w.Close()
	return b.Len()
}

// What decides which functions a first result needs is the same in each build: time stands nearly still for the engine, timers included, unless a program lets
// it pass, and what is random follows from the number of the run.
func TestLearningIsReproducible(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	rest, err := programs.ReadFile("learn/rest.js")
	require.NoError(t, err)
	w.write("rest.mjs", rest)
	w.write("learn.mjs", []byte(`globalThis.navigator ??= {}
const real = setTimeout, channel = new BroadcastChannel('weft learnt')
const { begin } = await import('./rest.mjs')
begin()
const begun = performance.now(), fired = []
setTimeout(() => fired.push(performance.now() - begun >= 1000), 1000)
const told = []
real(() => {
  told.push(fired.length, performance.now() - begun < 500)
  channel.onmessage = () => {
    console.log(JSON.stringify([...told, ...fired, [...crypto.getRandomValues(new Uint8Array(8))]]))
    process.exit()
  }
  channel.postMessage({ pass: 1000 })
}, 100)
`))
	run := func(n string) string {
		cmd := exec.Command(w.node, "learn.mjs")
		cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "WEFT_RUN="+n)
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	one := run("1")
	assert.Contains(t, one, "[0,true,true,[")
	assert.Equal(t, one, run("1"))
	assert.NotEqual(t, one, run("2"))
}

// A compiler whose tables have another form, or whose functions have other names, gets a module that is larger and runs.
func TestOtherCompilers(t *testing.T) {
	w, module := newWorkshop(t), program(t)
	plain, err := squeeze(module, true, false)
	require.NoError(t, err)
	for what, other := range map[string][]byte{
		"another version of the tables": []byte(strings.ReplaceAll(string(module), magic, "\xf2"+magic[1:])),
		"no names":                      plain,
	} {
		squeezed, err := squeeze(other, false, false)
		require.NoError(t, err, what)
		require.Equal(t, what != "no names", strings.Contains(string(squeezed), "main.recovered"), what)
		if what == "no names" { // of functions; tables are emptied still
			said, err := w.run(squeezed)
			require.NoError(t, err, said)
			require.Equal(t, says, said, what)
		}
	}
	section := []byte{1, 1, i32Const, 0, end, 3, 'a', 'b', 'c'} // a passive segment
	head := append([]byte("\x00asm\x01\x00\x00\x00"), dataSection, byte(len(section)))
	squeezed, err := squeeze(append(head, section...), false, false)
	require.NoError(t, err)
	require.Equal(t, append(head, section...), squeezed)
}

func TestCutOff(t *testing.T) {
	module := program(t)
	for _, part := range []int{8, 5, 2} { // within data, code, code
		_, err := squeeze(module[:len(module)*part/9], false, false)
		require.ErrorContains(t, err, "the module ends within something")
	}
	_, err := squeeze([]byte("something else"), false, false)
	require.ErrorContains(t, err, "no WebAssembly module")
}

// Tables of functions that have another form stay as they are.
func TestUnknownTables(t *testing.T) {
	memory := append([]byte(magic), make([]byte, 200)...)
	for i := range 64 { // where the parts begin, in no order
		memory[len(magic)+i] = byte(200 - i)
	}
	before := string(memory)
	forgetLines(memory)
	require.Equal(t, before, string(memory))
}

// Two scripts and a module are all that comes before the first result: what they import is in them, and what they load later is there.
func TestBundles(t *testing.T) {
	root, err := output("go", "list", "-m", "-f", "{{.Dir}}")
	require.NoError(t, err)
	goroot, err := output("go", "env", "GOROOT")
	require.NoError(t, err)
	out := t.TempDir()
	require.NoError(t, bundle(root, goroot, out, `{"weft.wasm": 12345}`, `{"weft.wasm": "0123abcd"}`))
	named := regexp.MustCompile(`(?:import\(|from|import|new URL\()\s*["']([^"']*\.js)["']`)
	for _, name := range slices.Concat(first, later) {
		text, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		for _, m := range named.FindAllSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(out, string(m[1])))
			assert.NoError(t, err, "%s names %s", name, m[0])
			assert.NotRegexp(t, `^(from|import["'\s])`, string(m[0]), "%s waits for another script", name)
		}
	}
	weft, err := os.ReadFile(filepath.Join(out, "weft.js"))
	require.NoError(t, err)
	require.True(t, strings.Contains(string(weft), "12345"))
	require.True(t, regexp.MustCompile(`new URL\("(\./)?worker\.js",\s*import\.meta\.url\)`).Match(weft), "bundlers look for it")
	worker, err := os.ReadFile(filepath.Join(out, "worker.js"))
	require.NoError(t, err)
	require.True(t, strings.Contains(string(worker), "Copyright"), "the notice of Go's authors stays")
	require.ErrorContains(t, script(scriptFolders(root, goroot), "nowhere.js", out, "", ""), "nowhere.js")
}

// The engine is no larger than its budget, and what is in its rest is there when it is called. It is built here, unless WEFT_BUILT names a folder
// that this command has written, as in make test.
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
	if built := os.Getenv("WEFT_BUILT"); built != "" {
		require.NoError(t, os.CopyFS(out, os.DirFS(built)))
	} else {
		require.NoError(t, build(out, false, true))
	}
	require.NoError(t, weigh(out))

	node, err := exec.LookPath("node")
	need.Device(t, "NODE", err)
	require.NoError(t, os.WriteFile(filepath.Join(out, "rare.mjs"), []byte(rare), 0o600))
	cmd := exec.Command(node, "rare.mjs")
	cmd.Dir = out
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	require.Regexp(t, `^7 10 15 22 \| 1 3 \| 0 -2 \| inv: .*singular`, string(said))
}

// rare calls what is in the rest of the engine, in Node, where it is loaded with the first part.
const rare = `import { open } from './weft.js'
const w = await open()
const x = w.tensor([[1, 2], [3, 4]])
const first = [...await x.matmul(x).data()].join(' ')
const [values] = w.tensor([[2, 1], [1, 2]]).eigh()
const spectrum = w.tensor([[1, 0], [2, 0], [3, 0], [4, 0]]).fft()
const why = await w.tensor([[1, 2], [2, 4]]).inv().data().then(String, (e) => e.message)
console.log([first, [...await values.data()].map((v) => Math.round(v)).join(' '), [...await spectrum.data()].slice(4, 6).reverse().map((v) => Math.round(v)).join(' '), why].join(' | '))
w.close()
`
