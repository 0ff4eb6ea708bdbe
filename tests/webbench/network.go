package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// network is what lies between a page and its server: every request waits for a round trip, a new connection for one more, and all
// share the bits of a second.
type network struct {
	name string
	trip time.Duration
	bits float64 // a second; 0: as many as there are
}

var networks = []network{{"local", 0, 0}, {"50 Mbit/s", 40 * time.Millisecond, 50e6}, {"10 Mbit/s", 40 * time.Millisecond, 10e6}}

// request is one that was answered.
type request struct {
	path       string
	bytes      int
	begun, end time.Time
}

// wire is a network with what goes over it. It is safe for concurrent use.
type wire struct {
	network
	mu       sync.Mutex
	free     time.Time // when the last byte is through
	requests []request
}

// through waits until so many bytes are through.
func (w *wire) through(n int) {
	if w.bits == 0 {
		return
	}
	w.mu.Lock()
	now := time.Now()
	if w.free.Before(now) {
		w.free = now
	}
	w.free = w.free.Add(time.Duration(8 * float64(n) / w.bits * float64(time.Second)))
	until := w.free
	w.mu.Unlock()
	time.Sleep(time.Until(until))
}

// taken gives what was asked for since the last call.
func (w *wire) taken() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.requests
	w.requests = nil
	return all
}

// counted counts the bytes of an answer and has them pass the wire.
type counted struct {
	http.ResponseWriter
	wire  *wire
	bytes int
}

const packet = 16 << 10

func (c *counted) Write(p []byte) (done int, err error) {
	for done < len(p) && err == nil {
		part := p[done:min(done+packet, len(p))]
		c.wire.through(len(part))
		var n int
		n, err = c.ResponseWriter.Write(part)
		done += n
	}
	c.bytes += done
	return done, err
}

// waves is how many requests waited for one another, the longest row: of two that were under way at the same time none did.
func waves(all []request) (deepest int) {
	wave := make([]int, len(all))
	for i, r := range all {
		wave[i] = 1
		for j, before := range all[:i] {
			if !before.end.After(r.begun) {
				wave[i] = max(wave[i], wave[j]+1)
			}
		}
		deepest = max(deepest, wave[i])
	}
	return deepest
}

// site serves files as a static host does that is set up well: compressed as far as brotli can, to be kept by browsers, isolated.
type site struct {
	from  http.Handler
	dir   string // compressed files
	built string // folder of the engine, which may have compressed files already
}

func (s *site) serve(n network) (*httptest.Server, *wire) {
	w := &wire{network: n}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		time.Sleep(n.trip)
		c := &counted{ResponseWriter: rw, wire: w}
		s.answer(c, r)
		w.mu.Lock()
		w.requests = append(w.requests, request{r.URL.Path, c.bytes, begun, time.Now()})
		w.mu.Unlock()
	}))
	return server, w
}

func (s *site) answer(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("Cache-Control", "max-age=31536000, immutable")
	file, kind, err := s.file(r)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Encoding", "br")
	h.Set("Content-Length", fmt.Sprint(len(file)))
	_, _ = w.Write(file)
}

// file is what a path leads to, compressed.
func (s *site) file(r *http.Request) (file []byte, kind string, err error) {
	at := filepath.Join(s.dir, strings.ReplaceAll(r.URL.Path, "/", "_")+".br")
	if name, ours := strings.CutPrefix(r.URL.Path, "/weft/"); ours && filepath.Ext(name) == ".wasm" {
		if data, err := os.ReadFile(filepath.Join(s.built, filepath.Base(name)+".br")); err == nil {
			return data, "application/wasm", nil
		}
	}
	plain := httptest.NewRecorder()
	s.from.ServeHTTP(plain, httptest.NewRequestWithContext(r.Context(), http.MethodGet, r.URL.Path, nil))
	if plain.Code != http.StatusOK {
		return nil, "", fmt.Errorf("%s: status %d", r.URL.Path, plain.Code)
	}
	kind = plain.Header().Get("Content-Type")
	if file, err = os.ReadFile(at); err == nil {
		return file, kind, nil
	}
	if file, err = brotli(plain.Body.Bytes()); err != nil {
		return nil, "", err
	}
	return file, kind, os.WriteFile(at, file, 0o666)
}

// brotli compresses with Node, which the other libraries need anyway to be installed.
func brotli(data []byte) ([]byte, error) {
	const script = `const z=require('zlib'),p=z.constants,b=require('fs').readFileSync(0);` +
		`process.stdout.write(z.brotliCompressSync(b,{params:{[p.BROTLI_PARAM_QUALITY]:11,[p.BROTLI_PARAM_LGWIN]:22,[p.BROTLI_PARAM_SIZE_HINT]:b.length}}))`
	cmd := exec.Command("node", "-e", script)
	var failed bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(data), &failed
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("compress with node: %w\n%s", err, failed.String())
	}
	return out, nil
}
