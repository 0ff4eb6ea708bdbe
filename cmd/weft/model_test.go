package main

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// A model of the shared data is shown, and run with a picture, a file of its data set and numbers.
func TestModelCommands(t *testing.T) {
	dir := need.Data(t, "models", "mnist-8")
	model := filepath.Join(dir, "model.onnx")
	weft := func(args ...string) (string, string, int) {
		var out, log strings.Builder
		env := func(name string) string { return map[string]string{"DEV": "INTERP"}[name] }
		code := run(context.Background(), args, env, &out, &log)
		return out.String(), log.String(), code
	}
	out, log, code := weft("show", model)
	require.Equal(t, 0, code, log)
	require.Contains(t, out, "input  Input3: float32[1 1 28 28]")
	require.Contains(t, out, "5998 parameters")
	require.Contains(t, out, "Conv 2")

	out, log, code = weft("run", model, "--input", "Input3="+filepath.Join(dir, "test_data_set_0", "input_0.pb"))
	require.Equal(t, 0, code, log)
	require.Contains(t, out, "Plus214_Output_0: float32 [1 10]")

	picture := filepath.Join(t.TempDir(), "x.png")
	f, err := os.Create(picture)
	require.NoError(t, err)
	img := image.NewGray(image.Rect(0, 0, 50, 40)) // of another size than the model's
	img.Set(3, 3, color.Gray{200})
	require.NoError(t, png.Encode(f, img))
	require.NoError(t, f.Close())
	out, log, code = weft("run", model, "--input", "Input3="+picture)
	require.Equal(t, 0, code, log)
	require.Contains(t, out, "float32 [1 10]")

	array := filepath.Join(t.TempDir(), "x.npy")
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 28, 28), }"
	header += strings.Repeat(" ", 118-len(header)-1) + "\n"
	require.NoError(t, os.WriteFile(array, []byte("\x93NUMPY\x01\x00v\x00"+header+strings.Repeat("\x00", 4*28*28)), 0o600))
	out, log, code = weft("run", model, "--input", "Input3="+array)
	require.Equal(t, 0, code, log)
	require.Contains(t, out, "float32 [1 10]")
	out, log, code = weft("show", array)
	require.Equal(t, 0, code, log)
	require.Contains(t, out, "F32")
	out, log, code = weft("show", filepath.Join(need.Data(t, "models", "mnist-cnn-weights"), "mnist.pt"))
	require.Equal(t, 0, code, log)
	require.Contains(t, out, "F32")

	out, log, code = weft("show", "../../llm/testdata/architectures/gemma3")
	require.Equal(t, 0, code, log)
	require.Contains(t, out, "language model of the family gemma3_text: ")
	require.Contains(t, out, "all that it needs is there")
	out, log, code = weft("show", filepath.Join(need.Data(t, "models", "gguf"), "ggml-vocab-gpt-2.gguf"))
	require.Equal(t, 0, code, log)
	require.Contains(t, out, `language model of the family "gpt2", which is not supported: `)

	raw, err := os.ReadFile(model)
	require.NoError(t, err)
	for _, c := range [][2]string{{"Input3", "I\x1b[31m"}, {"CNTK", "\x1b[2J"}, {"Plus214_Output_0", "Plus\x1b]0;name\a__0"}} { // names that a terminal would obey
		raw = bytes.ReplaceAll(raw, []byte(c[0]), []byte(c[1]))
	}
	odd := filepath.Join(t.TempDir(), "odd.onnx")
	require.NoError(t, os.WriteFile(odd, raw, 0o600))
	out, log, code = weft("show", odd)
	require.Equal(t, 0, code, log)
	require.NotContains(t, out, "\x1b")
	require.Contains(t, out, `ONNX by \x1b[2J`)
	require.Contains(t, out, `input  I\x1b[31m: float32`)
	out, log, code = weft("run", odd, "--input", "I\x1b[31m="+array)
	require.Equal(t, 0, code, log)
	require.Contains(t, out, `Plus\x1b]0;name\a__0: float32 [1 10]`)

	raw = bytes.ReplaceAll(raw, []byte("MatMul"), []byte("M\x1b[31m"))
	require.NoError(t, os.WriteFile(odd, raw, 0o600))
	out, log, code = weft("show", odd)
	require.Equal(t, 0, code, log)
	require.Contains(t, out, `operators that are not known: M\x1b[31m`)
	_, log, code = weft("run", odd)
	require.NotEqual(t, 0, code)
	require.Contains(t, log, `operators that are not known: M\x1b[31m`)

	_, log, code = weft("run", model, "--input", "x=1")
	require.Equal(t, exitUsage, code)
	require.Contains(t, log, `no input "x"`)
	_, log, code = weft("run", model)
	require.Equal(t, exitUsage, code)
	require.Contains(t, log, "the input Input3 (float32[1 1 28 28]) is not given: --input Input3=…")
	_, log, code = weft("run", model, "--input", "Input3="+array, "--input", "Input3="+array)
	require.Equal(t, exitUsage, code)
	require.Contains(t, log, `there is a value for "Input3" already`)
	_, log, code = weft("run", model, "--input", "Input3=1,2")
	require.Equal(t, exitUsage, code)
	require.Contains(t, log, "2 numbers do not fill float32[1 1 28 28]")
	_, log, code = weft("run", model, "--input", "Input3="+renamed(t, model, "x.pb"))
	require.NotEqual(t, 0, code)
	require.Contains(t, log, "x.pb: onnx: ")
	out, log, code = weft("run", model, "--input", "Input3="+array, "--device", "NULL")
	require.NotEqual(t, 0, code)
	require.Contains(t, log, "compiles and never runs")
	require.Empty(t, out, "half a line")
	_, log, code = weft("show", picture)
	require.NotEqual(t, 0, code)
	require.Contains(t, log, "x.png")
}

// renamed copies a file to one of another name.
func renamed(t *testing.T, path, name string) string {
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	to := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(to, raw, 0o600))
	return to
}
