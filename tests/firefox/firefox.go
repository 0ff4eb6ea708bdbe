// Package firefox drives a headless Firefox, so that tests see what its readers see: it starts it, opens pages, runs JavaScript in them and
// clicks. Its pages have the methods of those of package browser, which drives Chromium.
//
// Firefox speaks WebDriver BiDi, and puppeteer-core, a library of JavaScript, speaks with it: driver.mjs runs in Node and takes commands, which
// this package gives. It refuses to know what the pages are about.
//
//	b, err := firefox.Start(ctx)
//	page, err := b.Open("http://127.0.0.1:8080/")
//	err = page.Run(`return document.title`, &title)
package firefox

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/weft-ml/weft/tests/browser"
	"github.com/weft-ml/weft/tests/npm"
	need "github.com/weft-ml/weft/tests/require"
)

var (
	//go:embed tools/package.json
	manifest []byte
	//go:embed tools/package-lock.json
	lock []byte
	//go:embed driver.mjs
	driver string
)

// Find gives the path of Firefox: $FIREFOX, else the usual names.
func Find() (string, error) {
	return browser.Program("Firefox", "FIREFOX", "firefox-esr", "firefox-esr", "firefox")
}

// Browser is a running Firefox.
type Browser struct {
	// Version is what it calls itself.
	Version string

	cmd   *exec.Cmd
	in    io.WriteCloser
	noise bytes.Buffer // what the driver printed

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	pages   map[int]*Page
	ended   error
}

type answer struct {
	Result json.RawMessage
	Error  *string
}

// message is a line of the driver: an answer, or what a page complains about.
type message struct {
	Number, Page int
	Problem      string
	answer
}

// Start starts Firefox and waits until it answers. prefs are settings of about:config. It ends with ctx, with Close, and with the program that
// started it. go test -short has no browser.
func Start(ctx context.Context, prefs map[string]any) (*Browser, error) {
	if testing.Testing() && testing.Short() && !need.Required("FIREFOX") {
		return nil, errors.New("tests in a browser take minutes, and go test -short leaves them out")
	}
	program, err := Find()
	if err != nil {
		return nil, err
	}
	home, err := npm.Tools("FIREFOX", manifest, lock)
	if err != nil {
		return nil, err
	}
	b := &Browser{waiting: map[int]chan answer{}, pages: map[int]*Page{}}
	b.cmd = exec.CommandContext(ctx, "node", "--input-type=module", "--eval", driver)
	b.cmd.Env = append(os.Environ(), "WEFT_TOOLS="+home)
	b.cmd.Stderr = &b.noise
	b.cmd.WaitDelay = 10 * time.Second
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	b.cmd.Cancel = b.in.Close // it ends Firefox first
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start node: %w (it drives Firefox; on Debian: sudo apt-get install nodejs)", err)
	}
	go b.listen(out)
	if err := b.call("start", map[string]any{"program": program, "prefs": prefs}, &b.Version); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// listen hands on what the driver says until it ends.
func (b *Browser) listen(out io.Reader) {
	lines := json.NewDecoder(bufio.NewReader(out))
	for {
		var m message
		if err := lines.Decode(&m); err != nil {
			b.mu.Lock()
			b.ended = fmt.Errorf("the driver of Firefox has ended: %w", err)
			for number, w := range b.waiting {
				close(w)
				delete(b.waiting, number)
			}
			b.mu.Unlock()
			return
		}
		b.mu.Lock()
		page, waits := b.pages[m.Page], b.waiting[m.Number]
		delete(b.waiting, m.Number)
		b.mu.Unlock()
		switch {
		case waits != nil:
			waits <- m.answer
		case page != nil:
			page.mu.Lock()
			page.problems = append(page.problems, m.Problem)
			page.mu.Unlock()
		}
	}
}

// call gives the driver a command and waits for what comes of it.
func (b *Browser) call(name string, args map[string]any, result any) error {
	waits := make(chan answer, 1)
	b.mu.Lock()
	if b.ended != nil {
		b.mu.Unlock()
		return b.ended
	}
	b.next++
	number := b.next
	b.waiting[number] = waits
	raw, err := json.Marshal(map[string]any{"number": number, "name": name, "args": args})
	if err == nil {
		_, err = b.in.Write(append(raw, '\n'))
	}
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a, ok := <-waits
	switch {
	case !ok:
		return fmt.Errorf("%s: %w\n%s", name, b.ended, b.noise.String())
	case a.Error != nil:
		return fmt.Errorf("%s: %s", name, *a.Error)
	case result == nil || len(a.Result) == 0:
		return nil
	}
	return json.Unmarshal(a.Result, result)
}

// Close ends Firefox.
func (b *Browser) Close() error {
	err := b.in.Close()
	_ = b.cmd.Wait() // the driver ends Firefox when nothing more comes
	return err
}
