// Package webkit drives WebKit, the engine of Safari, so that tests see what its readers see: it starts WebKitGTK's small browser, opens pages, runs
// JavaScript in them and clicks. Its pages have the methods of those of packages browser and firefox.
//
// The browser is driven by the W3C's WebDriver, requests of JSON over HTTP, which WebKitWebDriver answers; what the consoles of pages say
// that protocol does not tell. A browser without a display is shown on one in memory (Xvfb). This package refuses to know what the pages
// are about.
//
//	b, err := webkit.Start(ctx, webkit.Options{})
//	page, err := b.Open("http://127.0.0.1:8080/")
//	err = page.Run(`return document.title`, &title)
package webkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-ml/weft/tests/browser"
	need "github.com/weft-ml/weft/tests/require"
)

// Options of Start.
type Options struct {
	// Unshared keeps SharedArrayBuffer from pages, as WebKitGTK does by itself, also of isolated ones. Safari has it there.
	Unshared bool
}

// Browser is a running driver. Each page that it opens is a browser of its own.
type Browser struct {
	// Version is what the browser calls itself, once a page was opened.
	Version string

	at        string // of the driver
	programs  []*exec.Cmd
	miniature string
}

// Find gives the paths of the driver and of the browser.
func Find() (driver, miniature string, err error) {
	driver, err = browser.Program("WebKit", "WEBKIT", "webkit2gtk-driver", "WebKitWebDriver")
	if err != nil {
		return "", "", err
	}
	for _, pattern := range []string{"/usr/lib/*/webkit2gtk-4.*/MiniBrowser", "/usr/lib*/webkit2gtk-4.*/MiniBrowser", "/usr/libexec/webkit2gtk-4.*/MiniBrowser"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return driver, found[0], nil
		}
	}
	return "", "", errors.New("WebKitWebDriver is here without MiniBrowser, which libwebkit2gtk-4.1-0 has")
}

// Start starts the driver. It ends with ctx and with Close. go test -short has no browser.
func Start(ctx context.Context, o Options) (*Browser, error) {
	if testing.Testing() && testing.Short() && !need.Required("WEBKIT") {
		return nil, errors.New("tests in a browser take minutes, and go test -short leaves them out")
	}
	driver, miniature, err := Find()
	if err != nil {
		return nil, err
	}
	b := &Browser{miniature: miniature}
	env := append(os.Environ(), "WEBKIT_DISABLE_COMPOSITING_MODE=1")
	if !o.Unshared {
		env = append(env, "JSC_useSharedArrayBuffer=1")
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		display, err := b.display(ctx)
		if err != nil {
			return nil, errors.Join(err, b.Close())
		}
		env = append(env, "DISPLAY="+display)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.at = "http://" + free.Addr().String()
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	cmd := exec.CommandContext(ctx, driver, "--port="+port)
	cmd.Env = env
	if err := b.start(cmd); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var status struct{ Ready bool }
		err := b.call("GET", "/status", nil, &status)
		if err == nil && status.Ready {
			return b, nil
		}
		if time.Now().After(end) {
			return nil, errors.Join(fmt.Errorf("%s does not answer: %w", driver, err), b.Close())
		}
	}
}

