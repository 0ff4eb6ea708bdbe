package main

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
)

// BenchmarkChecks measures what it costs to look for wrong indices and classes: bench cases with and without, turn by
// turn on one thread, which other work disturbs less. It prints the medians, the ratio of the fastest, and the median of the
// ratios of neighbours. WEFT_DEVICES names the device, else it is CPU.
func BenchmarkChecks(b *testing.B) {
	device := "CPU"
	if d := os.Getenv("WEFT_DEVICES"); d != "" {
		device = d
	}
	for _, name := range []string{"embedding-step", "mlp-step", "mnist-convnet"} {
		b.Run(name, func(b *testing.B) { compareChecks(b, device, name) })
	}
}

func compareChecks(b *testing.B, device, name string) {
	ctx := context.Background()
	cases, err := pickCases([]string{name})
	require.NoError(b, err)
	back, ok := engine.Find(device)
	require.True(b, ok)
	defer engine.Configure(engine.Options{}, "")
	var works [2]*work
	use := []func(){
		func() { engine.Configure(engine.Options{Threads: 1}, device+"-CHECKED") },
		func() { engine.Configure(engine.Options{Threads: 1, Unchecked: true}, device+"-UNCHECKED") },
	}
	for i, suffix := range []string{"-CHECKED", "-UNCHECKED"} {
		named := back
		named.Name, named.Rank = device+suffix, 0
		engine.Register(named)
		use[i]()
		e, err := engine.Use("")
		require.NoError(b, err)
		defer e.Close()
		works[i], err = cases[0].prepare(ctx)
		require.NoError(b, err)
		for range 3 {
			require.NoError(b, works[i].run(ctx))
		}
	}
	var times [2][]float64
	for k := 0; b.Loop(); k++ {
		for i := range works {
			i = (i + k) % 2
			use[i]()
			start := time.Now()
			require.NoError(b, works[i].run(ctx))
			times[i] = append(times[i], time.Since(start).Seconds()*1e3)
		}
	}
	ratios := make([]float64, len(times[0]))
	for k := range ratios {
		ratios[k] = times[0][k] / times[1][k]
	}
	for i := range times {
		slices.Sort(times[i])
	}
	b.ReportMetric(times[0][0]/times[1][0], "min-ratio")
	b.ReportMetric(median(times[0]), "checked-ms")
	b.ReportMetric(median(times[1]), "unchecked-ms")
	b.ReportMetric(median(ratios), "ratio")
}
