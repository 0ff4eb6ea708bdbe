// Package tests holds what is tested across packages; it may import anything.
package tests

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

const module = "github.com/weft-ml/weft"

// mayImport says which packages of the module each package may import, directly. Imports point
// down only, and the compiling half (schedule, codegen) and the running half (runtime) meet in
// plan. A new package needs a line here, and a reason. Test files may import anything.
var mayImport = map[string]string{
	"dtype":          "",
	"uop":            "dtype",
	"rewrite":        "uop dtype",
	"lawtest":        "rewrite ref uop dtype",
	"symbolic":       "rewrite uop dtype",
	"grad":           "rewrite vmap uop dtype",
	"vmap":           "uop",
	"sizes":          "uop dtype",
	"ref":            "uop dtype",
	"shard":          "uop dtype",
	"plan":           "dtype",
	"plan/bytecode":  "plan dtype",
	"plan/wasmmod":   "plan",
	"plan/packed":    "plan",
	"codegen":        "uop dtype plan",
	"codegen/affine": "codegen symbolic uop",
	"codegen/legal":  "codegen codegen/affine uop dtype",
	"codegen/nest":   "codegen codegen/affine symbolic uop dtype",
	"codegen/lower":  "codegen codegen/affine codegen/legal codegen/nest symbolic uop dtype plan",
	"codegen/model":  "codegen codegen/affine codegen/nest codegen/lower uop dtype plan",
	"codegen/c":      "codegen codegen/affine codegen/legal symbolic uop dtype plan",
	"codegen/wasm":   "codegen codegen/affine codegen/legal symbolic uop dtype plan",
	"codegen/interp": "codegen codegen/legal uop dtype plan plan/bytecode",
	"codegen/wgsl":   "codegen codegen/legal symbolic uop dtype plan",
	"saved":          "uop dtype",
	"schedule":       "codegen codegen/nest codegen/lower vmap symbolic rewrite uop dtype plan",

	"codegen/tune": "codegen codegen/lower codegen/model",

	// How a graph became kernels, told from what the schedule noted.
	"explain":      "schedule codegen rewrite uop",
	"explain/laws": "schedule symbolic",

	"site": "",
	"viz":  "site explain engine uop",

	"codegen/evaluate":  "codegen uop dtype",
	"schedule/evaluate": "schedule codegen/evaluate ref uop dtype",

	"runtime":           "plan dtype",
	"runtime/guard":     "runtime plan",
	"runtime/spare":     "",
	"runtime/codecache": "atomicfile",
	"runtime/native":    "runtime runtime/guard runtime/spare runtime/codecache atomicfile plan dtype",
	"runtime/interp":    "runtime runtime/guard runtime/spare plan plan/bytecode dtype",
	"runtime/null":      "runtime runtime/guard plan dtype",
	"runtime/wasm":      "runtime runtime/guard runtime/spare runtime/codecache atomicfile plan plan/wasmmod dtype",
	"runtime/wasm/page": "runtime runtime/guard plan plan/packed plan/wasmmod",

	"runtime/webgpu":      "runtime runtime/guard plan dtype",
	"runtime/webgpu/wgpu": "runtime/webgpu plan",
	"runtime/webgpu/page": "runtime/webgpu runtime runtime/guard plan plan/packed",

	"runtime/webgpu/cogentcore": "runtime/webgpu plan",

	"engine": "sizes saved engine/choose engine/search shard schedule codegen codegen/legal codegen/lower codegen/model symbolic rewrite uop dtype plan runtime",

	"engine/choose": "",
	"engine/search": "codegen codegen/lower codegen/tune uop dtype plan runtime",

	"backends": "atomicfile engine engine/choose engine/search runtime/codecache codegen codegen/c codegen/interp codegen/wasm runtime runtime/native runtime/interp runtime/null runtime/wasm ref uop dtype plan",

	"backends/webgpu": "engine codegen codegen/wgsl runtime runtime/webgpu runtime/webgpu/wgpu runtime/webgpu/cogentcore plan",

	"backends/page": "engine codegen codegen/wasm codegen/wgsl runtime/wasm/page runtime/webgpu/page plan",

	"backends/look": "engine codegen codegen/c codegen/wasm codegen/wgsl runtime/null plan",

	"wasm":        "export saved llm llm/chat llm/grammar onnx tokenizer backends/page backends/look explain engine engine/choose engine/search tensor nn nn/recurrent data uop plan dtype runtime wasm/wire",
	"wasm/wire":   "",
	"wasm/face":   "",
	"wasm/npm":    "",
	"wasm/pack":   "",
	"wasm/policy": "",
	"wasm/serve":  "wasm/policy",

	"nn":     "nn/recurrent tensor dtype safetensors weights",
	"tensor": "saved engine grad vmap schedule uop dtype plan runtime",

	"nn/recurrent": "tensor",

	"data":          "",
	"data/folder":   "data",
	"safetensors":   "atomicfile weights",
	"onnx/networks": "",
	"onnx":          "sizes packed tensor engine ref vmap uop dtype",
	"atomicfile":    "",

	"llm/chat":        "",
	"llm/grammar":     "",
	"llm/serve":       "llm llm/chat llm/grammar tokenizer",
	"llm":             "llm/chat llm/grammar packed safetensors nn tensor dtype tokenizer weights weights/formats weights/gguf weights/llama2c",
	"packed":          "tensor dtype",
	"tokenizer":       "weights/gguf",
	"weights":         "",
	"weights/gguf":    "weights dtype atomicfile",
	"weights/convert": "weights weights/gguf safetensors dtype",
	"weights/llama2c": "weights",
	"weights/zipfile": "",
	"weights/pytorch": "weights weights/zipfile",
	"weights/numpy":   "weights weights/zipfile",
	"weights/formats": "weights weights/gguf weights/llama2c weights/pytorch weights/numpy weights/zipfile safetensors",
	"export":          "atomicfile tensor engine saved codegen/legal codegen/wasm codegen/wgsl runtime/null runtime/wasm/page runtime/webgpu runtime/webgpu/page plan uop dtype",
	"cmd/weft":        "viz export saved llm llm/chat llm/grammar llm/serve tokenizer onnx onnx/networks weights weights/convert weights/formats weights/gguf weights/numpy atomicfile engine/search backends backends/webgpu nn tensor engine engine/choose schedule runtime runtime/native plan uop dtype data safetensors",
}

