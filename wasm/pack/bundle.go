package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// A page that imports weft.js should not wait for one file to learn of the next, so what is needed for the first result is two scripts,
// with all that they import in them: weft.js and worker.js. What few pages need stays a script of its own, which brings along what it
// imports, and the two load it when it is asked for.
var (
	first = []string{"weft.js", "worker.js"}
	later = []string{"thread.js", "explain.js", "node.js", "fetch.js", "files.js", "saved.js", "export.js", "picture.js", "models.js", "optimizers.js", "jit.js", "errands.js", "pressure.js"}
	types = []string{"weft.d.ts", "export.d.ts", "nn.d.ts", "optim.d.ts"}
)

// bundle writes the scripts. sizes are those of the modules, as an object of JavaScript, and builds what they say of their builds.
func bundle(root, goroot, out, sizes, builds string) error {
	for _, name := range append(append([]string{}, first...), later...) {
		if err := script(scriptFolders(root, goroot), name, out, sizes, builds); err != nil {
			return err
		}
	}
	for _, name := range types {
		data, err := os.ReadFile(filepath.Join(root, "wasm/js", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, name), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// scriptFolders are where scripts lie; each name is in one of them only.
func scriptFolders(root, goroot string) []string {
	return []string{filepath.Join(root, "wasm/js"), filepath.Join(root, "runtime/webgpu/page"), filepath.Join(root, "runtime/wasm/page"), filepath.Join(goroot, "lib/wasm")}
}

// script bundles one. Names stay: errors and stacks in a page's console tell them, and compressed they cost little.
func script(folders []string, name, out, sizes, builds string) error {
	find := func(name string) (string, error) {
		for _, f := range folders {
			file := filepath.Join(f, name)
			if _, err := os.Stat(file); err == nil {
				return file, nil
			}
		}
		return "", fmt.Errorf("there is no script %s", name)
	}
	entry, err := find(name)
	if err != nil {
		return err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, Bundle: true, Write: false, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifySyntax: true, LegalComments: api.LegalCommentsInline, LogLevel: api.LogLevelSilent,
		Plugins: []api.Plugin{{Name: "folders", Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: `^\./`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
				if a.Kind == api.ResolveJSDynamicImport {
					return api.OnResolveResult{Path: a.Path, External: true}, nil
				}
				file, err := find(strings.TrimPrefix(a.Path, "./"))
				return api.OnResolveResult{Path: file}, err
			})
			b.OnLoad(api.OnLoadOptions{Filter: `/wasm_exec\.js$`}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
				data, err := os.ReadFile(a.Path)
				text := strings.Replace(string(data), "// Copyright", "//! Copyright", 1) // a notice that stays
				return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, err
			})
			b.OnLoad(api.OnLoadOptions{Filter: `/module\.js$`}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
				data, err := os.ReadFile(a.Path)
				text := strings.Replace(string(data), "const sizes = {}", "const sizes = "+sizes, 1)
				text = strings.Replace(text, "const builds = {}", "const builds = "+builds, 1)
				return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, err
			})
		}}},
	})
	for _, e := range append(result.Errors, result.Warnings...) {
		return fmt.Errorf("bundle %s: %s", name, e.Text)
	}
	return os.WriteFile(filepath.Join(out, name), result.OutputFiles[0].Contents, 0o666)
}
