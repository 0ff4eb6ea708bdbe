// Command serve serves a folder of static files, as any host does: the site, for looking at it here. It knows files and
// refuses to know what they do. It listens on this machine only unless told otherwise, answers only those who call it by a
// name of this machine, and shows nothing that lies outside of the folder.
//
//	go run ./wasm/serve -port 8080 site/dist
//	go run ./wasm/serve -host 192.168.1.5 site/dist      for other machines, under that address
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
	"time"
)

func main() {
	host := flag.String("host", "localhost", "address to listen at; any other than localhost shows the folder to other machines")
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
		context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait
		err = serve(ctx, dir, *host, *port, *terminal)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

// What a client may take its time for. Requests are short and have no body; how long a response may take depends on its size
// (see files.deadline).
const (
	headerTime  = 5 * time.Second
	requestTime = 10 * time.Second
	idleTime    = 30 * time.Second
	headerBytes = 16 << 10
	closingTime = 3 * time.Second // what is being sent when the server is interrupted may end
)

// serve serves dir until ctx ends; at another port than asked where that is taken and any will do.
func serve(ctx context.Context, dir, host string, port int, any bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	at, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil && any {
		at, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return fmt.Errorf("%w; choose another port: make serve PORT=…", err)
	}
	port = at.Addr().(*net.TCPAddr).Port
	fmt.Printf("The site is served at http://%s/ until interrupted (Ctrl-C).\n", net.JoinHostPort(host, strconv.Itoa(port)))
	server := newServer(handler(root, host))
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
		defer cancel()
		err := server.Shutdown(wait)
		if errors.Is(err, context.DeadlineExceeded) { // someone reads slowly: that is no failure of the server
			err = server.Close()
		}
		closed <- err
	})
	if err := server.Serve(at); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	return <-closed
}

// newServer is a server that no client holds for long.
func newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: leastTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes,
	}
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
