package bundlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
	"github.com/weft-ml/weft/tests/npm"
	need "github.com/weft-ml/weft/tests/require"
)

// shared is the package, packed, one Chromium, and the tools.
var shared struct {
	sync.Once
	folder, tarball, tools string
	browser                *browser.Browser
	err                    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.browser != nil {
		shared.browser.Close()
	}
	if shared.folder != "" {
		os.RemoveAll(shared.folder)
	}
	os.Exit(code)
}

// project makes a project that has the package and the lines that every project runs.
func project(t *testing.T) string {
	shared.Do(func() {
		if testing.Short() && !need.Required("BUNDLERS") {
			shared.err = errors.New("tests of the package build it and open it in a browser, and go test -short leaves them out")
			return
		}
		if shared.tools, shared.err = npm.Tools("BUNDLERS", toolsManifest, toolsLock); shared.err != nil {
			return
		}
		if shared.folder, shared.err = os.MkdirTemp("", "weft-npm-"); shared.err == nil {
			shared.tarball, shared.err = Pack(need.Root(t), shared.folder)
		}
	})
	need.Device(t, "BUNDLERS", shared.err)
	at := t.TempDir()
	furnish(t, at)
	return at
}

// furnish puts the package and the lines into a folder.
func furnish(t *testing.T, at string) {
	require.NoError(t, os.CopyFS(at, os.DirFS("testdata/app")))
	manifest := `{"private": true, "type": "module", "dependencies": {"@weft-ml/weft": "*"}}`
	require.NoError(t, os.WriteFile(filepath.Join(at, "package.json"), []byte(manifest), 0o666))
	require.NoError(t, Unpack(shared.tarball, at))
}

// node runs a script of a tool's in a project.
func node(t *testing.T, in, tool string, args ...string) string {
	return run(t, in, "node", append([]string{filepath.Join(shared.tools, "node_modules", tool)}, args...)...)
}

// run runs a program and gives what it says.
func run(t *testing.T, in, name string, args ...string) string {
	var out bytes.Buffer
	ran(t, in, &out, &out, name, args...)
	return out.String()
}

// answer runs a program that prints JSON, whatever else it complains about: Deno does of machines without a display.
func answer(t *testing.T, in string, result any, name string, args ...string) {
	var out, noise bytes.Buffer
	ran(t, in, &out, &noise, name, args...)
	require.NoError(t, json.Unmarshal(out.Bytes(), result), "%s%s", out.String(), noise.String())
}

func ran(t *testing.T, in string, out, noise *bytes.Buffer, name string, args ...string) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = in, out, noise
	cmd.Env = append(os.Environ(), "WEFT_TOOLS="+shared.tools, "NODE_ENV=production", "NO_COLOR=1")
	err := cmd.Run()
	require.NoError(t, err, "%s %s\n%s\n%s", name, strings.Join(args, " "), out, noise)
}

// result is what testdata/app/main.js gives.
type result struct {
	Error      string
	List       [][]float64
	Sum        float64
	Neg, Again [][]float64
	Whole      int
	Detail     string
}

func (r result) check(t *testing.T) {
	assert.Empty(t, r.Error)
	assert.Equal(t, [][]float64{{8, 11}, {16, 23}}, r.List)
	assert.Equal(t, 10., r.Sum)
	assert.Equal(t, [][]float64{{-1, -2}, {-3, -4}}, r.Neg)
	assert.Equal(t, [][]float64{{1, 2}, {3, 4}}, r.Again)
	assert.Positive(t, r.Whole)
}

// opens opens a page and checks what it computed.
func opens(t *testing.T, at string) {
	if shared.browser == nil {
		b, err := browser.Start(context.Background())
		need.Device(t, "CHROMIUM", err)
		shared.browser = b
	}
	p, err := shared.browser.Open(at)
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Eventually(`globalThis.result`, time.Minute), "%v", p.Problems())
	var got result
	require.NoError(t, p.Run(`return globalThis.result`, &got))
	got.check(t)
	for _, problem := range p.Problems() {
		if !strings.Contains(problem, "favicon.ico") {
			t.Error(problem)
		}
	}
}

