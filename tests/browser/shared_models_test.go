package browser_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/onnx"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// sample is a set of test data as a page gets it: raw elements in base64, and what is wanted.
type sample struct {
	In   map[string]raw `json:"in"`
	want map[string][]float32
}

type raw struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	Data  string `json:"data"`
}

func samples(t *testing.T, dir string, m *onnx.Model) (list []sample) {
	ctx := context.Background()
	sets, err := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	require.NoError(t, err)
	require.NotEmpty(t, sets)
	value := func(set, kind string, i int, p onnx.Port) *onnx.Value {
		b, err := os.ReadFile(filepath.Join(set, fmt.Sprintf("%s_%d.pb", kind, i)))
		require.NoError(t, err)
		v, err := onnx.ReadValue(b, p.Type)
		require.NoError(t, err)
		return v
	}
	for _, set := range sets {
		s := sample{map[string]raw{}, map[string][]float32{}}
		for i, p := range m.Inputs() {
			v := value(set, "input", i, p)
			b, err := v.Bytes(ctx)
			require.NoError(t, err)
			short := map[string]string{"float32": "f32", "int64": "i64"}[v.Elem().DType().String()]
			require.NotEmpty(t, short)
			s.In[p.Name] = raw{short, v.Shape(), base64.StdEncoding.EncodeToString(b)}
		}
		for i, p := range m.Outputs() {
			got, err := tensor.Data[float32](ctx, value(set, "output", i, p).Tensor())
			require.NoError(t, err)
			s.want[p.Name] = got
		}
		list = append(list, s)
	}
	return list
}

// The folders of models with reference outputs, WEFT_MODELS or the shared ones, give these outputs in the page.
func TestModelsInPage(t *testing.T) {
	root := os.Getenv("WEFT_MODELS")
	if root == "" {
		root = need.Data(t, "models")
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "model.onnx"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	p := open(t)
	for _, device := range []string{"wasm", "webgpu"} {
		passed := 0
		for _, file := range files {
			name := filepath.Base(filepath.Dir(file))
			m, err := onnx.Open(file)
			require.NoError(t, err)
			model, err := os.ReadFile(file)
			require.NoError(t, err)
			list := samples(t, filepath.Dir(file), m)
			in, err := json.Marshal(list)
			require.NoError(t, err)
			var got []map[string][]float32
			require.NoError(t, p.Run(fmt.Sprintf(`
				const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer
				const types = {f32: Float32Array, i64: BigInt64Array}
				const w = await weft.open({device: %q, models: true})
				if (w.device !== %q) throw new Error('the device is ' + w.device)
				const m = await w.onnx(bytes(%q)), out = []
				for (const {in: given} of %s) {
					const feeds = {}
					for (const [name, {dtype, shape, data}] of Object.entries(given)) feeds[name] = w.tensor(new types[dtype](bytes(data)), shape)
					const got = await m.run(feeds), values = {}
					for (const [name, y] of Object.entries(got)) values[name] = [...await y.data()]
					out.push(values)
				}
				m.close()
				w.close()
				return out`, device, strings.ToUpper(device), base64.StdEncoding.EncodeToString(model), in), &got), "%s on %s", name, device)
			require.Len(t, got, len(list))
			fine := true
			for i, s := range list {
				for out, want := range s.want {
					fine = closeTo(t, fmt.Sprintf("%s on %s, set %d, %s", name, device, i, out), got[i][out], want) && fine
				}
			}
			if fine {
				passed++
			}
		}
		t.Logf("models %s in a page: %d passed, %d failed", strings.ToUpper(device), passed, len(files)-passed)
	}
}

// closeTo compares with the tolerances of the shared data, 1e-3 of a value and 1e-4.
func closeTo(t *testing.T, what string, got, want []float32) bool {
	if !assert.Len(t, got, len(want), what) {
		return false
	}
	for i, w := range want {
		if !(math.Abs(float64(got[i])-float64(w)) <= 1e-4+1e-3*math.Abs(float64(w))) {
			return assert.Fail(t, "a wrong value", "%s: element %d is %v, not %v", what, i, got[i], w)
		}
	}
	return true
}
