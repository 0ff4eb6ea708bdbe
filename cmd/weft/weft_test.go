package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/data"
	need "github.com/weft-ml/weft/tests/require"
)

// weft runs the program and returns what it prints.
func weft(env map[string]string, args ...string) (code int, out, log string) {
	var o, l bytes.Buffer
	code = run(context.Background(), args, func(k string) string { return env[k] }, &o, &l)
	return code, o.String(), l.String()
}

func TestVersion(t *testing.T) {
	code, out, log := weft(nil, "--version")
	assert.Zero(t, code, log)
	assert.Regexp(t, `^weft version \S+ go1\.\S+ \w+/\w+\n$`, out)
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"frobnicate", 2, `unknown command "frobnicate"`},
		{"bemch", 2, `unknown command "bemch" for "weft" (is bench meant?); see weft --help`},
		{"train mnst", 2, `unknown command "mnst" for "weft train" (is mnist meant?)`},
		{"train cifar", 2, `unknown command "cifar" for "weft train"`},
		{"train mnist extra", 2, `unknown command "extra"`},
		{"train mnist --steps x", 2, `invalid argument "x" for "--steps"`},
		{"train mnist --steps -1", 2, `invalid argument "-1" for "--steps" flag: at least 1 is needed; see weft train mnist --help`},
		{"train mnist --batch 0", 2, "1 to 1048576 is possible"},
		{"train mnist --batch 99999999", 2, "1 to 1048576 is possible"},
		{"train mnist --test -1", 2, "at least 0"},
		{"train mnist --seed -1", 2, "--seed"},
		{"train mnist --device NOPE", 2, `unknown device "NOPE": there are `},
		{"train mnist --device REF --data " + dir, 1, "holds no train-images-idx3-ubyte"},
		{"train mnist --save " + dir, 1, "is not a regular file; name another"},
		{"train mnist --save " + filepath.Join(dir, "no", "x"), 1, "create it first"},
		{"train mnist --save " + dir + "/no/../x", 1, "create it first"},
		{"bench matmul-7", 2, `unknown bench case "matmul-7"; there are limits`},
		{"bench --device NOPE", 2, `unknown device "NOPE"`},
		{"bench --device CPU:x", 2, `unknown device "CPU:X": a number from 0 to 63 belongs behind the colon`},
		{"bench --device CPU:64", 2, `unknown device "CPU:64"`},
		{"bench --device CPU+CPU:1", 2, "several devices by Shard"},
		{"bench --turns chain-1m", 2, "with --turns cases come in orders"},
		{"bench --launches chain-1m", 2, "--launches is for --turns"},
		{"tune report product-64 --time -2s", 2, "at least 0s"},
		{"tune report limits", 2, "case limits has no kernels to search for"},
		{"bench limits --device INTERP", 1, "bench limits: limits are measured of the processor, on the device CPU"},
		{"tune report --device NOPE", 2, `unknown device "NOPE"`},
		{"tune import " + filepath.Join(dir, "none"), 1, "no such file"},
		{"chat none --length -1", 2, "at least 0"},
		{"chat none --length 1", 2, "no room for an answer"},
		{"chat none --tokens -1", 2, "at least 0"},
		{"chat none --keep -1", 2, "at least 0"},
		{"chat none --device NOPE", 2, `unknown device "NOPE"`},
		{"chat none --device INTERP", 1, "none: no such file"},
		{"serve none --parallel 257", 2, "0 to 256 is possible"},
		{"serve none --waiting -1", 2, "at least 0"},
		{"serve none --body -1", 2, "at least 0"},
		{"serve none --length 1", 2, "no room for an answer"},
		{"serve none --port 0 --device INTERP", 1, "none: no such file"},
		{"show " + filepath.Join(dir, "none"), 1, "no such file"},
		{"run " + filepath.Join(dir, "none"), 1, "no such file"},
		{"run none --device NOPE", 2, `unknown device "NOPE"`},
		{"convert none " + filepath.Join(dir, "x.gguf"), 1, "no such file"},
		{"convert none " + filepath.Join(dir, "x.txt"), 2, "files that end in .gguf or .safetensors are written"},
		{"convert none " + filepath.Join(dir, "x.gguf") + " --to q9", 2, `tensors of type "Q9" are not written there`},
		{"convert none " + filepath.Join(dir, "x.safetensors") + " --to q4_0", 2, `tensors of type "Q4_0" are not written there`},
		{"viz none", 1, "no such file"},
		{"viz none --port 65536", 2, "0 to 65535 is possible"},
		{"viz none --device NOPE", 2, `unknown device "NOPE"`},
		{"help frobnicate", 2, `unknown help topic "frobnicate"; see weft --help`},
		{"help train frobnicate", 2, `unknown help topic "train frobnicate"`},
		{"devices 1", 2, `unknown command "1"`},
		{"export mnist", 2, "accepts 2 arg(s), received 1"},
		{"export nothing " + dir, 2, "there is neither a file nor a function nothing: name a file of tensor.SaveFunctions, or mlp, mnist, transformer-block"},
		{"export mlp --weights int4 " + dir, 2, "there are float16, float32, int8"},
		{"export mnist --batch 0 " + dir, 2, "1 to 65536 is possible"},
		{"export mlp --model x " + dir, 2, "only mnist takes weights"},
		{"export mlp --device INTERP --for wasm,CUDA " + dir, 2, `invalid argument "wasm,CUDA" for "--for" flag: there are WASM, WEBGPU`},
		{"export mlp --device INTERP --for= " + dir, 2, "name one or both of WASM, WEBGPU"},
		{"export " + dir + " " + dir, 1, "is a directory"},
	} {
		code, out, log := weft(nil, strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, c.args)
		assert.Empty(t, out, c.args)
		assert.Contains(t, log, "weft: ")
		assert.Contains(t, log, c.want, c.args)
	}
	left, _ := os.ReadDir(dir)
	assert.Empty(t, left)
	code, out, _ := weft(nil, "--help")
	assert.Zero(t, code)
	assert.Contains(t, out, "devices")
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A command whose results could not be written has failed.
func TestLostResults(t *testing.T) {
	for _, args := range []string{"devices", "--help", "show " + need.Data(t, "models", "mnist-8", "model.onnx")} {
		var log bytes.Buffer
		code := run(context.Background(), strings.Fields(args), func(string) string { return "" }, full{}, &log)
		assert.Equal(t, exitFailure, code, args)
		assert.Contains(t, log.String(), "weft: no space left", args)
	}
}

