package main

import (
	"embed"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
)

//go:embed pages
var pages embed.FS

// serve serves the pages of the benchmark at /, the engine at /weft/ and node_modules at /peers/, all with the headers that make a
// page cross-origin isolated: without them no library has threads.
func serve(peers, engine string) *httptest.Server {
	return serveWith(peers, engine, func(*http.ServeMux) {})
}

// serveWith serves more than that.
func serveWith(peers, engine string, more func(mux *http.ServeMux)) *httptest.Server {
	mux := routes(peers, engine)
	more(mux)
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Embedder-Policy", "require-corp")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	}))
}

// routes says where which files are.
func routes(peers, engine string) *http.ServeMux {
	own, err := fs.Sub(pages, "pages")
	if err != nil {
		panic(err) // the name is right
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServerFS(own))
	mux.Handle("/weft/", http.StripPrefix("/weft", http.FileServer(http.Dir(engine))))
	mux.Handle("/peers/", http.StripPrefix("/peers", http.FileServer(http.Dir(filepath.Join(peers, "node_modules")))))
	mux.HandleFunc("/many.plan", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(manyDispatches()) })
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return mux
}
