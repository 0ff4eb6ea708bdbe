package main

import (
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

func both(t *testing.T) (*table, *goSource) {
	tab, err := parse(source)
	require.NoError(t, err)
	s, err := readGo(filepath.Join(root, "tensor"))
	require.NoError(t, err)
	return tab, s
}

func TestFilesAreMadeOfTheTable(t *testing.T) {
	files, err := build(root)
	require.NoError(t, err)
	for name, want := range files {
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.True(t, string(got) == string(want), "%s is not what methods.txt says; go generate ./wasm/face", name)
	}
}

// absent are what package tensor can do and a page cannot, or does by another name, and why.
var absent = map[string]string{
	"t.AssignBytes": "assign(w.tensor(array, shape))", "t.Borrow": "memory of a device, which is for Go", "t.Bytes": "data()",
	"t.Device": "devices()", "t.Dim": "shape", "t.Discard": "dispose()", "t.Engine": "the engine is w", "t.IsFloat": "dtype",
	"t.IsRealized": "a page is ahead of its engine, so there is no answer now", "t.Nbytes": "shape and dtype", "t.Node": "graphs are for Go",
	"t.Numel": "shape", "t.Rank": "shape", "t.Schedule": "w.inspect",
	"t.String": "data() and shape", "t.ToList": "list()", "t.Shape": "shape", "t.DType": "dtype",

	"Caller": "lines of Go", "Data": "data()", "Fill": "for Go's devices; w.fetch", "From": "w.tensor", "FromNode": "graphs are for Go", "Of": "w.tensor",
	"Open": "files of a disk; w.tensor takes a File, w.fetch an address", "OpenReader": "a reader of Go; w.tensor takes a Blob", "OpenWritable": "files of a disk", "OpenReadWriter": "a reader and writer of Go",
	"R": "at(…, [from, to])", "RS": "at(…, [from, to, step])", "Schedule": "w.inspect", "Try": "errors are thrown",
	"t.GradReached": "for package nn",
	"t.SELU":        "selu, whose parameters are its unless given", "t.Conv": "conv2d, which takes any number of axes", "t.BackwardWith": "backward(ws, seed)",
	"Must": "errors are thrown", "Done": "errors are thrown", "InLayer": "for errors of Go's layers",
	"DefaultFloat": "what makes tensors takes a type", "DefaultInt": "what makes tensors takes a type",
	"SetDefaultFloat": "what makes tensors takes a type", "SetDefaultInt": "what makes tensors takes a type",
	"NewVariable": "w.variable", "S": "[from, to], with sizes", "t.Sizes": "shape",
	"DefaultGenerator": "w.seed",
	"Program":          "saveFunctions gives a file",
	"Linspace":         "linspace, which has a type", "RandOf": "rand with a type", "RandInt": "randint, which has a type",
}

// What package tensor can do a page can do, or there is a reason.
func TestEverythingOfTheTensorIsThere(t *testing.T) {
	tab, s := both(t)
	there := map[string]bool{}
	for _, sec := range tab.sections {
		for _, r := range sec.rows {
			for _, name := range r.names {
				for _, g := range tab.covers(sec.class, name, r, s) {
					if sec.class == "Tensor" {
						g = "t." + g
					}
					there[g] = true
				}
			}
		}
	}
	var missing []string
	for key := range s.functions {
		if !there[key] && absent[key] == "" {
			missing = append(missing, key)
		}
		assert.False(t, there[key] && absent[key] != "", "%s is in methods.txt and among what is absent", key)
	}
	sort.Strings(missing)
	assert.Empty(t, missing, "methods.txt lacks these; add a row, or say in absent why a page needs none")
	for key := range absent {
		assert.NotNil(t, s.functions[key], "package tensor has no %s any more", key)
	}
}

// otherFields are fields of options in Go that have another name in a page, or none since a list says the same.
var otherFields = map[string]string{
	"Conv.Stride": "stride", "Conv.Strides": "stride", "Conv.Padding": "padding", "Conv.Paddings": "padding", "Conv.Dilation": "dilation", "Conv.Dilations": "dilation",
	"Pool.Size":           "-",
	"Attention.Generator": "-", // w.generator(seed).attention
}

// Options have a field for each of Go's, and no other.
func TestOptionsAreThose(t *testing.T) {
	tab, s := both(t)
	for _, name := range tab.order {
		set := tab.sets[name]
		fields, ok := s.fields[set.call]
		if !ok {
			assert.Contains(t, []string{"", "-"}, set.call, "package tensor has no options %s", set.call)
			continue
		}
		have := map[string]bool{}
		for _, p := range set.params {
			have[p.name] = true
		}
		want := map[string]bool{}
		for f := range fields {
			n, other := otherFields[set.call+"."+f]
			if !other {
				n = strings.ToLower(f[:1]) + f[1:]
			}
			if n != "-" {
				want[n] = true
			}
		}
		assert.Equal(t, want, have, "%s", name)
	}
}

// What is written by hand in weft.d.ts the table knows, and the other way round.
func TestWhatIsWrittenByHand(t *testing.T) {
	tab, _ := both(t)
	types, err := os.ReadFile(filepath.Join(root, "wasm/js/weft.d.ts"))
	require.NoError(t, err)
	known := map[string]map[string]bool{}
	for _, sec := range tab.sections {
		m := regexp.MustCompile(`(?ms)^export class ` + sec.class + `\b[^\n]*\{\n(.*?)^\}`).FindSubmatch(types)
		require.NotNil(t, m, "weft.d.ts has no %s", sec.class)
		text := string(m[1])
		if known[sec.class] == nil {
			known[sec.class] = map[string]bool{}
		}
		for _, r := range sec.rows {
			for _, name := range r.names {
				known[sec.class][name] = true
				sig := tab.signatures(r)[0]
				want := "  " + name + "(" + sig + "): " + gives[r.gives]
				if byHand[name] || regexp.MustCompile(`: (functions?|any|image|files?|model)\b`).MatchString(sig) {
					want = "  " + name
				}
				assert.Contains(t, text, want, "class %s", sec.class)
			}
		}
	}
	for class, names := range known {
		text := regexp.MustCompile(`(?ms)^export class ` + class + `\b[^\n]*\{\n(.*?)^\}`).FindStringSubmatch(string(types))[1]
		for _, m := range regexp.MustCompile(`(?m)^  (\w+)[(<].*[):]`).FindAllStringSubmatch(text, -1) {
			assert.True(t, m[1] == "constructor" || m[1] == "toString" || names[m[1]], "methods.txt has no row for %s.%s of weft.d.ts", class, m[1])
		}
	}
	for _, name := range tab.order {
		if tab.sets[name].call != "" && tab.sets[name].call != "-" || short[name] {
			continue
		}
		m := regexp.MustCompile(`(?ms)^export interface ` + name + ` \{\n(.*?)^\}`).FindSubmatch(types)
		if !assert.NotNil(t, m, "weft.d.ts has no %s", name) {
			continue
		}
		fields := regexp.MustCompile(`(?m)^  (\w+)\?: `).FindAllStringSubmatch(string(m[1]), -1)
		var have, want []string
		for _, f := range fields {
			have = append(have, f[1])
		}
		for _, p := range tab.sets[name].params {
			want = append(want, p.name)
		}
		assert.ElementsMatch(t, want, have, name)
	}
}

// Everything that a page may import, and every member of a tensor and of the engine, is in docs/javascript.md.
func TestEveryDeclarationIsInTheDocs(t *testing.T) {
	docs, err := os.ReadFile(filepath.Join(root, "docs/javascript.md"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(root, "wasm/js/*.d.ts"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 4)
	members, exports := 0, 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		on, class := "", ""
		for _, line := range strings.Split(string(text), "\n") {
			if m := regexp.MustCompile(`^export (?:class|interface|type|function|const) (\w+)`).FindStringSubmatch(line); m != nil {
				class, on = m[1], map[string]string{"Tensor": "x", "Weft": "w"}[m[1]]
				if exports++; on == "" {
					there := regexp.MustCompile(`(?m)^export (class|interface|type|function|const) ` + class + `\b`).Match(docs)
					assert.True(t, there, "%s of %s is not in the docs", class, filepath.Base(name))
				}
			}
			if m := regexp.MustCompile(`^  (?:readonly )?(\w+)\??[(<:]`).FindStringSubmatch(line); m != nil && on != "" {
				members++
				there := regexp.MustCompile("(?m)^- `" + on + `\.` + m[1] + `\b.*` + "`.*: ['’A-Za-z].{3}").Match(docs)
				assert.True(t, there, "%s.%s is declared and not in the docs, or nothing is said of it", class, m[1])
			}
		}
	}
	assert.Greater(t, exports, 60)
	assert.Greater(t, members, 400)
}

// What is said of methods names nothing that only Go's callers know.
func TestDocsAreInWordsOfAPage(t *testing.T) {
	tab, s := both(t)
	names := tab.goNames(s)
	word := regexp.MustCompile(`\*?\b[A-Z]\w*`)
	check := func(of, doc string) {
		for _, w := range word.FindAllString(doc, -1) {
			assert.False(t, len(w) > 1 && (names[w] != "" || strings.HasPrefix(w, "*")), "%s: %q names %s", of, doc, w)
		}
	}
	for _, sec := range tab.sections {
		for _, r := range sec.rows {
			for _, name := range r.names {
				if gives[r.gives] != "" && tab.docs[name] == "" {
					doc := tab.doc(sec.class, name, r, s)
					check(name, doc)
					assert.NotEmpty(t, doc, "%s", name)
				}
			}
		}
	}
}
