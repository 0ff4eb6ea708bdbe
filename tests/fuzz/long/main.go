// Command long runs the fuzzer for any time, on any devices, from any seed.
//
//	go run ./tests/fuzz/long -time 2h -seed 1 -devices CPU,WASM -out folder
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"time"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/tests/fuzz"
)

func main() {
	if os.Getenv(fuzz.WorkerVariable) != "" {
		out := os.Stdout
		os.Stdout = os.Stderr
		if err := fuzz.Serve(os.Stdin, out); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	length := flag.Duration("time", 10*time.Minute, "how long to run, over all devices")
	n := flag.Int("n", 0, "programs for each device; 0: as many as there is time for")
	seed := flag.Uint64("seed", 0, "the first seed; 0: from the clock")
	devices := flag.String("devices", "CPU,WASM,INTERP,WEBGPU", "devices, in turns")
	out := flag.String("out", "fuzz-findings", "folder for what is found")
	processes := flag.Int("p", goruntime.NumCPU(), "processes at a time")
	batch := flag.Int("batch", 60, "programs compiled together")
	most := flag.Int("most", 50, "stop after so many findings")
	shrink := flag.Duration("shrink", 2*time.Minute, "time to make a finding small")
	flag.Parse()
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano()) >> 10 << 20
	}
	if err := run(*length, *n, *seed, strings.Split(*devices, ","), *out, *processes, *batch, *most, *shrink); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(length time.Duration, n int, seed uint64, devices []string, out string, processes, batch, most int, shrink time.Duration) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cache, err := os.MkdirTemp("", "weft-fuzz-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	found := 0
	total := map[string]*fuzz.Count{}
	spent := map[string]time.Duration{}
	r := &fuzz.Runner{Command: []string{self}, Env: []string{fuzz.CacheVariable + "=" + cache}, Processes: processes, Batch: batch, Shrink: shrink}
	r.Report = func(f *fuzz.Finding, text string) {
		found++
		name := filepath.Join(out, fmt.Sprintf("%s-%d-%v.txt", strings.ReplaceAll(f.Device, " ", "-"), f.Seed, f.What))
		if err := os.MkdirAll(out, 0o777); err == nil {
			err = os.WriteFile(name, []byte(text), 0o666)
			if err != nil {
				fmt.Println(err)
			}
		}
		first, _, _ := strings.Cut(f.Text, "\n")
		fmt.Printf("FOUND %v by seed %d on %s: %.200s; %s\n", f.What, f.Seed, f.Device, first, name)
	}
	fmt.Printf("seeds from %d on, devices %v, %v\n", seed, devices, length)
	until := time.Now().Add(length)
	chunk := 10 * batch * processes
	if n > 0 {
		until = time.Time{}
	} else {
		n = math.MaxInt
	}
	for at := 0; at < n && (until.IsZero() || time.Now().Before(until)) && found < most; at += chunk {
		for _, d := range devices {
			start := time.Now()
			c, _, err := r.Run(d, seed+uint64(at), min(chunk, n-at), until, most-found)
			if err != nil {
				return err
			}
			if total[d] == nil {
				total[d] = &fuzz.Count{}
			}
			total[d].Add(c)
			spent[d] += time.Since(start)
			t := total[d]
			fmt.Printf("%s: %d programs (%d captured), %d ops, %d gradients, %d elements (%d exact, %d unknown), %d errors, %d not for the device, %.0f s; seeds to %d; %d found\n",
				d, t.Programs, t.Captured, t.Ops, t.Gradients, t.Elements, t.Fixed, t.Unknown, t.Errors, t.Skipped, spent[d].Seconds(), seed+uint64(min(at+chunk, n)), found)
		}
	}
	if found > 0 {
		return fmt.Errorf("%d programs fail; see the folder %s", found, out)
	}
	return nil
}
