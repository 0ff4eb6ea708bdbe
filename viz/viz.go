// Package viz shows how one's own program becomes kernels, in a browser: the pages of the site that look inside, served on the loopback.
//
//	func main() {
//		defer viz.Open()()
//		…
//	}
//
// Without VIZ in the environment that does nothing. With VIZ=1 every plan that the program makes is recorded, and the pages are there while it
// runs and after it, until it is interrupted; VIZ=8090 takes that port. It refuses to know what the program computes.
package viz

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"
)

// Open begins to record and to serve where VIZ says so. What it gives ends that: where pages are served it waits for an interrupt.
func Open() (wait func()) {
	value := os.Getenv("VIZ")
	port, err := portOf(value)
	switch {
	case value == "" || value == "0":
		return func() {}
	case err != nil:
		fmt.Fprintln(os.Stderr, "weft:", err)
		os.Exit(2)
	}
	r := NewRecorder()
	l, err := Listen(port)
	if err != nil {
		fmt.Fprintf(os.Stderr, "weft: VIZ: %v; VIZ=1 takes a port that is free\n", err)
		os.Exit(1)
	}
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, r) }()
	fmt.Fprintf(os.Stderr, "weft: how this program becomes kernels is at http://%s/\n", l.Addr())
	return func() {
		r.Stop()
		if titles, _ := r.Titles(); len(titles) == 0 {
			fmt.Fprintln(os.Stderr, "weft: VIZ: the program has ended, and there is no plan to show")
			end()
			<-served
			return
		}
		fmt.Fprintf(os.Stderr, "weft: the program has ended; its plans are at http://%s/ until interrupted (Ctrl-C)\n", l.Addr())
		interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt) // not earlier: an interrupt means the program as long as it runs
		defer stop()
		context.AfterFunc(interrupted, end)
		if err := <-served; err != nil {
			fmt.Fprintln(os.Stderr, "weft: VIZ:", err)
		}
		end()
	}
}

// portOf is what VIZ says: 1 is any port.
func portOf(value string) (int, error) {
	switch value {
	case "", "0", "1":
		return 0, nil
	}
	port, err := strconv.Atoi(value)
	if err != nil || port < 1024 || port > 65535 {
		return 0, fmt.Errorf("VIZ=%s: it is 1, or a port from 1024 to 65535", value)
	}
	return port, nil
}

// Listen listens on the loopback; port 0 is any.
func Listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// Serve serves the pages of what is given until ctx ends.
func Serve(ctx context.Context, l net.Listener, of Source) error {
	s := &http.Server{Handler: handler(of), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
