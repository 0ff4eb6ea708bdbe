package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// row is a row of the table of methods.js, for one name.
type row struct{ gives, params string }

// methodTable reads the table of methods.js: rows by class and name.
func methodTable(t *testing.T) map[string]map[string]row {
	source, err := os.ReadFile("js/methods.js")
	require.NoError(t, err)
	text := regexp.MustCompile("(?s)const table = `\n(.*?)\n`").FindSubmatch(source)
	require.NotNil(t, text)
	out := map[string]map[string]row{}
	class := ""
	for _, line := range strings.Split(string(text[1]), "\n") {
		head, params, ok := strings.Cut(line, " |")
		if !ok {
			class = line
			out[class] = map[string]row{}
			continue
		}
		names := strings.Fields(head)
		gives := ""
		if class != "Options" {
			gives, names = names[0], names[1:]
		}
		for _, n := range names {
			assert.NotContains(t, out[class], n, "%s.%s stands twice", class, n)
			out[class][n] = row{gives, strings.TrimSpace(params)}
		}
	}
	return out
}

// typescript of each kind of parameter that the table names; what is not here is an interface of its own name.
var kindTypes = map[string]string{
	"tensor": "Tensor", "operand": "Operand", "scalar": "number | boolean", "real": "number", "number": "number", "int": "number", "size": "number",
	"list": "number[]", "parts": "number[]", "sizes": "number[]", "lengths": "number[]", "ints": "number | number[]", "flag": "boolean", "text": "string",
	"dtype": "DType", "tensors": "Tensor[]", "index": "Index", "reduction": "'mean' | 'sum' | 'none'", "url": "string | URL", "pixels": "Uint8Array",
	"signal": "AbortSignal", "targets": "('wgsl' | 'c')[]",
}

var parameter = regexp.MustCompile(`^(\w+):(\w+)(?:\(.*\))?(.?)$`)

// declare writes parameters as TypeScript does.
func declare(t *testing.T, params string) string {
	var out []string
	for _, p := range strings.Fields(params) {
		m := parameter.FindStringSubmatch(p)
		require.NotNil(t, m, p)
		kind, known := kindTypes[m[2]]
		if !known {
			kind = m[2]
		}
		switch m[3] {
		case "?":
			out = append(out, m[1]+"?: "+kind)
		case "~":
			out = append(out, m[1]+"?: "+kind+" | null")
		case "*":
			out = append(out, "..."+m[1]+": "+kind+"[]")
		default:
			out = append(out, m[1]+": "+kind)
		}
	}
	return strings.Join(out, ", ")
}

// Methods stand in three places: the table that checks calls, the types, and the engine. They say the same.
func TestMethodsAreTheTypes(t *testing.T) {
	types, err := os.ReadFile("js/weft.d.ts")
	require.NoError(t, err)
	section := func(kind, name string) string {
		m := regexp.MustCompile(`(?ms)^export ` + kind + ` ` + name + `\b[^\n]*\{\n(.*?)^\}`).FindSubmatch(types)
		require.NotNil(t, m, "weft.d.ts has no %s", name)
		return string(m[1])
	}
	gives := map[string]string{"1": "Tensor", "2": "[Tensor, Tensor]", "n": "Tensor[]", "0": "this"}
	overloaded := map[string]bool{"tensor": true, "arange": true} // which TestTypes checks by use
	table := methodTable(t)
	for _, class := range []string{"Tensor", "Weft", "Captured", "Digits"} {
		text := section("class", class)
		for name, r := range table[class] {
			want := "  " + name + "(" + declare(t, r.params) + "): " + gives[r.gives]
			if overloaded[name] || strings.Contains(r.params, ":function") || strings.Contains(r.params, ":any") {
				want = "  " + name
			}
			assert.True(t, strings.Contains(text, want), "class %s of weft.d.ts lacks%s", class, want)
		}
		for _, m := range regexp.MustCompile(`(?m)^  (\w+)[(<].*[):]`).FindAllStringSubmatch(text, -1) {
			assert.True(t, m[1] == "constructor" || table[class][m[1]].gives != "", "methods.js has no row for %s.%s of weft.d.ts", class, m[1])
		}
	}
	for name, r := range table["Options"] {
		text := ""
		switch name {
		case "Axes", "Spread":
			m := regexp.MustCompile(`(?m)^export type ` + name + ` = number \| number\[\] \| \{ (.*) \}$`).FindSubmatch(types)
			require.NotNil(t, m, name)
			text = "  " + strings.ReplaceAll(string(m[1]), "; ", "\n  ")
		default:
			text = section("interface", name)
		}
		fields := regexp.MustCompile(`(?m)^  (\w+)\?: (.*)$`).FindAllStringSubmatch(text, -1)
		params := strings.Fields(r.params)
		if assert.Len(t, fields, len(params), name) {
			for i, f := range fields {
				m := parameter.FindStringSubmatch(params[i])
				assert.Equal(t, m[1], f[1], name)
				if kind, ok := kindTypes[m[2]]; ok && f[1] != "device" {
					assert.Equal(t, kind, f[2], "%s.%s", name, f[1])
				}
			}
		}
	}
}

// What the table says that makes tensors the engine can do, and the other way round.
func TestMethodsAreInTheEngine(t *testing.T) {
	source, err := os.ReadFile("js/weft.js")
	require.NoError(t, err)
	table := methodTable(t)
	for name, r := range table["Tensor"] {
		if strings.Contains("12n0", r.gives) {
			assert.Contains(t, operations, name, "methods.js has an operation that the engine lacks")
		}
	}
	for name := range operations {
		if _, ok := table["Tensor"][name]; !ok {
			assert.Contains(t, table["Weft"], name, "methods.js lacks %s", name)
			assert.Contains(t, string(source), "record('"+name+"'", "weft.js lacks %s", name)
		}
	}
}