// homes lists where imports that are not plain Go may appear; a home covers the folders in it.
// The packages of the core, everything else, import the standard library only.
var homes = map[string]string{
	"unsafe":     "runtime wasm",
	"C":          "runtime",
	"syscall":    "runtime cmd tests/browser atomicfile",
	"syscall/js": "runtime/webgpu wasm examples/worker",

	"github.com/ebitengine/purego":      "runtime/native",
	"github.com/tetratelabs/wazero":     "runtime/wasm",
	"github.com/oliverbestmann/webgpu":  "runtime/webgpu/wgpu",
	"github.com/cogentcore/webgpu":      "runtime/webgpu/cogentcore",
	"github.com/evanw/esbuild":          "wasm/pack",
	"golang.org/x/image":                "data",
	"golang.org/x/sys":                  "runtime cmd",
	"golang.org/x/text":                 "tokenizer",
	"golang.org/x/term":                 "cmd",
	"github.com/spf13/cobra":            "cmd",
	"github.com/syumai/workers":         "examples/worker",
	"github.com/schollz/progressbar/v3": "cmd",
	"github.com/stretchr/testify":       "tests lawtest",
	"testing":                           "tests lawtest",
	module + "/backends":                "cmd wasm examples tests",
	module + "/backends/webgpu":         "cmd examples tests",
	module + "/backends/page":           "wasm",
	module + "/backends/look":           "wasm",
	module + "/tests/require":           "tests",
}

// platform lists where build tags may appear: shared packages are the same on every platform.
const platform = "runtime backends cmd wasm tests atomicfile examples/worker"

// edges lists where the environment may be read: once, into a struct. Library code never reads it,
// so caches cannot miss a setting.
const edges = "backends cmd viz wasm tests examples"

// source is a parsed Go file: its folder relative to the module, and whether it is a test.
type source struct {
	dir, name string
	test      bool
	ast       *ast.File
}

// sources parses every Go file of the module whatever its build tags: go list sees one platform.
func sources(t *testing.T) []source {
	root := need.Root(t)
	var out []source
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skip := d.Name(); file != root && (skip == "testdata" || skip[0] == '.' || skip[0] == '_') {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		out = append(out, source{path.Dir(rel), rel, strings.HasSuffix(rel, "_test.go"), parsed})
		return err
	}))
	require.NotEmpty(t, out)
	return out
}

