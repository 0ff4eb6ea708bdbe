package browser_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// line is a row of the table of methods.
type line struct{ class, gives, name, params string }

// methodTable reads wasm/js/table.js, which the page checks calls by.
func methodTable(t *testing.T) (out []line) {
	source, err := os.ReadFile(filepath.Join(need.Root(t), "wasm/js/table.js"))
	require.NoError(t, err)
	text := regexp.MustCompile("(?s)`\n(.*?)`").FindSubmatch(source)
	require.NotNil(t, text)
	class := ""
	for _, l := range strings.Split(strings.TrimSpace(string(text[1])), "\n") {
		head, params, ok := strings.Cut(l, " |")
		if !ok {
			class = l
			continue
		}
		params, _, _ = strings.Cut(params, " |")
		names := strings.Fields(head)
		for _, n := range names[1:] {
			if class == "Tensor" || class == "Weft" {
				out = append(out, line{class, names[0], n, strings.TrimSpace(params)})
			}
		}
	}
	return out
}

// simple are the methods that take nothing, or one operand, and are one method in Go: what they are called with is told by their type.
func simple(rows []line) (out []example) {
	kind := reflect.TypeFor[*tensor.Tensor]()
	others := map[string]string{"not": "LogicalNot", "bitNot": "Not"}
	on := map[string]string{"bitNot": "i", "inv": "m", "cholesky": "m", "det": "m", "logDet": "m", "singularValues": "m", "matrixExp": "m", "trace": "m", "corrCoef": "x",
		"and": "i", "or": "i", "xor": "i", "shl": "i", "shr": "i", "pack4": "i"}
	for _, r := range rows {
		if r.class != "Tensor" || r.gives != "1" || r.params != "" && r.params != "y:operand" {
			continue
		}
		name := others[r.name]
		for i := 0; name == "" && i < kind.NumMethod(); i++ {
			if strings.EqualFold(kind.Method(i).Name, r.name) {
				name = kind.Method(i).Name
			}
		}
		x := on[r.name]
		if x == "" {
			x = "x"
		}
		method := func(v values) reflect.Value { return reflect.ValueOf(v.by(x)).MethodByName(name) }
		if r.params == "" {
			if f, ok := kind.MethodByName(name); !ok || f.Type.NumIn() != 1 || f.Type.NumOut() != 1 || f.Type.Out(0) != kind {
				continue
			}
			out = append(out, example{x + "." + r.name + "()", func(v values) some { return some{method(v).Call(nil)[0].Interface().(one)} }})
			continue
		}
		y := map[string]string{"x": "y", "i": "j"}[x]
		out = append(out, example{x + "." + r.name + "(" + y + ")", func(v values) some {
			return some{method(v).Call([]reflect.Value{reflect.ValueOf(v.by(y))})[0].Interface().(one)}
		}})
	}
	return out
}

// told compares a tensor that a page told of with Go's.
func (t told) differs(ctx context.Context, want one) string {
	data, err := elements(ctx, want)
	if err != nil {
		return fmt.Sprintf("Go: %v", err)
	}
	if t.Error != "" {
		return "the page: " + t.Error
	}
	if !slices.Equal(t.Shape, want.Shape()) {
		return fmt.Sprintf("the shape %v, in Go %v", t.Shape, want.Shape())
	}
	if t.DType != jsName(want.DType()) {
		return fmt.Sprintf("the type %s, in Go %s", t.DType, jsName(want.DType()))
	}
	for i, w := range data {
		g, v := number(t.Data[i]), asFloat(w)
		if !(math.Abs(g-v) <= 3e-4*(1+math.Abs(v)) || g == v || g != g && v != v) {
			return fmt.Sprintf("element %d is %v, in Go %v", i, g, v)
		}
	}
	return ""
}

// number is an element as JSON has it.
func number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case string:
		f := map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}
		if x, ok := f[v]; ok {
			return x
		}
		var x float64
		if _, err := fmt.Sscan(v, &x); err == nil {
			return x
		}
	}
	return math.Inf(-1)
}

// everyForGPU is of how many methods WEBGPU has one in its turn: what shaders compute is compared elsewhere.
const everyForGPU = 8

// Every method that gives tensors gives those of Go; on WEBGPU one of eight does, with WEFT_EACH=1, as in make table, all.
func TestEveryMethod(t *testing.T) {
	rows := methodTable(t)
	all := append(simple(rows), examples...)
	var code strings.Builder
	for _, e := range all {
		fmt.Fprintf(&code, "async () => %s,\n", e.js)
	}
	devices := []string{"on", "moveTo", "shard", "shardTo", "shardLike"} // see shards_test.go
	for _, r := range rows {
		if (strings.Contains("123np0", r.gives) || r.name == "backward") && !slices.Contains(devices, r.name) {
			said := regexp.MustCompile(`[\w)\]]\.` + r.name + `\(`).MatchString(code.String())
			assert.True(t, said, "%s.%s is called in no example", r.class, r.name)
		}
	}
	ctx := context.Background()
	for _, device := range []string{"wasm", "webgpu"} {
		list := all
		if device == "webgpu" && os.Getenv("WEFT_EACH") != "1" {
			list = nil
			for i := 0; i < len(all); i += everyForGPU {
				list = append(list, all[i])
			}
		}
		var calls strings.Builder
		for _, e := range list {
			fmt.Fprintf(&calls, "async () => %s,\n", e.js)
		}
		p := open(t)
		var got [][]told
		require.NoError(t, p.Run(`
		const w = await weft.open({device: '`+device+`'})
		const told = async (x) => {
			try {
				const data = await x.data()
				const { shape, dtype } = x
				return {shape, dtype, data: Array.from(data, (v) => typeof v === 'bigint' || !Number.isFinite(v) ? String(v) : v)}
			} catch (e) {
				return {error: e.message}
			}
		}
		`+inputs+`
		const out = []
		for (const f of [`+calls.String()+`]) {
			await w.seed(1)
			try {
				out.push(await Promise.all([await f()].flat().map(told)))
			} catch (e) {
				out.push([{error: e.message}])
			}
		}
		w.close()
		return out`, &got))
		require.Len(t, got, len(list))
		v := known1()
		for i, e := range list {
			tensor.Seed(1)
			var want some
			if err := tensor.Try(func() { want = e.want(v) }); !assert.NoError(t, err, e.js) {
				continue
			}
			if !assert.Len(t, got[i], len(want), "%s on %s: %v", e.js, device, got[i]) {
				continue
			}
			for k, w := range want {
				assert.Empty(t, got[i][k].differs(ctx, w), "%s, result %d, on %s", e.js, k, device)
			}
		}
	}
}
