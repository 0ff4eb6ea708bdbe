package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/tests/browser"
)

//go:embed chromium.js
var chromiumScript string

const (
	perCall  = 64               // shaders that Chromium compiles at a time
	patience = 60               // seconds for them
	every    = 20 * time.Second // progress is told
)

// chromium is a browser with a page that judges.
type chromium struct {
	browser *browser.Browser
	server  *httptest.Server
	page    *browser.Page
	has     plan.Features
}

func openChromium(work string) (*chromium, error) {
	folder := filepath.Join(work, "page")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte("<!doctype html><title>Shaders</title>"), 0o666); err != nil {
		return nil, err
	}
	b, err := browser.Start(context.Background())
	if err != nil {
		return nil, err
	}
	c := &chromium{browser: b, server: browser.Serve(folder)} // WebGPU is for pages from a server only
	if c.page, err = b.Open(c.server.URL + "/index.html"); err != nil {
		c.close()
		return nil, err
	}
	var features []string
	if err := c.page.Run(chromiumScript, &features); err != nil {
		c.close()
		return nil, err
	}
	for _, f := range []plan.Features{plan.Half, plan.Subgroups} {
		if slices.Contains(features, f.String()) {
			c.has |= f
		}
	}
	return c, nil
}

func (c *chromium) close() {
	c.server.Close()
	_ = c.browser.Close()
}

// judge gives what Chromium has against each shader; err is about all of them.
func (c *chromium) judge(part []shader) (why []string, err error) {
	raw, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	return why, c.page.Run(fmt.Sprintf("return await judge(%s, %d)", raw, patience), &why)
}

// askChromium has Chromium make a pipeline of every shader, as a page does, those aside that need what its adapter has not.
func askChromium(work string, all []shader) (v verdict, err error) {
	if _, err := browser.Find(); err != nil {
		return v, missing(err.Error())
	}
	c, err := openChromium(work)
	if err != nil {
		return v, err
	}
	defer func() { c.close() }()
	for _, s := range all {
		if c.has.Has(s.Needs) {
			v.asked = append(v.asked, s)
		}
	}
	said := time.Now()
	for at := 0; at < len(v.asked); at += perCall {
		part := v.asked[at:min(at+perCall, len(v.asked))]
		why, err := c.judge(part)
		if err != nil { // its graphics process may be gone: one by one, in new ones after each failure
			if why, c, err = oneByOne(work, c, part); err != nil {
				return v, err
			}
		}
		for i, w := range why {
			v.add(part[i], w)
		}
		if time.Since(said) > every {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "Chromium has seen %d of %d\n", at+len(part), len(v.asked))
		}
	}
	return v, nil
}

// oneByOne finds which of some shaders Chromium does not survive, or takes too long for.
func oneByOne(work string, c *chromium, part []shader) ([]string, *chromium, error) {
	why := make([]string, len(part))
	fresh := false
	for i := range part {
		if !fresh {
			c.close()
			next, err := openChromium(work)
			if err != nil {
				return nil, c, err
			}
			c = next
		}
		one, err := c.judge(part[i : i+1])
		if fresh = err == nil; fresh {
			why[i] = one[0]
		} else {
			why[i] = err.Error()
		}
	}
	return why, c, nil
}
