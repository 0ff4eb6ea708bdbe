package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a run of all cases, in which Weft takes 1, 2 or 4 ms and the others 2 and 3, but for one that is wrong and fast.
func sample() *record {
	r := &record{Rounds: 2, MS: 10, Threads: 2, Limits: limits{100, 10}, Machine: []string{"a <machine>"}, About: map[string]string{"JAX": "JAX 1"}, One: limits{50, 8}}
	for _, g := range groups {
		for i, name := range g.names() {
			ours := float64(int(1) << (i % 3))
			r.Rows = append(r.Rows, row{Group: g.name, Case: listed{Name: name, About: "a & b", Flops: 1e8, Bytes: 1e7, ByBytes: i%2 == 1}, Results: map[string]result{
				weftName:       {MS: ours, Turns: []float64{ours, ours}, Least: ours / 2},
				"PyTorch":      {MS: 2, Turns: []float64{1, 3}, Least: 1},
				"JAX":          {MS: 3, Turns: []float64{3, 3}, Least: 0.5},
				"ONNX Runtime": {Lacks: true},
			}, Alone: &alone{MS: 6, Launches: []launched{{"r_8_8", 1, 3, 3e8, 6e6}, {"E_4", 2, 2, 0, 4e6}, {"E_2", 30, 0.1, 0, 0}}}})
		}
	}
	return r
}

func TestFigures(t *testing.T) {
	r := sample()
	f := r.Rows[0].figures(r.Limits)
	assert.Equal(t, figures{best: "PyTorch", ratio: 2, least: 1, most: 3, atBest: 1, share: 1}, f)
	f = r.Rows[1].figures(r.Limits)
	assert.Equal(t, figures{best: "PyTorch", ratio: 1, least: 0.5, most: 1.5, atBest: 0.5, share: 0.5}, f)
	assert.Equal(t, "0.50–1.50", f.spread())
	m := geomean(r.Rows[:3])
	assert.Equal(t, 3, m.n)
	assert.InDelta(t, 1, m.ratio, 1e-12, "2, 1 and 1/2")
	assert.InDelta(t, 0.5, m.atBest, 1e-12, "1, 1/2 and 1/4")
	assert.Zero(t, geomean(nil))
	assert.Equal(t, []float64{0, 3, 2.5}, []float64{median(nil), median([]float64{5, 3, 1}), median([]float64{3, 1, 2, 9})})
}

func TestWhoIsWrongIsNotFast(t *testing.T) {
	r := sample()
	r.Rows[0].Results["torch.compile"] = result{Wrong: "result 0 at (0,)"}
	assert.Equal(t, "PyTorch", r.Rows[0].figures(r.Limits).best)
	assert.Equal(t, []string{"matmul-256, torch.compile: result 0 at (0,)"}, r.wrong())
	r.Rows[1].Results = map[string]result{weftName: {MS: 1}, "JAX": {Lacks: true}}
	assert.Zero(t, r.Rows[1].figures(r.Limits).ratio, "nobody to compare with")
	r.Rows[2].Results[weftName] = result{Wrong: "no memory"}
	assert.Zero(t, r.Rows[2].figures(r.Limits).ratio)
	assert.Equal(t, 1, geomean(r.Rows[:3]).n)
}

func TestMemory(t *testing.T) {
	r := sample()
	assert.NotContains(t, r.document(), "### Memory")
	r.Memory = []resident{{"resnet18", map[string]float64{weftName: 130, "PyTorch": 600}, map[string]float64{weftName: 10, "PyTorch": 500}}}
	assert.Contains(t, r.document(), "| `resnet18` | 130 (10) | 600 (500) |  |  |  |\n")
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is asked how much memory a process has")
	}
	for _, name := range memoryCases {
		assert.True(t, slices.ContainsFunc(r.Rows, func(x row) bool { return x.Case.Name == name }), name)
	}
	before, err := mostResident(os.Getpid())
	require.NoError(t, err)
	block := make([]byte, 256<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	after, err := mostResident(os.Getpid())
	require.NoError(t, err)
	runtime.KeepAlive(block)
	assert.GreaterOrEqual(t, after-before, 200.0)
}

