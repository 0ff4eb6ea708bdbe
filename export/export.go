// Package export writes captured functions as a folder that any static host serves and that runs in a page without Go: their plans with kernels
// as WebAssembly modules and WGSL, the elements of the tensors that they use, and a small player in JavaScript. Functions that
// assign tensors do so there too, so that training goes on in a page.
//
// It knows files of a page, and asks engine and languages for plans. It refuses to know what a function is for, and how kernels
// come about.
//
//	r, err := export.Write(ctx, "folder", map[string]*tensor.Captured{"train": step, "predict": predict}, export.Options{})
//	fs, err := export.Open(ctx, "folder", "")   // the same functions in Go
//
// A page trusts a folder as it trusts its own scripts. Open does not have to: it reads the functions' graphs (package saved) and
// compiles them, and never runs a kernel of the folder.
package export

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-ml/weft/atomicfile"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/dtype"
	wasmpage "github.com/weft-ml/weft/runtime/wasm/page"
	gpupage "github.com/weft-ml/weft/runtime/webgpu/page"
	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/tensor"
)

// Version is the newest of folders, which the player checks. Those of plans without constants are of version 1, as they were before there were any.
const Version = 2

// Options are the settings of Write; the zero value works.
type Options struct {
	Devices []string         // which the folder has kernels for: "WASM", "WEBGPU"; nil: both
	Weights saved.Form       // of float32 tensors of at least Least elements that no function assigns; the others are kept exactly
	Title   string           // of the page; "": the names of the functions
	Names   map[string]Names // of functions' inputs and results, by the functions' names

	// KernelsApart has the kernels of WASM in a file of their own, kernels.wasm, which all functions share: for runtimes that compile no
	// WebAssembly while they run. The player loads either.
	KernelsApart bool
}

// Names are what inputs and results of a function are called in place of the names that they have (tensor.Captured.Named); nil leaves them.
type Names struct{ Inputs, Results []string }

// Least is how many elements a tensor has that Options.Weights makes shorter.
const Least = 256

// Report says what a folder has.
type Report struct {
	Files []File // sorted
}

// File is a file of a folder, and how many bytes it has.
type File struct {
	Name  string
	Bytes int
}

//go:embed js
var scripts embed.FS

// The files that are not the player's.
const (
	programFile  = "program.weft"
	weightsFile  = "weights.bin"
	manifestFile = "model.json"
	kernelsFile  = "kernels.wasm"
	pageFile     = "index.html"
	playerFolder = "player"
	tempPrefix   = ".weft-export-" // of files that are being written
	format       = "weft-export"   // what the manifest says that it is
)

// Write writes captured functions of one device, by name, into a folder, which it makes. What functions share, as weights that one trains and another
// reads, they share there too. Files of an older export are replaced once all are written; nothing else in the folder is touched, and a folder that has
// such files of something else is an error. Nothing may assign the functions'
// tensors meanwhile.
func Write(ctx context.Context, dir string, functions map[string]*tensor.Captured, o Options) (*Report, error) {
	p, elements, err := tensor.Program(ctx, functions)
	if err != nil {
		return nil, err
	}
	files, err := filesOf(ctx, p, elements, o)
	if err != nil {
		return nil, err
	}
	return writeFiles(dir, files)
}

