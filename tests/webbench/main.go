// Command webbench measures Weft in a page beside other libraries, in one run of headless Chromium: onnxruntime-web,
// TensorFlow.js and jax-js on WebAssembly, jax-js and a page of hand-written WGSL on WebGPU.
//
//	go run ./tests/webbench                    everything: make bench-web
//	go run ./tests/webbench -only wasm         one of wasm, webgpu, models, start, coldstart, encoding, or a part of a case's name
//	go run ./tests/webbench -json              a line of JSON for each result
//
// The others come from npm, at exact versions, into the user's cache folder. It knows what is compared with what;
// pages/ knows how each library does it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/weft-ml/weft/tests/browser"
)

// options are what the command line says.
type options struct {
	only   string
	json   bool
	rounds int
	ms     int    // of a framework's turn in a round
	peers  string // folder of the others, instead of the cache
	engine string // folder of a built engine, instead of a fresh one

	waterfall bool // print the requests of each visit
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "measure only this: wasm, webgpu, models, start, coldstart, encoding, or cases whose names contain it; several with commas")
	flag.BoolVar(&o.json, "json", false, "print a line of JSON for each result instead of tables")
	flag.IntVar(&o.rounds, "rounds", 9, "rounds in which every library has its turn")
	flag.IntVar(&o.ms, "ms", 150, "milliseconds of a turn")
	flag.StringVar(&o.peers, "peers", "", "folder with node_modules of the other libraries, instead of installing them")
	flag.StringVar(&o.engine, "engine", "", "folder of a built engine, instead of building it")
	flag.BoolVar(&o.waterfall, "waterfall", false, "print the requests of each visit of start: when, how many bytes")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "webbench:", err)
		os.Exit(1)
	}
}

// wants says whether -only names a group or a case.
func (o options) wants(group, name string) bool {
	if o.only == "" {
		return true
	}
	for _, w := range strings.Split(o.only, ",") {
		w = strings.TrimSpace(w)
		if w == group || name != "" && strings.Contains(name, w) {
			return true
		}
	}
	return false
}

func run(ctx context.Context, o options) error {
	peers, engine := o.peers, o.engine
	var err error
	if peers == "" {
		if peers, err = install(); err != nil {
			return err
		}
	}
	if engine == "" {
		if engine, err = os.MkdirTemp("", "weft-engine-"); err != nil {
			return err
		}
		defer os.RemoveAll(engine)
		if err := browser.Build(".", engine); err != nil {
			return err
		}
	}
	o.peers, o.engine = peers, engine
	server := serve(peers, engine)
	defer server.Close()
	// The package of the tests starts a browser only where it is asked for.
	os.Setenv("WEFT_REQUIRE", strings.Trim(os.Getenv("WEFT_REQUIRE")+",CHROMIUM", ","))
	p := printer{o: o}
	for _, g := range groups {
		if err := g.measure(ctx, o, &p, server.URL); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	if p.rows == 0 {
		return fmt.Errorf("nothing is called %q; see -help", o.only)
	}
	p.end()
	return nil
}

// line prints a result as JSON.
func line(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(b))
}