func TestDocument(t *testing.T) {
	r := sample()
	text := r.document()
	assert.NotContains(t, text, "%!", "every verb has its value")
	assert.Contains(t, text, "| `matmul-256` a & b | 1.00 | **2.00** |  | 3.00 |  | 2.00 | 1.00–3.00 | 1.00 | 100 % |")
	assert.Contains(t, text, "- `matmul-1024`, 0.50: on one thread 6.00 ms, 33 % of its limit; all threads are 1.50 × as fast; 33 launches; 15 % between launches; "+
		"`r_8_8` takes 50 %, 100.0 GFLOP/s, 2.0 GB/s; `E_4` takes 33 %, 2.0 GB/s.\n", "what is slower says why")
	assert.Regexp(t, "- `solve-200`, 0.50: .*2.0 GB/s\\. All rows take part", text, "and what else is known")
	assert.NotContains(t, text, "- `matmul-256`")
	m := geomean(r.Rows)
	assert.Contains(t, text, fmt.Sprintf("In the geometric mean of %d cases the ratio is **%.2f**", m.n, m.ratio))
	for _, g := range groups {
		assert.Contains(t, text, "### "+g.title)
		assert.Contains(t, r.summary(), g.title)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `") {
			assert.Equal(t, 6+len(libraries), strings.Count(line, "|"), line)
		}
	}
}

func TestNumbers(t *testing.T) {
	for ms, want := range map[float64]string{0.01234: "0.0123", 0.1234: "0.123", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234: "1234"} {
		assert.Equal(t, want, milliseconds(ms))
	}
	assert.Equal(t, "4.2 %", percent(0.042))
	assert.Equal(t, "42 %", percent(0.42))
}

func TestPlots(t *testing.T) {
	r := sample()
	for name, text := range map[string]string{"groups": r.groupPlot(), "rows": r.rowPlot()} {
		d := xml.NewDecoder(strings.NewReader(text))
		dots := 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, name)
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
				dots++
			}
		}
		assert.Equal(t, len(r.Rows), dots, name)
		assert.NotRegexp(t, `NaN|Inf|%!`, text)
		assert.Contains(t, text, "prefers-color-scheme:dark")
	}
	for _, x := range r.Rows {
		assert.Contains(t, r.rowPlot(), ">"+x.Case.Name+"<")
	}
	for _, g := range groups {
		assert.Contains(t, r.groupPlot(), ">"+g.title+"<")
	}
}

func TestAxis(t *testing.T) {
	a := axisOf([]float64{0.1, 3, 0})
	assert.Equal(t, axis{-4, 2}, a)
	assert.InDelta(t, plotLeft, a.x(1.0/16), 1e-9)
	assert.InDelta(t, plotWidth-plotRight, a.x(4), 1e-9)
	assert.InDelta(t, plotWidth-plotRight, a.x(64), 1e-9, "beyond the end")
	assert.Equal(t, []string{"1/4", "1", "2"}, []string{ratioLabel(-2), ratioLabel(0), ratioLabel(1)})
	assert.False(t, math.IsNaN(axisOf(nil).x(1)))
}

func TestWhatIsWanted(t *testing.T) {
	assert.True(t, options{}.wants("products", "matmul-512"))
	assert.True(t, options{only: "products"}.wants("products", "matmul-512"))
	assert.True(t, options{only: "conv, matmul"}.wants("products", "matmul-512"))
	assert.False(t, options{only: "conv,"}.wants("products", "matmul-512"))
}

// registered finds the names under which Python registers functions.
var registered = regexp.MustCompile(`(?:plain|gradients|training|case|conv)\("([a-z0-9 -]+)"|CASES\["([a-z0-9-]+)"\]`)

func registeredIn(t *testing.T, file string) (names []string) {
	text, err := python.ReadFile("python/" + file)
	require.NoError(t, err)
	for _, m := range registered.FindAllStringSubmatch(string(text), -1) {
		names = append(names, strings.Fields(m[1]+m[2])...)
	}
	return names
}

func TestEveryCaseHasPeers(t *testing.T) {
	var cases []string
	var models string
	for _, g := range groups {
		if g.name == "models" { // files of ONNX, which is what ONNX Runtime has to itself
			models = g.cases
			continue
		}
		cases = append(cases, g.names()...)
	}
	text, err := python.ReadFile("python/ort_cases.py")
	require.NoError(t, err)
	assert.Contains(t, string(text), fmt.Sprintf("FILES = %q", models))
	for _, file := range []string{"torch_cases.py", "jax_cases.py"} {
		assert.ElementsMatch(t, cases, registeredIn(t, file), file)
	}
	assert.Subset(t, cases, registeredIn(t, "ort_cases.py"))
	assert.NotEmpty(t, registeredIn(t, "ort_cases.py"))
	for name := range keeps {
		assert.Contains(t, cases, name, "keeps.go")
	}
	for _, lib := range libraries[1:] {
		_, err := python.ReadFile("python/" + lib.module + "_cases.py")
		assert.NoError(t, err, lib.name)
	}
}

// scripted is a worker that answers by a shell script.
func scripted(t *testing.T, name, script string) *worker {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs sh: ", err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	w, err := newWorker(name, exec.Command(sh, "-c", script), 1)
	require.NoError(t, err)
	t.Cleanup(workers{w}.stop)
	return w
}

func answering(load, run string) string {
	return fmt.Sprintf(`while read l; do case $l in *load*) echo '%s';; *) echo '%s';; esac; done`, load, run)
}

func TestTurns(t *testing.T) {
	ws := workers{
		scripted(t, weftName, answering(`{}`, `{"median_ms":4,"min_ms":3}`)), scripted(t, "PyTorch", answering(`{"wrong":"result 0"}`, `{"median_ms":1}`)),
		scripted(t, "JAX", answering(`{"lacks":true}`, `{"median_ms":1}`)), scripted(t, "ONNX Runtime", answering(`{}`, `{"median_ms":2,"min_ms":1}`)),
	}
	got, err := compare(options{rounds: 3}, ws, "matmul-256")
	require.NoError(t, err)
	assert.Equal(t, map[string]result{weftName: {MS: 4, Turns: []float64{4, 4, 4}, Least: 3}, "PyTorch": {Wrong: "result 0"}, "JAX": {Lacks: true},
		"ONNX Runtime": {MS: 2, Turns: []float64{2, 2, 2}, Least: 1}}, got)

	ws[0] = scripted(t, weftName, answering(`{"failed":"no memory"}`, ``))
	got, err = compare(options{rounds: 3}, ws, "matmul-256")
	require.NoError(t, err)
	assert.Equal(t, map[string]result{weftName: {Wrong: "no memory"}}, got)
}

func TestOnOneThread(t *testing.T) {
	a, err := measureAlone(scripted(t, aloneName, answering(`{}`, `{"median_ms":4,"launches":[{"kernel":"E_2","times":2,"ms":3,"bytes":8}]}`)), "matmul-256", 1)
	require.NoError(t, err)
	assert.Equal(t, &alone{4, []launched{{"E_2", 2, 3, 0, 8}}}, a)
	_, err = measureAlone(scripted(t, aloneName, answering(`{"failed":"no memory"}`, ``)), "matmul-256", 1)
	assert.ErrorContains(t, err, aloneName+", asked to load matmul-256: no memory")
	assert.Empty(t, row{}.says(limits{}))
	assert.Equal(t, "on one thread 4.00 ms; 2 launches; 25 % between launches; `E_2` takes 75 %", row{Alone: a}.says(limits{}))
}

func TestWorkersThatEnd(t *testing.T) {
	_, err := scripted(t, "JAX", "read l").ask(order{Do: "run"}, time.Minute)
	assert.ErrorContains(t, err, "JAX, asked to run : it has ended")
	_, err = scripted(t, "JAX", "exec sleep 60").ask(order{Do: "load", Case: "matmul-256"}, 50*time.Millisecond)
	assert.ErrorContains(t, err, "took too long")
	_, err = scripted(t, "JAX", "echo hello; exec sleep 1").ask(order{Do: "load", Case: "matmul-256"}, time.Minute)
	assert.ErrorContains(t, err, "invalid character")
}
