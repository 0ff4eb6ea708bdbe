package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
)

// Some cases are measured in a process of their own, a weft bench --child, which answers with one benchResult as JSON. What it
// prints is read like anything from outside: only so much of it, only what was asked for, or an error that says what is wrong.

// maxAnswer is how many bytes a child may print; a result has about 300.
const maxAnswer = 16 << 10

// inChild measures a case in a fresh process.
func inChild(ctx context.Context, name, device string) (*benchResult, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start it again: %w", err)
	}
	out, log := bounded{most: maxAnswer + 1}, bounded{most: maxAnswer} // one more, so that too much is seen
	c := exec.CommandContext(ctx, self, "bench", "--child", "--json", "--device", device, name)
	c.Stdout, c.Stderr = &out, &log
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("in a process of its own: %w\n%s", err, strings.TrimSpace(log.String()))
	}
	r, err := parseAnswer(out.Bytes(), name, device)
	if err != nil {
		return nil, fmt.Errorf("%s bench --child %s: %w; is it this version of weft?", self, name, err)
	}
	return r, nil
}

// parseAnswer reads what a child printed about a case on a device.
func parseAnswer(b []byte, name, device string) (*benchResult, error) {
	if len(b) > maxAnswer {
		return nil, fmt.Errorf("its answer is longer than %d bytes", maxAnswer)
	}
	var r benchResult
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it answered nothing")
		}
		return nil, fmt.Errorf("its answer is no result: byte %d: %.200v", d.InputOffset(), err) // which may name what it read
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("its answer goes on after the result, at byte %d", d.InputOffset())
	}
	if r.Case != name || r.Device != device {
		return nil, fmt.Errorf("it answered about case %.40q on device %.40q, not %q on %q", r.Case, r.Device, name, device)
	}
	for _, f := range r.numbers() {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			return nil, fmt.Errorf("its answer says %s %v", f.name, f.value)
		}
	}
	return &r, nil
}

type namedNumber struct {
	name  string
	value float64
}

// numbers lists what was measured; nothing of it is ever below zero.
func (r *benchResult) numbers() []namedNumber {
	return []namedNumber{
		{"median_ms", r.MedianMS}, {"min_ms", r.MinMS}, {"gflops", r.GFlops}, {"gbps", r.GBps}, {"of_peak", r.OfPeak},
		{"kernels", float64(r.Kernels)}, {"launches", float64(r.Launches)}, {"compile_ms", r.CompileMS},
		{"peak_bytes", float64(r.PeakBytes)}, {"threads", float64(r.Threads)}, {"one_thread_median_ms", r.OneThreadMS},
		{"one_thread_gflops", r.OneThreadGFlops}, {"one_thread_of_peak", r.OneThreadOfPeak},
	}
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	most int
}

// Write takes everything, so that the writer does not fail, and keeps what there is room for.
func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), b.most-b.Len())])
	return len(p), nil
}
