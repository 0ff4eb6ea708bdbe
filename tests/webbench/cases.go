package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/tests/browser"
)

// compared is a case: its name in pages/cases.js, and at most how many times as long as the fastest of others it may take.
type compared struct {
	name    string
	limit   float64  // 0: for information
	against []string // whom the limit means; nil is all
}

// group is a set of cases measured in one way.
type group struct {
	name    string
	measure func(ctx context.Context, o options, p *printer, url string) error
}

var groups = []group{{"wasm", measureWASM}, {"webgpu", measureWebGPU}, {"models", measureModels}, {"start", measureStart}, {"coldstart", measureColdStart}, {"encoding", measureEncoding}}

var onWASM = []compared{
	{"matmul 512", 1.0, nil},
	{"matmul 1024", 1.0, nil},
	{"conv2d 1x64x56x56, 64 of 3x3", 1.2, nil},
	{"softmax 1024x1024", 1.2, nil},
	{"layer norm 1024x1024", 1.2, nil},
	{"training step 784-256-10, batch 64", 0.7, []string{"jax-js"}},
	{"nine elementwise ops on 1M", 0.7, nil},
	{"conv2d 1x512x7x7, 512 of 3x3", 1.2, nil},
	{"conv2d 1x256x56x56, 64 of 1x1", 1.2, nil},
	{"depthwise 1x128x56x56, 3x3", 1.2, nil},
	{"attention 8x512x64", 1.2, nil},
	{"a token of a block of 512, 255 before", 1.2, nil},
	{"convnet 8x1x28x28", 1.2, nil},
	{"sort 1M", 1.2, nil},
	{"ten largest of 1M", 1.2, nil},
	{"running sum of 1M", 1.2, nil},
}

var onWebGPU = []compared{
	{"matmul 1024", 0.7, []string{"jax-js"}},
	{"conv2d 1x512x7x7, 512 of 3x3", 1.0, []string{"jax-js"}},
	{"conv2d 1x256x56x56, 64 of 1x1", 1.0, []string{"jax-js"}},
	{"depthwise 1x128x56x56, 3x3", 1.0, []string{"jax-js"}},
	{"attention 8x512x64", 1.0, []string{"jax-js"}},
	{"a token of a block of 512, 255 before", 1.0, []string{"jax-js"}},
	{"convnet 8x1x28x28", 1.0, []string{"jax-js"}},
	{"sort 1M", 1.0, []string{"jax-js"}},
	{"ten largest of 1M", 1.0, []string{"jax-js"}},
	{"running sum of 1M", 1.0, []string{"jax-js"}},
}

const note = "Milliseconds from the call until the result is a typed array of the page; inputs stay with the library (onnxruntime-web takes\n" +
	"its first one from the page). Medians of %d rounds in which the libraries take turns, and the least and the greatest ratio within a\n" +
	"round; values were checked against float64.\n"

func measureWASM(ctx context.Context, o options, p *printer, url string) error {
	return p.compare(ctx, o, url, "wasm", onWASM, []string{"weft", "onnxruntime-web", "tfjs-wasm", "jax-js"})
}

func measureWebGPU(ctx context.Context, o options, p *printer, url string) error {
	return p.compare(ctx, o, url, "webgpu", onWebGPU, []string{"weft", "jax-js", "by hand"})
}

// timed is what a page tells of one library.
type timed struct {
	Failed    string    `json:"failed,omitempty"`
	Ms        float64   `json:"ms"`
	Low       float64   `json:"low"`
	High      float64   `json:"high"`
	Turns     []float64 `json:"turns,omitempty"` // the median of each round
	Kept      float64   `json:"kept,omitempty"`  // without the way to the page
	Runs      int       `json:"runs"`
	Threads   int       `json:"threads"`
	Deviation float64   `json:"error"` // from float64's values
}

// compare measures cases in one page that has all libraries.
func (p *printer) compare(ctx context.Context, o options, url, device string, cases []compared, names []string) error {
	var wanted []compared
	for _, c := range cases {
		if o.wants(device, c.name) {
			wanted = append(wanted, c)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return inPage(ctx, url+"/index.html", "globalThis.bench", func(page *browser.Page, version string) error {
		var about struct {
			Threads int
			Detail  string
		}
		if err := page.Run(fmt.Sprintf("return await bench.open([%s], %q)", quoted(names), device), &about); err != nil {
			return err
		}
		p.threads = about.Threads
		p.head(device, fmt.Sprintf("%s, %s, %d threads for everyone\n"+note, version, about.Detail, about.Threads, o.rounds), names)
		for _, c := range wanted {
			var got map[string]timed
			if err := page.Run(fmt.Sprintf("return await bench.measure(%q, {rounds: %d, ms: %d})", c.name, o.rounds, o.ms), &got); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			p.row(device, c, names, got)
		}
		return nil
	})
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, ", ")
}
