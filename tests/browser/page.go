package browser

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Tab is a page of any browser: those of packages firefox and webkit are ones too.
type Tab interface {
	Run(body string, result any) error
	Eventually(expression string, within time.Duration) error
	Click(selector string) error
	Mouse(points ...[2]float64) error
	Close() error
}

// Problems are what a page has complained about, where its browser's driver tells that; that of WebKit does not.
func Problems(p Tab) []string {
	if p, ok := p.(interface{ Problems() []string }); ok {
		return p.Problems()
	}
	return nil
}

// Page is a tab.
type Page struct {
	b       *Browser
	target  string
	session string

	mu       sync.Mutex
	problems []string
	events   map[string]func(params json.RawMessage)
	loaded   chan struct{}
}

// On has f called with every event of a name; nil ends it.
func (p *Page) On(event string, f func(params json.RawMessage)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.events == nil {
		p.events = map[string]func(json.RawMessage){}
	}
	p.events[event] = f
}

// Open opens a page and waits until it has loaded.
func (b *Browser) Open(url string) (*Page, error) {
	p := &Page{b: b, loaded: make(chan struct{}, 16)}
	var made struct{ TargetID string }
	if err := b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &made); err != nil {
		return nil, err
	}
	p.target = made.TargetID
	var at struct{ SessionID string }
	if err := b.call("", "Target.attachToTarget", map[string]any{"targetId": p.target, "flatten": true}, &at); err != nil {
		return nil, err
	}
	p.session = at.SessionID
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		if err := p.Call(domain+".enable", nil, nil); err != nil {
			return nil, err
		}
	}
	return p, p.Go(url)
}

// Go loads another address.
func (p *Page) Go(url string) error {
	var nav struct{ ErrorText string }
	if err := p.Call("Page.navigate", map[string]any{"url": url}, &nav); err != nil {
		return err
	}
	if nav.ErrorText != "" {
		return fmt.Errorf("open %s: %s", url, nav.ErrorText)
	}
	select {
	case <-p.loaded:
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("open %s: not loaded after a minute", url)
	}
}

// Call sends a command of the DevTools protocol.
func (p *Page) Call(method string, params, result any) error {
	return p.b.call(p.session, method, params, result)
}

// Resident is how many bytes of memory the processes have that run pages of the page's browser, workers among them. Linux tells.
func (p *Page) Resident() (n int64, err error) {
	var told struct {
		ProcessInfo []struct {
			Type string
			ID   int
		}
	}
	if err := p.b.call("", "SystemInfo.getProcessInfo", nil, &told); err != nil {
		return 0, err
	}
	for _, one := range told.ProcessInfo {
		if one.Type != "renderer" {
			continue
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", one.ID))
		if err != nil {
			return 0, err
		}
		var size, pages int64
		if _, err := fmt.Sscan(string(status), &size, &pages); err != nil {
			return 0, err
		}
		n += pages * int64(os.Getpagesize())
	}
	return n, nil
}

// remote is a value in the page.
type remote struct {
	Type, Subtype, Description string
	Value                      json.RawMessage
}

func (r remote) String() string {
	if len(r.Value) > 0 {
		var s string
		if json.Unmarshal(r.Value, &s) == nil {
			return s
		}
		return string(r.Value)
	}
	return r.Description
}

// exception is what a page threw.
type exception struct {
	Text      string
	URL       string
	Line      int `json:"lineNumber"`
	Exception *remote
}

func (e *exception) String() string {
	s := e.Text
	if e.Exception != nil {
		s += " " + e.Exception.String()
	}
	if e.URL != "" {
		s += fmt.Sprintf(" (%s:%d)", e.URL, e.Line+1)
	}
	return s
}

// hear collects what a page complains about.
func (p *Page) hear(method string, params json.RawMessage) {
	note := func(s string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.problems = append(p.problems, s)
	}
	p.mu.Lock()
	f := p.events[method]
	p.mu.Unlock()
	if f != nil {
		f(params)
	}
	switch method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Runtime.exceptionThrown":
		var e struct{ ExceptionDetails exception }
		if json.Unmarshal(params, &e) == nil {
			note(e.ExceptionDetails.String())
		}
	case "Runtime.consoleAPICalled":
		var e struct {
			Type string
			Args []remote
		}
		if json.Unmarshal(params, &e) == nil && (e.Type == "error" || e.Type == "warning" || e.Type == "assert") {
			var words []string
			for _, a := range e.Args {
				words = append(words, a.String())
			}
			note("console." + e.Type + ": " + strings.Join(words, " "))
		}
	case "Log.entryAdded":
		var e struct {
			Entry struct{ Level, Text, URL string }
		}
		if json.Unmarshal(params, &e) == nil && (e.Entry.Level == "error" || e.Entry.Level == "warning") {
			note(strings.TrimSpace(e.Entry.Level + ": " + e.Entry.Text + " " + e.Entry.URL))
		}
	}
}