// serve serves a folder as any static host does. Pages of other origins may take what is in it.
func serve(t *testing.T, folder string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		http.FileServer(http.Dir(folder)).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// page writes a page that has a script.
func page(t *testing.T, at, script string) {
	text := fmt.Sprintf("<!doctype html><meta charset=utf-8><title>Weft</title>%s", script)
	require.NoError(t, os.WriteFile(at, []byte(text), 0o666))
}

func TestVite(t *testing.T) {
	at := project(t)
	node(t, at, "vite/bin/vite.js", "build")
	opens(t, serve(t, filepath.Join(at, "dist")))
}

// Its development server puts packages together beforehand.
func TestViteServing(t *testing.T) {
	at := project(t)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cmd := exec.CommandContext(ctx, "node", filepath.Join(shared.tools, "node_modules/vite/bin/vite.js"), "--host", "127.0.0.1", "--port", "0", "--clearScreen", "false")
	cmd.Dir, cmd.Env = at, append(os.Environ(), "NO_COLOR=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { stop(); _ = cmd.Wait() }()
	address := make(chan string, 1)
	go func() {
		defer close(address)
		var said strings.Builder
		for buffer := make([]byte, 4096); ; {
			n, err := out.Read(buffer)
			said.Write(buffer[:n])
			if _, rest, ok := strings.Cut(said.String(), "Local:"); ok && strings.Contains(rest, "\n") {
				address <- strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0])
				break
			}
			if err != nil {
				return
			}
		}
		for buffer := make([]byte, 4096); err == nil; _, err = out.Read(buffer) {
		}
	}()
	select {
	case where := <-address:
		require.NotEmpty(t, where, "vite has ended")
		opens(t, where)
	case <-time.After(time.Minute):
		t.Fatal("vite does not say where it serves")
	}
}

func TestWebpack(t *testing.T) {
	at := project(t)
	run(t, at, "node", "webpack.mjs")
	page(t, filepath.Join(at, "dist/index.html"), `<script src="main.js"></script>`)
	opens(t, serve(t, filepath.Join(at, "dist")))
}

func TestRollup(t *testing.T) {
	at := project(t)
	node(t, at, "rollup/dist/bin/rollup", "-c")
	page(t, filepath.Join(at, "dist/index.html"), `<script type="module" src="page.js"></script>`)
	opens(t, serve(t, filepath.Join(at, "dist")))
}

func TestParcel(t *testing.T) {
	at := project(t)
	out := node(t, at, "parcel/lib/bin.js", "build", "index.html", "--no-cache", "--no-source-maps")
	assert.NotContains(t, out, "Installing", "it takes something for a part of Node")
	opens(t, serve(t, filepath.Join(at, "dist")))
}

// esbuild leaves the worker and the modules behind: they are copied beside what it writes, or into a folder that is named.
func TestEsbuild(t *testing.T) {
	for _, folder := range []string{"", "engine"} {
		at := project(t)
		node(t, at, "esbuild/bin/esbuild", "page.js", "--bundle", "--format=esm", "--outfile=dist/page.js")
		copies := filepath.Join(at, "dist", folder)
		require.NoError(t, os.MkdirAll(copies, 0o777))
		for _, name := range []string{"worker.js", "weft.wasm", "rest.wasm", "whole.wasm", "models.wasm"} {
			require.NoError(t, os.Rename(filepath.Join(at, "node_modules/@weft-ml/weft", name), filepath.Join(copies, name)))
		}
		script := `<script type="module" src="page.js"></script>`
		if folder != "" {
			script = `<script>globalThis.weftOptions = {folder: '` + folder + `'}</script>` + script
		}
		page(t, filepath.Join(at, "dist/index.html"), script)
		opens(t, serve(t, filepath.Join(at, "dist")))
	}
}

// A page without tools takes the package from another origin.
func TestFromAnotherOrigin(t *testing.T) {
	at := project(t)
	from := serve(t, filepath.Join(at, "node_modules/@weft-ml/weft"))
	page(t, filepath.Join(at, "index.html"), `<script type="importmap">{"imports": {"@weft-ml/weft": "`+from+`/weft.js"}}</script><script type="module" src="page.js"></script>`)
	opens(t, serve(t, at))
}

