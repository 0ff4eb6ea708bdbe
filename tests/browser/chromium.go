// Package browser drives a headless Chromium, so that tests see what a reader's browser does: it starts it, opens
// pages, runs JavaScript in them, clicks, draws and takes pictures.
//
// It speaks the DevTools protocol through two pipes (--remote-debugging-pipe), so no other library is needed. It
// refuses to know what the pages are about.
//
//	b, err := browser.Start(ctx)
//	page, err := b.Open("http://127.0.0.1:8080/")
//	err = page.Run(`await (await fetch('data.json')).json()`, &value)
package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	need "github.com/weft-ml/weft/tests/require"
)

// flags make headless Chromium do WebGPU on the processor and keep it from calling home.
var flags = []string{
	"--headless", "--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan",
	"--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
	"--disable-dev-shm-usage", "--remote-debugging-pipe", "--window-size=1200,900", "--js-flags=--expose-gc",
}

// Find gives the path of Chromium: $CHROMIUM, else the usual names.
func Find() (string, error) {
	return Program("Chromium", "CHROMIUM", "chromium", "chromium", "chromium-browser", "google-chrome", "chrome")
}

// Program gives the path of a browser: what an environment variable names, else the first of the usual names that is there. Where none is, the error says
// which package of Debian has it.
func Program(browser, variable, debian string, names ...string) (string, error) {
	if own := os.Getenv(variable); own != "" {
		names = []string{own}
	}
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s: none of %s is on the PATH; install it with: sudo apt-get install %s (or set %s)", browser, strings.Join(names, ", "), debian, variable)
}

// Browser is a running Chromium.
type Browser struct {
	cmd     *exec.Cmd
	profile string
	out     io.WriteCloser
	noise   bytes.Buffer // what it printed

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	pages   map[string]*Page // by session
	ended   error
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// message is anything that Chromium sends.
type message struct {
	ID        int
	Method    string
	SessionID string `json:"sessionId"`
	Params    json.RawMessage
	reply
}

// starting is how long Chromium may take until it answers.
const starting = time.Minute

// Start starts Chromium and waits until it answers; where it does not, once more. more are flags beside the usual ones, or
// with a ! before them usual ones to leave out. It ends with ctx, with Close, and on Linux with the program that started it.
// go test -short has no browser: with a software GPU it takes minutes of both cores.
func Start(ctx context.Context, more ...string) (*Browser, error) {
	if testing.Testing() && testing.Short() && !need.Required("CHROMIUM") {
		return nil, errors.New("tests in a browser take minutes, and go test -short leaves them out")
	}
	path, err := Find()
	if err != nil {
		return nil, err
	}
	b, err := start(ctx, path, more)
	if err != nil {
		b, err = start(ctx, path, more)
	}
	return b, err
}

func start(ctx context.Context, path string, more []string) (*Browser, error) {
	profile, err := os.MkdirTemp("", "weft-chromium-")
	if err != nil {
		return nil, err
	}
	b := &Browser{profile: profile, waiting: map[int]chan reply{}, pages: map[string]*Page{}}
	fromUs, toIt, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromIt, toUs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b.out = toIt
	var args []string
	for _, f := range append(append(args, flags...), more...) {
		if !strings.HasPrefix(f, "!") && !slices.Contains(more, "!"+f) {
			args = append(args, f)
		}
	}
	b.cmd = exec.CommandContext(ctx, path, append(args, "--user-data-dir="+profile, "about:blank")...)
	b.cmd.ExtraFiles = []*os.File{fromUs, toUs}
	b.cmd.Stderr = &b.noise
	b.cmd.WaitDelay = time.Second // its crash handler may outlive it and hold the pipe
	Together(b.cmd)
	err = b.cmd.Start()
	fromUs.Close()
	toUs.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", path, err), os.RemoveAll(profile))
	}
	go b.listen(fromIt)
	awake := make(chan error, 1)
	go func() {
		_, err := b.Version()
		awake <- err
	}()
	select {
	case err = <-awake:
	case <-time.After(starting):
		err = fmt.Errorf("%s does not answer after %v", path, starting)
	}
	if err != nil {
		KillAll(b.cmd)
		_ = b.cmd.Wait()
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, b.noise.String()), b.out.Close(), os.RemoveAll(profile))
	}
	return b, nil
}

// listen hands on what Chromium sends until it ends.
func (b *Browser) listen(from io.ReadCloser) {
	defer from.Close()
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		raw, err := in.ReadBytes(0)
		if err != nil {
			b.end(fmt.Errorf("the browser has ended: %w", err))
			return
		}
		var m message
		if err := json.Unmarshal(raw[:len(raw)-1], &m); err != nil {
			b.end(fmt.Errorf("the browser sent something else than JSON: %w", err))
			return
		}
		b.mu.Lock()
		page, answer := b.pages[m.SessionID], b.waiting[m.ID]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		switch {
		case m.ID != 0 && answer != nil:
			answer <- m.reply
		case page != nil:
			page.hear(m.Method, m.Params)
		}
	}
}

func (b *Browser) end(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = why
	for id, w := range b.waiting {
		close(w)
		delete(b.waiting, id)
	}
}

// call sends a command and waits for what comes of it.
func (b *Browser) call(session, method string, params, result any) error {
	answer := make(chan reply, 1)
	b.mu.Lock()
	if b.ended != nil {
		b.mu.Unlock()
		return b.ended
	}
	b.next++
	id := b.next
	b.waiting[id] = answer
	b.mu.Unlock()
	command := map[string]any{"id": id, "method": method}
	if params != nil {
		command["params"] = params
	}
	if session != "" {
		command["sessionId"] = session
	}
	raw, err := json.Marshal(command)
	if err != nil {
		return err
	}
	b.mu.Lock()
	_, err = b.out.Write(append(raw, 0))
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	r, ok := <-answer
	switch {
	case !ok:
		return fmt.Errorf("%s: %w\n%s", method, b.ended, b.noise.String())
	case r.Error != nil:
		return fmt.Errorf("%s: %s", method, r.Error.Message)
	case result == nil:
		return nil
	}
	return json.Unmarshal(r.Result, result)
}

// Version is what the browser calls itself.
func (b *Browser) Version() (string, error) {
	var v struct{ Product string }
	err := b.call("", "Browser.getVersion", nil, &v)
	return v.Product, err
}

// Processor is how many seconds of processor time all processes of the browser have taken that are there.
func (b *Browser) Processor() (seconds float64, err error) {
	var all struct {
		ProcessInfo []struct{ CPUTime float64 }
	}
	err = b.call("", "SystemInfo.getProcessInfo", nil, &all)
	for _, p := range all.ProcessInfo {
		seconds += p.CPUTime
	}
	return seconds, err
}

// Close ends Chromium and removes what it wrote.
func (b *Browser) Close() error {
	done := make(chan struct{})
	go func() {
		_ = b.call("", "Browser.close", nil, nil)
		_ = b.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
	}
	KillAll(b.cmd) // what it left, such as a GPU process that is at work
	<-done
	return errors.Join(b.out.Close(), os.RemoveAll(b.profile))
}