func TestSettings(t *testing.T) {
	env := map[string]string{"CC": "gcc -m64", "WEFT_CACHE": "/c", "NOOPT": "1", "UNCHECKED": "1", "WEFT_THREADS": "3", "WEFT_MEM": "64M", "DEBUG": "4", "DEV": "interp"}
	o, dev, err := settings(func(k string) string { return env[k] }, nil)
	require.NoError(t, err)
	assert.Equal(t, "interp", dev)
	assert.Equal(t, []any{"gcc -m64", "/c", true, 3, int64(64 << 20), 4}, []any{o.CC, o.CacheDir, o.NoOpt && o.Unchecked, o.Threads, o.MemoryLimit, o.Debug})
	for k, v := range map[string]string{"WEFT_THREADS": "0", "WEFT_MEM": "-1M", "DEBUG": "7", "DEV": "NOPE", "NOOPT": "maybe"} {
		code, out, log := weft(map[string]string{k: v}, "devices")
		assert.Equal(t, 2, code)
		assert.Empty(t, out, "no device is at fault")
		assert.Contains(t, log, k+"="+v)
	}
}

// parrot is a trainee that knows the label because the first pixel says it.
type parrot struct {
	losses []float64
	fail   error
	seen   int
}

func (p *parrot) Step(context.Context, []int32) (float64, error) {
	loss := p.losses[p.seen%len(p.losses)]
	p.seen++
	return loss, p.fail
}

func (p *parrot) Predict(_ context.Context, images []byte) (out [][data.Classes]float32, err error) {
	for i := 0; i < len(images); i += 6 {
		var probs [data.Classes]float32
		probs[images[i]] = 0.75
		out = append(out, probs)
	}
	return out, nil
}

func (p *parrot) Save(context.Context, string) error { return nil }
func (p *parrot) Device() string                     { return "PARROT" }
func (p *parrot) PeakBytes() int64                   { return 42 }