// programResult is what programs outside of browsers give besides.
type programResult struct {
	result
	Part   []float64
	Bytes  []float64
	Loaded [][]float64
	Ones   float64
	Gone   string
	Played []float64

	Element string
}

func (r programResult) check(t *testing.T) {
	r.result.check(t)
	assert.Contains(t, r.Detail, "threads")
	assert.Equal(t, []float64{3, 4}, r.Part)
	assert.Equal(t, []float64{2, 3, 4}, r.Bytes)
	assert.Equal(t, [][]float64{{1, 2}, {3, 4}}, r.Loaded)
	assert.Equal(t, 700., r.Ones)
	assert.Equal(t, []float64{14, 20, 30, 44}, r.Played)
	assert.Contains(t, r.Element, "there is no page here")
}

// Node runs it as it is: with threads, with files, and a program that has nothing to wait for ends.
func TestNode(t *testing.T) {
	at := project(t)
	var got programResult
	answer(t, at, &got, "node", "--unhandled-rejections=strict", "node.cjs")
	got.check(t)
	assert.Regexp(t, `fetch file:.*/none\.bin: 8 bytes are expected.*no such file`, got.Gone)
}

// The package is what npm, its linters and TypeScript expect: nothing missing, nothing too many, nothing that runs when it is installed.
func TestPackage(t *testing.T) {
	at := project(t)
	folder := filepath.Join(at, "node_modules/@weft-ml/weft")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			within, err := os.ReadDir(filepath.Join(folder, e.Name()))
			require.NoError(t, err)
			for _, w := range within {
				names = append(names, e.Name()+"/"+w.Name())
			}
			continue
		}
		names = append(names, e.Name())
	}
	for _, name := range []string{"LICENSE", "LICENSE-GO", "README.md", "package.json", "weft.js", "weft.d.ts", "worker.js", "thread.js", "weft.wasm", "rest.wasm", "whole.wasm", "models.wasm", "export.js", "export.d.ts",
		"player/model.js", "player/model.d.ts", "player/element.js", "player/element.d.ts", "player/processor.js", "player/player.js", "player/worker.js", "player/thread.js"} {
		assert.Contains(t, names, name)
	}
	for _, name := range names {
		assert.Regexp(t, `\.(js|d\.ts|wasm|json|md)$|^LICENSE`, name)
	}
	for _, name := range []string{"worker.js", "thread.js", "player/worker.js", "player/thread.js"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		assert.NotRegexp(t, `(?m)\bfrom\s*"\./|\bimport\s*"\./|import\("\./`, string(text), "%s imports something, which bundlers do not see", name)
	}
	var manifest struct {
		License, Type string
		Scripts       map[string]string
		Dependencies  map[string]string
	}
	text, err := os.ReadFile(filepath.Join(folder, "package.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &manifest))
	assert.Equal(t, "MIT", manifest.License)
	assert.Equal(t, "module", manifest.Type)
	assert.Empty(t, manifest.Scripts)
	assert.Empty(t, manifest.Dependencies)

	lints := map[string][]string{
		"publint":             {"publint/src/cli.js", "--strict", "--pack", "false", folder},                                                                                                                               // it is unpacked
		"are the types wrong": {"@arethetypeswrong/cli/dist/index.js", "--profile", "esm-only", "--no-emoji", shared.tarball, "--exclude-entrypoints", "worker.js", "weft.wasm", "rest.wasm", "whole.wasm", "models.wasm"}, // those are files
	}
	for name, resolution := range map[string]string{"types in a bundler": "--module es2022 --moduleResolution bundler", "types in Node": "--module nodenext"} {
		lints[name] = append(append([]string{"typescript/bin/tsc"}, strings.Fields(resolution)...), "--strict", "--noEmit", "--skipDefaultLibCheck", "--target", "es2022", "--lib", "es2022,dom", "types.ts")
	}
	for name, lint := range lints {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node(t, at, lint[0], lint[1:]...)
		})
	}
}