// Convert makes of a file of tensor.SaveFunctions the files that Write would have written, by their names, with slashes. It needs no device, and the file
// no trust.
func Convert(ctx context.Context, file io.Reader, o Options) (map[string][]byte, error) {
	f, err := saved.Read(file)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	arrays := make([][]byte, len(f.Arrays))
	err = f.Contents(func(i int, elements []byte) error {
		arrays[i] = elements
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return filesOf(ctx, f.Program, func(i int) ([]byte, error) { return arrays[i], nil }, o)
}

// filesOf makes the files of a folder.
func filesOf(ctx context.Context, p *saved.Program, elements func(i int) ([]byte, error), o Options) (map[string][]byte, error) {
	if o.Devices == nil {
		o.Devices = Devices()
	}
	if len(o.Devices) == 0 {
		return nil, errors.New("export: there is no device to write kernels for; name WASM, WEBGPU or both")
	}
	if err := rename(p, o.Names); err != nil {
		return nil, err
	}
	shorten(p, o.Weights)
	files := map[string][]byte{}
	var program, weights bytes.Buffer
	if err := saved.WriteParts(&program, &weights, p, elements); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	files[programFile], files[weightsFile] = program.Bytes(), weights.Bytes()
	m := newManifest(p, weights.Bytes())
	for _, name := range o.Devices {
		d, ok := devices[strings.ToUpper(name)]
		if !ok {
			return nil, fmt.Errorf("export: pages have no device %q; name %s", name, strings.Join(Devices(), " or "))
		}
		plans, kernels, err := d.plans(ctx, p, m, o.KernelsApart)
		if err != nil {
			var lacks *legal.Unsupported
			if errors.As(err, &lacks) {
				err = fmt.Errorf("%w; name another device in Options.Devices (weft export --for)", err)
			}
			return nil, fmt.Errorf("export for %s: %w", strings.ToUpper(name), err)
		}
		files[d.file] = plans
		if kernels != nil {
			files[kernelsFile] = kernels
		}
		if err := d.player(files); err != nil {
			return nil, err
		}
	}
	return files, addPage(files, p, m, o)
}

// rename gives functions' inputs and results other names.
func rename(p *saved.Program, names map[string]Names) error {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		i := slices.IndexFunc(p.Functions, func(f saved.Function) bool { return f.Name == name })
		if i < 0 {
			return fmt.Errorf("export: names are given for a function %q, which is not there", name)
		}
		f := &p.Functions[i]
		take := func(list []string, what string, n int, to func(i int) *string) error {
			if list == nil {
				return nil
			}
			if len(list) != n {
				return fmt.Errorf("export: function %q has %d %s, and %d names are given for them", name, n, what, len(list))
			}
			for i, s := range list {
				if s == "" || slices.Contains(list[:i], s) {
					return fmt.Errorf("export: function %q: the name %q of its %s is empty or comes twice", name, s, what)
				}
				*to(i) = s
			}
			return nil
		}
		err := take(names[name].Inputs, "inputs", len(f.Inputs), func(i int) *string { return &f.Inputs[i].Name })
		if err == nil {
			err = take(names[name].Results, "results", len(f.Results), func(i int) *string { return &f.Results[i].Name })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shorten has arrays that no function assigns kept in a form.
func shorten(p *saved.Program, form saved.Form) {
	assigned := map[int]bool{}
	for _, f := range p.Functions {
		for _, t := range f.Targets {
			if t.Dest >= 0 {
				assigned[f.Arrays[t.Dest-len(f.Inputs)]] = true
			}
		}
	}
	for i, a := range p.Arrays {
		if a.DType == dtype.F32 && a.N >= Least && !assigned[i] {
			p.Arrays[i].Form = form
		}
	}
}

// addPage adds what does not depend on the device.
func addPage(files map[string][]byte, p *saved.Program, m *manifest, o Options) error {
	for _, name := range []string{"model.js", "elements.js", "worker.js", "element.js", "given.js", "shown.js", "show.js", "show.css", "icon.svg"} {
		b, err := scripts.ReadFile("js/" + name)
		if err != nil {
			return err
		}
		files[playerFolder+"/"+name] = lean(b)
	}
	lent, err := wasmpage.Scripts.ReadFile("lent.js") // model.js needs it, with or without threads
	if err != nil {
		return err
	}
	files[playerFolder+"/lent.js"] = lean(lent)
	html, err := scripts.ReadFile("js/index.html")
	if err != nil {
		return err
	}
	title := o.Title
	if title == "" {
		var names []string
		for _, f := range p.Functions {
			names = append(names, f.Name)
		}
		title = strings.Join(names, ", ")
	}
	files[pageFile] = bytes.ReplaceAll(html, []byte("TITLE"), []byte(escape(title)))
	files[playerFolder+"/model.d.ts"] = types(p)
	files[manifestFile], err = m.encode()
	return err
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// writeFiles gives all files their names once all are written, the manifest last: it has the checksums of the others.
func writeFiles(dir string, files map[string][]byte) (r *Report, err error) {
	names := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		if last := a == manifestFile; last != (b == manifestFile) {
			if last {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	var made []*atomicfile.File
	defer func() {
		for _, f := range made {
			f.Discard()
		}
		if err != nil {
			err = fmt.Errorf("export: %w", err)
		}
	}()
	if err := foreign(dir, names); err != nil {
		return nil, err
	}
	r = &Report{}
	for _, name := range names {
		folder := filepath.Dir(filepath.Join(dir, filepath.FromSlash(name)))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return nil, fmt.Errorf("%w; name a folder that can be made", err)
		}
		atomicfile.Sweep(folder, tempPrefix)
		f, err := atomicfile.Create(folder, tempPrefix, 0o666)
		if err != nil {
			return nil, err
		}
		made = append(made, f)
		if _, err := f.Write(files[name]); err != nil {
			return nil, err
		}
		r.Files = append(r.Files, File{name, len(files[name])})
	}
	for _, name := range names {
		f := made[0]
		made = made[1:]
		if err := f.Commit(filepath.Join(dir, filepath.FromSlash(name)), atomicfile.Durable); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(r.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return r, nil
}

// foreign says which file would be lost in a folder that no export wrote. One that was interrupted has the page, which is named first, and no manifest.
func foreign(dir string, names []string) error {
	for name, mark := range map[string]string{manifestFile: `{"format":"` + format + `"`, pageFile: `src="player/show.js"`} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil && bytes.Contains(b, []byte(mark)) {
			return nil
		}
	}
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is there and not of an export; name another folder, or remove it", path)
		}
	}
	return nil
}

// Open makes captured functions of a folder that Write wrote, by name, on a device ("": the default one). A folder needs no trust: see the
// package.
func Open(ctx context.Context, dir, device string) (map[string]*tensor.Captured, error) {
	var parts []io.Reader
	for _, name := range []string{programFile, weightsFile} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("export: %w; give the folder that weft export wrote", err)
		}
		defer f.Close()
		parts = append(parts, f)
	}
	fs, err := tensor.LoadFunctions(ctx, io.MultiReader(parts...), device)
	if err != nil {
		return nil, fmt.Errorf("export: %s: %w", dir, err)
	}
	return fs, nil
}

// copyScripts adds the modules of a player.
func copyScripts(from embed.FS, files map[string][]byte) error {
	entries, err := from.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		b, err := from.ReadFile(e.Name())
		if err != nil {
			return err
		}
		files[playerFolder+"/"+e.Name()] = lean(b)
	}
	return nil
}

func wasmPlayer(files map[string][]byte) error { return copyScripts(wasmpage.Scripts, files) }
func gpuPlayer(files map[string][]byte) error  { return copyScripts(gpupage.Scripts, files) }
