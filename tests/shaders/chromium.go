package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-ml/weft/tests/browser"
)

//go:embed chromium.js
var chromium string

// perCall is how many shaders Chromium compiles at a time.
const perCall = 64

// askChromium has Chromium make a pipeline of every shader, as a page does.
func askChromium(work string, files []string) (refused []string, err error) {
	if _, err := browser.Find(); err != nil {
		return nil, missing(err.Error())
	}
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
	defer b.Close()
	server := browser.Serve(folder) // WebGPU is for pages from a server only
	defer server.Close()
	page, err := b.Open(server.URL + "/index.html")
	if err != nil {
		return nil, err
	}
	if err := page.Run(chromium, nil); err != nil {
		return nil, err
	}
	said := time.Now()
	for at := 0; at < len(files); at += perCall {
		part := files[at:min(at+perCall, len(files))]
		sources := make([]string, len(part))
		for i, file := range part {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			sources[i] = string(text)
		}
		raw, err := json.Marshal(sources)
		if err != nil {
			return nil, err
		}
		var why []string
		if err := page.Run("return await judge("+string(raw)+")", &why); err != nil {
			return nil, err
		}
		for i, w := range why {
			if w != "" {
				refused = append(refused, filepath.Base(part[i])+": "+w)
			}
		}
		if time.Since(said) > 20*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "Chromium has seen %d of %d\n", at+len(part), len(files))
		}
	}
	return refused, nil
}
