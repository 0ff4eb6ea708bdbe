// Command serve serves a folder of static files, as any host does: the site, for looking at it here.
//
//	go run ./wasm/serve -port 8080 site/dist
//	go run ./wasm/serve -port 8080 -terminal site/dist   only says where it would, unless someone sits before a terminal
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// policy is the strictest that the site works under.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; " +
	"img-src 'self' data: blob:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func main() {
	port := flag.Int("port", 8080, "port on this machine; 0 takes a free one")
	terminal := flag.Bool("terminal", false, "end at once where standard output is no terminal")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := serve(flag.Arg(0), *port, *terminal); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func serve(dir string, port int, terminal bool) error {
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
		return fmt.Errorf("%w; build the site with: make site", err)
	}
	if terminal && !isTerminal(os.Stdout) {
		fmt.Printf("The site is built in %s; serve it with: make serve PORT=%d\n", dir, port)
		return nil
	}
	at, err := net.Listen("tcp", "localhost:"+strconv.Itoa(port))
	if err != nil {
		return fmt.Errorf("%w; choose another port: make serve PORT=…", err)
	}
	fmt.Printf("The site is served at http://%s/ until interrupted (Ctrl-C).\n", at.Addr())
	server := http.Server{Handler: handler(dir), ReadHeaderTimeout: 10 * time.Second}
	if err := server.Serve(at); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handler serves files under the policy; compressed ones where there are any and the browser takes them.
func handler(dir string) http.Handler {
	files := http.FileServer(http.Dir(dir))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		if strings.HasSuffix(r.URL.Path, ".wasm") && strings.Contains(r.Header.Get("Accept-Encoding"), "br") {
			if _, err := http.Dir(dir).Open(r.URL.Path + ".br"); err == nil {
				h.Set("Content-Encoding", "br")
				h.Set("Content-Type", "application/wasm")
				r.URL.Path += ".br"
			}
		}
		files.ServeHTTP(w, r)
	})
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
