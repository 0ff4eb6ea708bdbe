package nn_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/safetensors"
	"github.com/weft-ml/weft/tensor"
)

type saved struct {
	Body, Head *nn.Linear
	Steps      *tensor.Tensor `weft:"state"`
}

func TestLoadInPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	a := &saved{nn.NewLinear(3, 2), nn.NewLinear(2, 4), tensor.Of([]int32{7})}
	require.NoError(t, nn.Save(ctx, path, a))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := safetensors.Parse("bytes", bytes.NewReader(raw), int64(len(raw)))
	require.NoError(t, err)
	b := &struct {
		Body, Head, More *nn.Linear
	}{nn.NewLinear(3, 2), nn.NewLinear(2, 5), nn.NewLinear(1, 1)}
	require.NoError(t, nn.Realize(ctx, b))
	head, body := values(t, b.Head.Bias), values(t, b.Body.Weight)
	report, err := nn.LoadFrom(ctx, f, b, nn.LoadOptions{})
	assert.EqualError(t, err, "load bytes: tensor head.weight: the file has F32 [4 2], the model needs F32 [5 2]")
	assert.Equal(t, body, values(t, b.Body.Weight), "nothing is changed")
	assert.Len(t, report.Missing, 2)
	report, err = nn.LoadFrom(ctx, f, b, nn.LoadOptions{Partial: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"body.weight", "body.bias"}, report.Loaded)
	assert.Equal(t, []string{"more.weight", "more.bias"}, report.Missing)
	assert.Equal(t, []string{"steps"}, report.Unused)
	assert.Equal(t, "2 loaded; 2 not in the file: [more.weight more.bias]; 1 not in the model: [steps]; "+
		"head.weight: the file has F32 [4 2], the model needs F32 [5 2]; head.bias: the file has F32 [4], the model needs F32 [5]", report.String())
	assert.Equal(t, values(t, a.Body.Weight), values(t, b.Body.Weight))
	assert.Equal(t, head, values(t, b.Head.Bias))
}

func TestLoadRenamedAndConverted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	a := map[string]*tensor.Tensor{"model.w": tensor.Of([]float32{1, 2.5, 0.1}), "model.n": tensor.Of([]int32{1})}
	require.NoError(t, nn.Save(ctx, path, a))
	f, err := safetensors.Open(path)
	require.NoError(t, err)
	defer f.Close()
	b := map[string]*tensor.Tensor{"w": tensor.Zeros(3).To(dtype.F16), "n": tensor.Of([]int64{5})}
	o := nn.LoadOptions{Partial: true, Rename: func(name string) string { return "model." + name }}
	report, err := nn.LoadFrom(ctx, f, b, o)
	require.NoError(t, err)
	assert.Len(t, report.Mismatched, 2)
	o.Convert = true
	report, err = nn.LoadFrom(ctx, f, b, o)
	require.NoError(t, err)
	assert.Equal(t, []string{"w"}, report.Loaded)
	assert.Equal(t, "n", report.Mismatched[0].Tensor, "integers stay what they are")
	near(t, []float32{1, 2.5, 0.099975586}, b["w"], 0)
	assert.Equal(t, dtype.F16, b["w"].DType())
}

func TestTensorsOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	require.NoError(t, nn.Save(ctx, path, map[string]*tensor.Tensor{"a": tensor.Of([]float32{1, 2}, 2, 1), "b": tensor.Of([]bool{true, false})}))
	f, err := nn.OpenTensors(path)
	require.NoError(t, err)
	defer f.File.Close()
	assert.ElementsMatch(t, []string{"a", "b"}, f.Names())
	a, err := f.Tensor("a")
	require.NoError(t, err)
	assert.Equal(t, []int{2, 1}, a.Shape())
	near(t, []float32{1, 2}, a, 0)
	all, err := f.All()
	require.NoError(t, err)
	assert.Equal(t, dtype.Bool, all["b"].DType())
	_, err = f.Tensor("c")
	assert.ErrorContains(t, err, "not among the 2 tensors of the file")
	require.NoError(t, safetensors.Write(path, []safetensors.Entry{{Name: "q", DType: "F8_E8M0", Shape: []int64{1}, Data: []byte{1}}}, nil))
	f, err = nn.OpenTensors(path)
	require.NoError(t, err)
	defer f.File.Close()
	_, err = f.Tensor("q")
	assert.ErrorContains(t, err, "tensor q: its elements are F8_E8M0, which no tensor holds")
	_, err = nn.OpenTensors(path + "no")
	assert.ErrorContains(t, err, "no such file")
}
