package serve

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// figures are what is told to Prometheus.
type figures struct {
	read, made, steps, gone atomic.Int64
	firstTimes, waits       histogram

	mu      sync.Mutex
	answers map[[2]string]int64 // by path and status
}

func (f *figures) begin() { f.answers = map[[2]string]int64{} }

func (f *figures) first(d time.Duration)  { f.firstTimes.add(d.Seconds()) }
func (f *figures) waited(d time.Duration) { f.waits.add(d.Seconds()) }

func (f *figures) answered(path string, status int) {
	f.mu.Lock()
	f.answers[[2]string{path, strconv.Itoa(status)}]++
	f.mu.Unlock()
}

// bounds are those of the histograms' buckets, in seconds.
var bounds = [...]float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

type histogram struct {
	mu     sync.Mutex
	counts [len(bounds)]int64 // of values up to each bound
	count  int64
	sum    float64
}

func (h *histogram) add(x float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, b := range bounds {
		if x <= b {
			h.counts[i]++
		}
	}
	h.count++
	h.sum += x
}

func (h *histogram) write(w io.Writer, name, help string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name)
	for i, b := range bounds {
		fmt.Fprintf(w, "%s_bucket{le=\"%g\"} %d\n", name, b, h.counts[i])
	}
	fmt.Fprintf(w, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", name, h.count, name, h.sum, name, h.count)
}

// metrics writes the figures in Prometheus' text format.
func (s *Server) metrics(w io.Writer) {
	f := &s.figures
	for _, c := range []struct {
		name, help string
		value      int64
	}{{"weft_prompt_tokens_total", "Tokens of prompts that were read.", f.read.Load()}, {"weft_tokens_total", "Tokens that were made.", f.made.Load()},
		{"weft_steps_total", "Steps, each of which makes a token of every text.", f.steps.Load()},
		{"weft_gone_total", "Requests whose clients went away.", f.gone.Load()}} {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s counter\n%s %d\n", c.name, c.help, c.name, c.name, c.value)
	}
	fmt.Fprintf(w, "# HELP weft_waiting Requests that wait for a place.\n# TYPE weft_waiting gauge\nweft_waiting %d\n", s.queued())
	fmt.Fprintf(w, "# HELP weft_uptime_seconds Seconds since the server began.\n# TYPE weft_uptime_seconds gauge\nweft_uptime_seconds %g\n", time.Since(s.begin).Seconds())
	f.firstTimes.write(w, "weft_first_token_seconds", "Seconds from a request to its first token.")
	f.waits.write(w, "weft_wait_seconds", "Seconds that a request waited for a place.")
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(w, "# HELP weft_requests_total Requests by path and status.\n# TYPE weft_requests_total counter\n")
	for k, n := range f.answers {
		fmt.Fprintf(w, "weft_requests_total{path=%q,status=%q} %d\n", k[0], k[1], n)
	}
}
