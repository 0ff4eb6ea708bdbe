// Command serve serves a folder of static files, as any host does: the site, for looking at it here. It knows files and
// refuses to know what they do.
//
//	go run ./wasm/serve -port 8080 site/dist
//	go run ./wasm/serve -port 8080 -terminal site/dist   only says where it would, unless someone sits before a terminal
//	go run ./wasm/serve -weigh site/dist                 what each page makes a reader load
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
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
	terminal := flag.Bool("terminal", false, "end at once where standard input or output is no terminal; where the port is taken, take another")
	weighing := flag.Bool("weigh", false, "print what each page weighs instead of serving")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	dir := flag.Arg(0)
	_, err := os.Stat(filepath.Join(dir, "index.html"))
	switch {
	case err != nil:
		err = fmt.Errorf("%w; build the site with: make site", err)
	case *weighing:
		err = weigh(os.Stdout, dir)
	case *terminal && !(isTerminal(os.Stdin) && isTerminal(os.Stdout)):
		fmt.Printf("The site is built in %s. This serves it at http://localhost:%d/: make serve PORT=%[2]d\n", dir, *port)
	default:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		err = serve(ctx, dir, *port, *terminal)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

// serve serves dir until ctx ends; at another port than asked where that is taken and any will do.
func serve(ctx context.Context, dir string, port int, any bool) error {
	at, err := net.Listen("tcp", "localhost:"+strconv.Itoa(port))
	if err != nil && any {
		at, err = net.Listen("tcp", "localhost:0")
	}
	if err != nil {
		return fmt.Errorf("%w; choose another port: make serve PORT=…", err)
	}
	fmt.Printf("The site is served at http://localhost:%d/ until interrupted (Ctrl-C).\n", at.Addr().(*net.TCPAddr).Port)
	server := http.Server{Handler: handler(dir), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.Serve(at); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handler serves files under the policy; compressed ones where there are any and the browser takes them. The pages are
// isolated from those of other origins, without which browsers give no memory to share between threads: the site works
// without these two headers as well, on one thread.
func handler(dir string) http.Handler {
	files := http.FileServer(http.Dir(dir))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Embedder-Policy", "require-corp")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		if strings.HasSuffix(r.URL.Path, ".wasm") && strings.Contains(r.Header.Get("Accept-Encoding"), "br") {
			if f, err := http.Dir(dir).Open(r.URL.Path + ".br"); err == nil {
				f.Close()
				h.Set("Content-Encoding", "br")
				h.Set("Content-Type", "application/wasm")
				r.URL.Path += ".br"
			}
		}
		files.ServeHTTP(w, r)
	})
}

// isTerminal says whether a person may sit at the other end. The null device is a character device, too.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