func (b *Browser) start(cmd *exec.Cmd) error {
	browser.Together(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	b.programs = append(b.programs, cmd)
	return nil
}

// display starts a display in memory and gives its name.
func (b *Browser) display(ctx context.Context) (string, error) {
	program, err := browser.Program("display in memory", "XVFB", "xvfb", "Xvfb")
	if err != nil {
		return "", err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer read.Close()
	cmd := exec.CommandContext(ctx, program, "-displayfd", "3", "-screen", "0", "1300x1000x24", "-nolisten", "tcp")
	cmd.ExtraFiles = []*os.File{write}
	err = b.start(cmd)
	write.Close()
	if err != nil {
		return "", err
	}
	number, err := io.ReadAll(io.LimitReader(read, 16))
	if err != nil || len(number) == 0 {
		return "", fmt.Errorf("%s has told no display: %w", program, err)
	}
	return ":" + strings.TrimSpace(string(number)), nil
}

// Close ends all.
func (b *Browser) Close() error {
	for i := len(b.programs) - 1; i >= 0; i-- {
		browser.KillAll(b.programs[i])
		_ = b.programs[i].Wait()
	}
	return nil
}

// patience is how long one request may take.
const patience = 3 * time.Minute

// call makes a request of the driver. What it answers goes to result, unless that is nil.
func (b *Browser) call(method, path string, body, result any) error {
	return b.callWithin(patience+10*time.Second, method, path, body, result)
}

func (b *Browser) callWithin(within time.Duration, method, path string, body, result any) error {
	var sent io.Reader
	if method == "POST" {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, b.at+path, sent)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Timeout: within}).Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var got struct{ Value json.RawMessage }
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		return fmt.Errorf("webdriver: %s: %w", res.Status, err)
	}
	if res.StatusCode != http.StatusOK {
		var why struct{ Error, Message string }
		_ = json.Unmarshal(got.Value, &why)
		return fmt.Errorf("webdriver: %s: %s", why.Error, why.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(got.Value, result)
}

// Page is the only tab of a browser.
type Page struct {
	b       *Browser
	session string
	once    sync.Once
}

type object = map[string]any

// Open opens a page in a browser of its own and waits until it has loaded.
func (b *Browser) Open(url string) (*Page, error) {
	var made struct {
		SessionID    string
		Capabilities struct{ BrowserVersion string }
	}
	wanted := object{"webkitgtk:browserOptions": object{"binary": b.miniature, "args": []string{"--automation"}},
		"timeouts": object{"script": patience.Milliseconds(), "pageLoad": patience.Milliseconds()}}
	var err error
	for range 3 { // now and then the driver never hears of a browser that it has started
		if err = b.callWithin(45*time.Second, "POST", "/session", object{"capabilities": object{"alwaysMatch": wanted}}, &made); err == nil || !os.IsTimeout(err) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	b.Version = "WebKitGTK " + made.Capabilities.BrowserVersion
	p := &Page{b: b, session: "/session/" + made.SessionID}
	err = p.post("/window/rect", object{"width": 1280, "height": 950}, nil)
	if err == nil {
		err = p.post("/url", object{"url": url}, nil)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Page) post(path string, body, result any) error {
	return p.b.call("POST", p.session+path, body, result)
}

// Run runs the body of an async function in the page and stores what it returns, as JSON, in result (nil: nowhere).
func (p *Page) Run(body string, result any) error {
	script := `const done = arguments[arguments.length - 1]
		const run = async () => { ` + body + ` }
		run().then((value) => done({ value: JSON.stringify(value) }), (e) => done({ error: String(e) + ' ' + (e?.stack ?? '') }))`
	var got struct{ Value, Error *string }
	if err := p.post("/execute/async", object{"script": script, "args": []any{}}, &got); err != nil {
		return err
	}
	if got.Error != nil {
		return fmt.Errorf("the page threw: %s", *got.Error)
	}
	if result == nil || got.Value == nil {
		return nil
	}
	return json.Unmarshal([]byte(*got.Value), result)
}

// Eventually asks the page again and again until the expression is true.
func (p *Page) Eventually(expression string, within time.Duration) error {
	return browser.Eventually(p.Run, expression, within)
}

// Click clicks the middle of the first element that a selector finds, after scrolling it into sight.
func (p *Page) Click(selector string) error {
	at, err := browser.At(p.Run, selector)
	if err != nil {
		return err
	}
	return p.Mouse([2]float64{at.X + at.Width/2, at.Y + at.Height/2})
}

// Mouse moves the mouse along points, with the left button held from the first to the last.
func (p *Page) Mouse(points ...[2]float64) error {
	var acts []object
	for i, at := range points {
		acts = append(acts, object{"type": "pointerMove", "duration": 50, "x": int(at[0]), "y": int(at[1])})
		if i == 0 {
			acts = append(acts, object{"type": "pointerDown", "button": 0})
		}
	}
	acts = append(acts, object{"type": "pointerUp", "button": 0})
	return p.post("/actions", object{"actions": []object{{"type": "pointer", "id": "mouse", "parameters": object{"pointerType": "mouse"}, "actions": acts}}}, nil)
}

// Close ends the page's browser.
func (p *Page) Close() (err error) {
	p.once.Do(func() { err = p.b.call("DELETE", p.session, nil, nil) })
	return err
}
