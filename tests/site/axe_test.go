package site

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// axeVersion is of axe-core, which looks for what keeps people from using a page.
const axeVersion = "4.14.1"

// axe gives its script, from the user's cache; it is fetched from npm once, and only where WEFT_REQUIRE names AXE.
func axe() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "weft", "axe-"+axeVersion)
	file := filepath.Join(home, "node_modules", "axe-core", "axe.min.js")
	text, err := os.ReadFile(file)
	if err == nil {
		return string(text), nil
	}
	if !need.Required("AXE") {
		return "", fmt.Errorf("axe-core is not installed; WEFT_REQUIRE=AXE fetches it from npm")
	}
	if err := os.MkdirAll(home, 0o777); err != nil {
		return "", err
	}
	cmd := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", home, "axe-core@"+axeVersion)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w\n%s", err, out)
	}
	text, err = os.ReadFile(file)
	return string(text), err
}

// No page has something that keeps people from using it, in light and dark, wide and narrow.
func TestAccessible(t *testing.T) {
	script, err := axe()
	need.Device(t, "AXE", err)
	elements(t)
	for path, there := range map[string]string{
		"":           `/ms from call/.test(document.getElementById('told').textContent) && /func|compute/.test(document.getElementById('kernel').textContent)`,
		"train/":     `document.querySelectorAll('#samples button:not([disabled])').length === 20`,
		"inside/":    `/ of /.test(document.getElementById('step-count').textContent)`,
		"see/":       `document.getElementById('status').textContent.startsWith('Ready')`,
		"hear/":      `document.getElementById('status').textContent.startsWith('Ready')`,
		"write/":     `document.getElementById('status').textContent.startsWith('Ready')`,
		"elements/":  shownAll,
		"reference/": `document.querySelectorAll('.method').length > 20`,
	} {
		p := open(t, path)
		require.NoError(t, p.Eventually(there, slow), path)
		require.NoError(t, p.Run(`for (const e of document.querySelectorAll('details')) e.open = true`, nil))
		for scheme, width := range map[string]int{"light": 1280, "dark": 390} { // colours do not depend on the width
			require.NoError(t, p.Scheme(scheme))
			require.NoError(t, p.Size(width, 1000))
			var found []string
			require.NoError(t, p.Run(script+`
				await new Promise((f) => setTimeout(f, 200))
				const r = await axe.run(document, { resultTypes: ['violations'] })
				return r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 150) + ' ' + n.failureSummary.slice(0, 200)).join(' / '))`, &found))
			assert.Empty(t, found, "%s, %s, %d", path, scheme, width)
		}
		p.Close() // its programs go on as long as it is open
	}
}