// Problems are the errors and warnings that the page has written to its console since the last call.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.problems
	p.problems = nil
	return all
}

// Run runs the body of an async function in the page and stores what it returns, as JSON, in result (nil: nowhere).
func (p *Page) Run(body string, result any) error {
	var out struct {
		Result           remote
		ExceptionDetails *exception
	}
	err := p.Call("Runtime.evaluate", map[string]any{
		"expression": "(async () => {" + body + "\n})()", "awaitPromise": true, "returnByValue": true, "userGesture": true,
	}, &out)
	if err != nil {
		return err
	}
	if out.ExceptionDetails != nil {
		return fmt.Errorf("the page threw: %v", out.ExceptionDetails)
	}
	if result == nil || len(out.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(out.Result.Value, result)
}

// Eventually asks the page again and again until the expression is true.
func (p *Page) Eventually(expression string, within time.Duration) error {
	return Eventually(p.Run, expression, within)
}

// Eventually asks a page, of any browser, again and again until the expression is true; run is its Run.
func Eventually(run func(body string, result any) error, expression string, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		var yes bool
		if err := run("return !!("+expression+")", &yes); err != nil {
			return err
		}
		if yes {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %s", within, expression)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Mouse moves the mouse along points, with the left button held from the first to the last; one point is a click.
func (p *Page) Mouse(points ...[2]float64) error {
	event := func(kind string, at [2]float64, buttons int) error {
		e := map[string]any{"type": kind, "x": at[0], "y": at[1], "buttons": buttons, "button": "left", "clickCount": 1}
		if kind == "mouseMoved" && buttons == 0 {
			e["button"] = "none"
		}
		return p.Call("Input.dispatchMouseEvent", e, nil)
	}
	if err := event("mouseMoved", points[0], 0); err != nil {
		return err
	}
	if err := event("mousePressed", points[0], 1); err != nil {
		return err
	}
	for _, at := range points[1:] {
		if err := event("mouseMoved", at, 1); err != nil {
			return err
		}
	}
	return event("mouseReleased", points[len(points)-1], 0)
}

// Box is where an element lies in the window.
type Box struct{ X, Y, Width, Height float64 }

// At gives the box of the first element that a selector finds, after scrolling it into sight.
func (p *Page) At(selector string) (Box, error) { return At(p.Run, selector) }

// At is that of a page of any browser, whose Run run is. It waits, for a while, until two looks find the element in the same place: what a page shows late moves what is below.
func At(run func(body string, result any) error, selector string) (Box, error) {
	quoted, _ := json.Marshal(selector)
	var before *Box
	for range 40 {
		var b *Box
		err := run(`const e = document.querySelector(`+string(quoted)+`); if (!e) return null
			e.scrollIntoView({block: 'center', behavior: 'instant'}); const r = e.getBoundingClientRect()
			return {X: r.x, Y: r.y, Width: r.width, Height: r.height}`, &b)
		switch {
		case err != nil:
			return Box{}, err
		case b == nil:
			return Box{}, fmt.Errorf("the page has no %s", selector)
		case before != nil && *b == *before:
			return *b, nil
		}
		before = b
		time.Sleep(50 * time.Millisecond)
	}
	return *before, nil
}

// Click clicks the middle of an element.
func (p *Page) Click(selector string) error {
	b, err := p.At(selector)
	if err != nil {
		return err
	}
	return p.Mouse([2]float64{b.X + b.Width/2, b.Y + b.Height/2})
}

// Scheme makes the page light or dark.
func (p *Page) Scheme(name string) error {
	return p.Call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": name}},
	}, nil)
}

// Size sets the size of the window.
func (p *Page) Size(width, height int) error {
	return p.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Screenshot writes a PNG of what is seen.
func (p *Page) Screenshot(file string) error {
	var shot struct{ Data string }
	if err := p.Call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		return err
	}
	return os.WriteFile(file, raw, 0o666)
}

// Close closes the tab.
func (p *Page) Close() error {
	p.b.mu.Lock()
	delete(p.b.pages, p.session)
	p.b.mu.Unlock()
	return p.b.call("", "Target.closeTarget", map[string]any{"targetId": p.target}, nil)
}
