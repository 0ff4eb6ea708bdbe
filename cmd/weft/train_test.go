package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/safetensors"
)

// writeDigits writes n random-looking pictures of h×w in the form of MNIST to a folder.
func writeDigits(t *testing.T, n, h, w int) string {
	dir := t.TempDir()
	for _, half := range []string{"train", "t10k"} {
		images, labels := []byte{0, 0, 8, 3}, []byte{0, 0, 8, 1}
		for _, d := range []int{n, h, w} {
			images = binary.BigEndian.AppendUint32(images, uint32(d))
		}
		labels = binary.BigEndian.AppendUint32(labels, uint32(n))
		for i := range n {
			for k := range h * w {
				images = append(images, byte(37*i*(k+1)+k*k))
			}
			labels = append(labels, byte(i%10))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, half+"-images-idx3-ubyte"), images, 0o666))
		require.NoError(t, os.WriteFile(filepath.Join(dir, half+"-labels-idx1-ubyte"), labels, 0o666))
	}
	return dir
}

// closeAfter forgets the devices that a test opened with settings of its own.
func closeAfter(t *testing.T, names ...string) {
	t.Cleanup(func() {
		for _, n := range names {
			if e, err := engine.Use(n); err == nil {
				e.Close()
			}
		}
	})
}

func TestTrainOnOtherData(t *testing.T) {
	closeAfter(t, "INTERP")
	dir := writeDigits(t, 12, 12, 9) // smaller than the network wants, so they get a margin
	file := filepath.Join(t.TempDir(), "net.safetensors")
	train := func(args ...string) (r trainResult) {
		args = append([]string{"train", "mnist", "--data", dir, "--device", "INTERP", "--steps", "2", "--batch", "3", "--test", "5", "--json"}, args...)
		code, out, log := weft(nil, args...)
		require.Zero(t, code, log)
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		return r
	}
	first := train("--save", file)
	assert.Len(t, first.Losses, 2)
	assert.Equal(t, []any{2, 3, 5, "INTERP"}, []any{first.Steps, first.Batch, first.Tested, first.Device})
	assert.Positive(t, first.PeakBytes)
	assert.Equal(t, first.Losses, train("--no-capture").Losses, "capturing changes nothing")
	assert.NotEqual(t, first.Losses, train("--seed", "2").Losses)

	f, err := safetensors.Open(file)
	require.NoError(t, err)
	defer f.Close()
	for _, name := range []string{"conv1.weight", "conv2.bias", "norm1.running_var", "norm2.weight", "out.weight"} {
		assert.Contains(t, f.Names(), name)
	}
}

func TestBenchJSON(t *testing.T) {
	closeAfter(t, "NULL")
	code, out, log := weft(nil, "bench", "--device", "NULL", "--json", "chain-1m")
	require.Zero(t, code, log)
	var keys map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &keys))
	for _, k := range []string{"case", "device", "median_ms", "min_ms", "gflops", "gbps", "of_peak", "kernels", "launches", "compile_ms", "peak_bytes"} {
		assert.Contains(t, keys, k)
	}
	assert.Equal(t, 1.0, keys["kernels"])
	assert.Equal(t, 1.0, keys["launches"])
}

// A compiler that was asked for and is not there is told, and the device is not called usable.
func TestMissingCompiler(t *testing.T) {
	closeAfter(t, "CPU", "INTERP")
	for device, want := range map[string]int{"": exitFailure, "CPU": exitFailure, "INTERP": 0} {
		for _, n := range []string{"CPU", "INTERP"} {
			if e, err := engine.Use(n); err == nil {
				e.Close()
			}
		}
		code, out, log := weft(map[string]string{"CC": "/no/such/cc", "DEV": device}, "devices")
		assert.Equal(t, want, code, log)
		assert.Contains(t, out, "  CPU     not usable: there is no C compiler /no/such/cc, which CC names", device)
		assert.Contains(t, out, "set CC to one that is there", device)
		assert.Contains(t, out, "INTERP  usable", device)
	}
}

func TestBadSettings(t *testing.T) {
	dir := writeDigits(t, 2, 20, 20)
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"CC": "/bin/false"}, "the C compiler does not work"},
		{map[string]string{"WEFT_CACHE": filepath.Join(dir, "train-images-idx3-ubyte", "x")}, "make it writable or set WEFT_CACHE"},
		{map[string]string{"WEFT_MEM": "100K"}, "raise WEFT_MEM"},
	} {
		if e, err := engine.Use("CPU"); err == nil {
			e.Close()
		}
		code, out, log := weft(c.env, "train", "mnist", "--data", dir, "--device", "CPU", "--steps", "1", "--batch", "1", "--test", "1")
		assert.Equal(t, 1, code)
		assert.Empty(t, out)
		assert.Contains(t, log, c.want)
		assert.NotContains(t, log, "goroutine")
	}
	if e, err := engine.Use("CPU"); err == nil {
		e.Close()
	}
}
