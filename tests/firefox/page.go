package firefox

import (
	"sync"
	"time"

	"github.com/weft-ml/weft/tests/browser"
)

// Page is a tab.
type Page struct {
	b  *Browser
	id int

	mu       sync.Mutex
	problems []string
}

// Open opens a page and waits until it has loaded.
func (b *Browser) Open(url string) (*Page, error) {
	b.mu.Lock()
	p := &Page{b: b, id: len(b.pages) + 1}
	b.pages[p.id] = p
	b.mu.Unlock()
	return p, p.call("open", map[string]any{"url": url}, nil)
}

func (p *Page) call(name string, args map[string]any, result any) error {
	args["id"] = p.id
	return p.b.call(name, args, result)
}

// Problems are the errors and warnings that the page has written to its console since the last call, what its policy forbade, and files that
// did not come.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.problems
	p.problems = nil
	return all
}

// Run runs the body of an async function in the page and stores what it returns, as JSON, in result (nil: nowhere).
func (p *Page) Run(body string, result any) error {
	return p.call("run", map[string]any{"body": body}, result)
}

// Eventually asks the page again and again until the expression is true.
func (p *Page) Eventually(expression string, within time.Duration) error {
	return browser.Eventually(p.Run, expression, within)
}

// Click clicks the middle of the first element that a selector finds, after scrolling it into sight.
func (p *Page) Click(selector string) error {
	return p.call("click", map[string]any{"selector": selector}, nil)
}

// Mouse moves the mouse along points, with the left button held from the first to the last.
func (p *Page) Mouse(points ...[2]float64) error {
	return p.call("draw", map[string]any{"points": points}, nil)
}

// Screenshot writes a PNG of what is seen.
func (p *Page) Screenshot(file string) error {
	return p.call("shot", map[string]any{"file": file}, nil)
}

// Close closes the tab.
func (p *Page) Close() error {
	return p.call("close", map[string]any{}, nil)
}