// tinySet has n test pictures of 2×3 of which the first pixel is the label but for every fourth one.
func tinySet(n int) *data.Set {
	set := &data.Set{}
	for _, s := range []*data.Split{&set.Train, &set.Test} {
		*s = data.Split{Images: make([]byte, n*6), Labels: make([]byte, n), N: n, H: 2, W: 3}
		for i := range n {
			s.Labels[i] = byte(i % 10)
			s.Image(i)[0] = byte((i + (i%4)/3) % 10)
		}
	}
	return set
}

func TestLearn(t *testing.T) {
	var log bytes.Buffer
	p := &program{log: &log, out: &bytes.Buffer{}}
	for _, n := range []int{3, 500, 1203} {
		r, guesses, err := p.learn(context.Background(), &parrot{losses: []float64{2.5, 1.5}}, tinySet(n), trainOptions{Steps: 4, Batch: 7})
		require.NoError(t, err)
		assert.Equal(t, float64(n-n/4)/float64(n), r.TestAccuracy)
		assert.Equal(t, []float64{2.5, 1.5, 2.5, 1.5}, r.Losses)
		assert.Len(t, guesses, n)
		raw, err := json.Marshal(r)
		require.NoError(t, err)
		var keys map[string]any
		require.NoError(t, json.Unmarshal(raw, &keys))
		for _, k := range []string{"test_accuracy", "losses", "steps", "batch", "seconds", "step_ms_median", "device", "peak_bytes"} {
			assert.Contains(t, keys, k)
		}
		assert.Len(t, keys, 9)
	}
	assert.Contains(t, log.String(), "step 1/4  loss 2.5000")
	assert.Contains(t, log.String(), "test 1203/1203")

	_, _, err := p.learn(context.Background(), &parrot{losses: []float64{math.NaN()}}, tinySet(9), trainOptions{Steps: 2, Batch: 1})
	assert.ErrorContains(t, err, "step 0: the loss is NaN: the training has diverged")
	boom := errors.New("boom")
	_, _, err = p.learn(context.Background(), &parrot{losses: []float64{1}, fail: boom}, tinySet(9), trainOptions{Steps: 2, Batch: 1})
	assert.ErrorIs(t, err, boom)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err = p.learn(ctx, &parrot{losses: []float64{1}}, tinySet(9), trainOptions{Steps: 2, Batch: 1})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestStreamShowsEachPictureOnce(t *testing.T) {
	s := newStream(10, 1)
	var first, again []int32
	for epoch := range 3 {
		seen := map[int32]bool{}
		again = nil
		for range 2 {
			batch := make([]int32, 5)
			s.next(batch)
			again = append(again, batch...)
			for _, i := range batch {
				seen[i] = true
			}
		}
		assert.Len(t, seen, 10)
		if epoch == 0 {
			first = again
		}
	}
	assert.NotEqual(t, first, again, "each time in another order")
	batch := make([]int32, 25)
	newStream(10, 1).next(batch)
	assert.Equal(t, first, batch[:10], "the seed decides, and a batch may be larger than the set")
}

func TestShow(t *testing.T) {
	var out bytes.Buffer
	set := data.Synthetic(1, 0, 20)
	guesses := make([]guess, 20)
	for i, l := range set.Test.Labels {
		guesses[i] = guess{l, 0.9}
	}
	guesses[7] = guess{(set.Test.Labels[7] + 1) % 10, 0.5}
	(&program{out: &out}).show(set.Test, guesses)
	text := out.String()
	assert.Contains(t, text, "█")
	assert.Contains(t, text, "90 % sure")
	assert.Contains(t, text, "got wrong")
	assert.Contains(t, text, "50 % sure (is ")
	assert.Len(t, strings.Split(text, "\n"), 14+2+1+14+2+1)
	for room, want := range map[int]int{0: 4, 200: 4, 118: 4, 117: 3, 80: 2, 57: 1, 10: 1} {
		assert.Equal(t, want, beside(captioned(28), room), "of a terminal with %d columns", room)
	}
	// Odd and large sizes fit.
	for _, size := range [][2]int{{1, 1}, {3, 5}, {100, 90}} {
		lines := picture(bytes.Repeat([]byte{255}, size[0]*size[1]), size[0], size[1])
		for _, l := range lines {
			assert.LessOrEqual(t, len([]rune(l)), 40)
			assert.Equal(t, l, strings.Repeat("█", len([]rune(l))))
		}
	}
	t.Log("\n" + text)
}
