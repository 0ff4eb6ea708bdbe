package worker

import (
	"bytes"
	_ "embed"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// repeating is the worker with a player that can be told to play its plan several times.
//
//go:embed testdata/repeating.mjs
var repeating []byte

const asked = 25 // requests of a round

// BenchmarkRequest says how much processor time workerd takes for a request, and how much of that the kernels have: what a request takes
// more for each time that its plan is played again. So it needs Linux, which tells the time of a process.
//
//	WEFT_REQUIRE=WORKERD go test ./tests/worker -run xxx -bench . -benchtime 40x
func BenchmarkRequest(b *testing.B) {
	tools(b)
	folder := build(b)
	instead(b, folder, "repeating.mjs", repeating)
	d := start(b, folder)
	_, asPNG, asJSON := picture(b, 1)
	asks := func(plays string, n int, kind string, body []byte) time.Duration {
		status, _, err := d.ask("PUT", "/", "text/plain", strings.NewReader(plays))
		require.NoError(b, err)
		require.Equal(b, http.StatusOK, status)
		before := d.took(b)
		for range n {
			status, text, err := d.ask("POST", "/predict", kind, bytes.NewReader(body))
			require.NoError(b, err)
			require.Equal(b, http.StatusOK, status, text)
		}
		return d.took(b) - before
	}
	kinds := []struct {
		name, kind string
		body       []byte
		once, more []time.Duration
	}{{name: "PNG", kind: "image/png", body: asPNG}, {name: "JSON", kind: "application/json", body: asJSON}}
	for range 10 { // until what runs often is compiled well
		for _, c := range kinds {
			asks("1", 100, c.kind, c.body)
		}
	}
	for b.Loop() {
		for i := range kinds { // in turns, since the machine may be busy now and idle later
			c := &kinds[i]
			c.once, c.more = append(c.once, asks("1", asked, c.kind, c.body)), append(c.more, asks("5", asked, c.kind, c.body))
		}
	}
	for _, c := range kinds {
		report := func(what string, of func([]time.Duration) time.Duration) {
			ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 / asked }
			kernels := ms(of(c.more)-of(c.once)) / 4
			b.ReportMetric(kernels, c.name+"-ms-kernels-"+what)
			b.ReportMetric(ms(of(c.once))-kernels, c.name+"-ms-rest-"+what)
		}
		report("least", slices.Min)
		report("median", func(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] })
	}
	b.ReportMetric(0, "ns/op")
}

// took is the processor time that workerd has had.
func (d deployed) took(b *testing.B) (sum time.Duration) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", d.process))
	require.NoError(b, err)
	if len(threads) == 0 {
		b.Skip("the processor time of a process is read from /proc, as Linux has it")
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		require.NoError(b, err)
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		require.NoError(b, err)
		sum += time.Duration(ns)
	}
	return sum
}