// within says whether dir is one of the homes or lies in one.
func within(dir, homes string) bool {
	return slices.ContainsFunc(strings.Fields(homes), func(h string) bool {
		return dir == h || strings.HasPrefix(dir, h+"/")
	})
}

func (s source) imports(t *testing.T) []string {
	var out []string
	for _, spec := range s.ast.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		out = append(out, name)
	}
	return out
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || within(s.dir, "tests examples") {
			continue
		}
		allowed, known := mayImport[s.dir]
		if !assert.True(t, known, "%s: package %s is not in the table of imports (tests/imports_test.go)", s.name, s.dir) {
			continue
		}
		for _, name := range s.imports(t) {
			if inner, ok := strings.CutPrefix(name, module+"/"); ok {
				assert.Contains(t, strings.Fields(allowed), inner, "%s: %s may not import %s", s.name, s.dir, inner)
			}
		}
	}
}

func TestHomes(t *testing.T) {
	for _, s := range sources(t) {
		for _, name := range s.imports(t) {
			home, listed := name, false
			for ; home != "." && !listed; home = path.Dir(home) {
				if _, listed = homes[home]; listed {
					break
				}
			}
			external := strings.Contains(strings.Split(name, "/")[0], ".") && !strings.HasPrefix(name, module+"/")
			switch {
			case s.test:
				ok := !external || strings.HasPrefix(name, "github.com/stretchr/testify/") || listed && within(s.dir, homes[home])
				assert.True(t, ok, "%s imports %s: tests use the standard library and testify", s.name, name)
			case listed:
				assert.True(t, within(s.dir, homes[home]), "%s imports %s, whose home is %s", s.name, name, homes[home])
			default:
				assert.False(t, external, "%s imports %s, which has no home (tests/imports_test.go)", s.name, name)
			}
		}
	}
}

// The table itself must not allow a way up, nor one between the two halves.
func TestImportTable(t *testing.T) {
	reach := map[string]map[string]bool{}
	var visit func(string, []string) map[string]bool
	visit = func(pkg string, trail []string) map[string]bool {
		if slices.Contains(trail, pkg) {
			t.Fatalf("the table allows a circle: %v", append(trail, pkg))
		}
		if reach[pkg] != nil {
			return reach[pkg]
		}
		all := map[string]bool{}
		for _, below := range strings.Fields(mayImport[pkg]) {
			assert.Contains(t, mayImport, below, "%s may import it, but it has no line", pkg)
			all[below] = true
			for p := range visit(below, append(trail, pkg)) {
				all[p] = true
			}
		}
		reach[pkg] = all
		return all
	}
	for pkg := range mayImport {
		all := visit(pkg, nil)
		for p := range all {
			switch {
			case within(pkg, "runtime"):
				assert.False(t, within(p, "uop codegen schedule rewrite symbolic"), "%s must not reach %s: devices never see a graph", pkg, p)
			case within(pkg, "codegen schedule"):
				assert.False(t, within(p, "runtime"), "%s must not reach %s: the compiler knows no device", pkg, p)
			}
		}
	}
}

func TestNoPlatformInSharedPackages(t *testing.T) {
	systems := strings.Fields("js wasm linux darwin windows amd64 arm64 unix native")
	for _, s := range sources(t) {
		if within(s.dir, platform) {
			continue
		}
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.name), ".go"), "_test")
		if i := strings.LastIndexByte(base, '_'); i >= 0 {
			assert.NotContains(t, systems, base[i+1:], "%s: a shared package is the same on every platform", s.name)
		}
		for _, group := range s.ast.Comments {
			for _, c := range group.List {
				tagged := c.Pos() < s.ast.Package && constraint.IsGoBuild(c.Text)
				assert.False(t, tagged, "%s: shared packages carry no build tags", s.name)
			}
		}
	}
}

func TestEnvironmentIsReadAtTheEdge(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || within(s.dir, edges) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			reads := ok && pkg.Name == "os" && slices.Contains([]string{"Getenv", "LookupEnv"}, sel.Sel.Name)
			assert.False(t, reads, "%s reads the environment (os.%s); only %s may", s.name, sel.Sel.Name, edges)
			return true
		})
	}
}
