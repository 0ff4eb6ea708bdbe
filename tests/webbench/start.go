package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/tests/browser"
)

const startNote = "from navigation to the first product of 2×2 in the page, by default options: milliseconds, medians of %d fresh\n" +
	"browsers; warm is their third visit of the page. Processor time is that of all the browser's processes until the result; bytes are\n" +
	"those that came, compressed; waves is the longest row of requests of which each began when the one before had ended.\n"

// visitors are whose pages are visited: pages/start/*.html.
var visitors = []string{"weft", exportedPage, "jax-js", "tfjs-wasm"}

// exportedPage is the page of a folder that package export wrote, with no engine in it.
const exportedPage = "exported"

// startLimits are how many times as long as jax-js Weft may take, and exportedLimits an exported page.
var (
	startLimits    = map[string]float64{"start cold, 50 Mbit/s": 3, "start warm, 50 Mbit/s": 2, "start cold, local": 4}
	exportedLimits = map[string]float64{"start cold, 50 Mbit/s": 1, "start warm, 50 Mbit/s": 1, "start cold, local": 1}
)

// visit is what became of one visit.
type visit struct {
	ms, processor   float64
	bytes, requests int
	waves           int
	note            string
}

// measureStart visits pages with a browser that knows nothing of them, and again.
func measureStart(ctx context.Context, o options, p *printer, _ string) error {
	if !o.wants("coldstart", "") && !o.wants("start", "") {
		return nil
	}
	dir, err := os.MkdirTemp("", "weft-start-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, exportedPage)
	if err := exportProduct(ctx, folder); err != nil {
		return err
	}
	from := routes(o.peers, o.engine)
	from.Handle("/exported/", http.StripPrefix("/exported", http.FileServer(http.Dir(folder))))
	s := &site{from: from, dir: dir, built: o.engine}
	rounds := (o.rounds + 1) / 2
	p.threads = 0
	p.head("start", fmt.Sprintf(startNote, rounds), visitors)
	for _, who := range visitors { // files are compressed at the first visit
		if _, _, err := s.visitTwice(ctx, networks[0], who, false); err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
	}
	for _, n := range networks {
		visits := map[string][]visit{}
		for range rounds {
			for _, who := range visitors {
				cold, warm, err := s.visitTwice(ctx, n, who, o.waterfall)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", who, n.name, err)
				}
				visits["cold "+who], visits["warm "+who] = append(visits["cold "+who], cold), append(visits["warm "+who], warm)
			}
		}
		for _, how := range []string{"cold", "warm"} {
			p.visits(how, n, visits)
		}
	}
	return nil
}

// visits prints a row, and a line for each visitor.
func (p *printer) visits(how string, n network, visits map[string][]visit) {
	name := fmt.Sprintf("start %s, %s", how, n.name)
	got := map[string]timed{}
	var more []string
	for _, who := range visitors {
		all := visits[how+" "+who]
		t := timed{Runs: len(all)}
		var times, busy []float64
		for _, v := range all {
			times, busy = append(times, v.ms), append(busy, v.processor)
		}
		t.Turns = slices.Clone(times)
		slices.Sort(times)
		slices.Sort(busy)
		t.Ms, t.Low, t.High = times[len(times)/2], times[0], times[len(times)-1]
		got[who] = t
		last := all[len(all)-1]
		more = append(more, fmt.Sprintf("    %-10s %7.0f ms of processors, %3d requests in %d waves, %9d bytes, on %s", who, busy[len(busy)/2], last.requests, last.waves, last.bytes, last.note))
	}
	p.row("start", compared{name, startLimits[name], []string{"jax-js"}}, visitors, got)
	p.rowOf(exportedPage, "start", compared{name + ", exported", exportedLimits[name], []string{"jax-js"}}, visitors, map[string]timed{
		exportedPage: got[exportedPage], "jax-js": got["jax-js"],
	})
	if p.o.json {
		return
	}
	for _, m := range more {
		fmt.Println(m)
	}
}

// visitTwice visits a page with a fresh browser, and again when it has been there twice.
func (s *site) visitTwice(ctx context.Context, n network, who string, waterfall bool) (cold, warm visit, err error) {
	server, w := s.serve(n)
	defer server.Close()
	b, err := browser.Start(ctx)
	if err != nil {
		return cold, warm, err
	}
	defer b.Close()
	for i := range 3 {
		page, err := b.Open("about:blank")
		if err != nil {
			return cold, warm, err
		}
		w.taken()
		before, err := b.Processor()
		if err != nil {
			return cold, warm, err
		}
		v, err := visitOnce(page, server.URL+"/start/"+who+".html")
		if err != nil {
			return cold, warm, err
		}
		after, err := b.Processor()
		if err != nil {
			return cold, warm, err
		}
		v.processor = 1000 * (after - before)
		all := w.taken()
		v.requests, v.waves = len(all), waves(all)
		for _, r := range all {
			v.bytes += r.bytes
			if waterfall {
				fmt.Fprintf(os.Stderr, "%-9s %6.0f–%-6.0f %8d %s\n", who, ms(r.begun.Sub(all[0].begun)), ms(r.end.Sub(all[0].begun)), r.bytes, r.path)
			}
		}
		if i == 0 {
			cold = v
		}
		warm = v
		time.Sleep(settle) // the browser writes what it keeps
		if err := page.Close(); err != nil {
			return cold, warm, err
		}
	}
	return cold, warm, nil
}

const settle = 500 * time.Millisecond

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func visitOnce(page *browser.Page, url string) (v visit, err error) {
	if err := page.Go(url); err != nil {
		return v, err
	}
	var first struct {
		Values []float64
		Ms     float64
		Note   string
	}
	err = page.Eventually("globalThis.first", 60*time.Second)
	if err == nil {
		err = page.Run("return first", &first)
	}
	if err == nil && !slices.Equal(first.Values, []float64{7, 10, 15, 22}) {
		err = fmt.Errorf("the product is %v", first.Values)
	}
	if err != nil {
		return v, fmt.Errorf("%w; the page: %q", err, page.Problems())
	}
	return visit{ms: first.Ms, note: first.Note}, nil
}

// exportProduct exports the product that all pages compute.
func exportProduct(ctx context.Context, folder string) error {
	engine.Configure(engine.Options{}, "INTERP")
	if _, err := engine.Use(""); err != nil {
		return err
	}
	x := tensor.Of([]float32{1, 2, 3, 4}, 2, 2)
	f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].MatMul(in[0])} }, x)
	if err != nil {
		return err
	}
	_, err = export.Write(ctx, folder, map[string]*tensor.Captured{"product": f}, export.Options{})
	return err
}
