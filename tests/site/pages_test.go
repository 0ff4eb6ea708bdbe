// Package site tests the static pages in site: their text here, and what a reader meets in Chromium.
package site

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/wasm/policy"
)

// built are files that the build puts beside the pages.
var built = []string{"weft.js", "whole.wasm"}

// exported is where examples/elements puts what it makes.
const exported = "elements/models/"

// sources gives the files of the site with one of these endings, by path.
func sources(t *testing.T, endings ...string) map[string]string {
	root := filepath.Join(need.Root(t), "site")
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "dist" {
			return filepath.SkipDir
		}
		if slices.Contains(endings, filepath.Ext(file)) {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, file)
			out[filepath.ToSlash(rel)] = string(text)
			return err
		}
		return nil
	}))
	require.NotEmpty(t, out)
	return out
}

var (
	reference  = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	imported   = regexp.MustCompile(`(?:\bfrom |\bimport\(|new URL\()'([^']+)'`)
	guarded    = regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*); trusted-types ([^"]*)"`)
	inline     = regexp.MustCompile(`<script(?:\s+type="module")?>|<style|\sstyle="|\son[a-z]+="`)
	identifier = regexp.MustCompile(`\sid="([^"]*)"`)
	labelled   = regexp.MustCompile(`\s(?:for|aria-labelledby|aria-describedby)="([^"]*)"`)
	elsewhere  = regexp.MustCompile(`\bhttps?://[^\s'"]+`)
)

// exists says whether a relative reference of a page leads to a file of the site.
func exists(root, page, to string) bool {
	to, _, _ = strings.Cut(to, "#")
	if to == "" {
		return true
	}
	if strings.HasPrefix(to, "/") || strings.Contains(to, ":") {
		return false
	}
	at := path.Join(path.Dir(page), to)
	if strings.HasSuffix(to, "/") {
		at = path.Join(at, "index.html")
	}
	if slices.Contains(built, at) || strings.HasPrefix(at, exported) {
		return true
	}
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(at)))
	return err == nil
}

// Pages work in any folder of any host: all references are relative and lead to files of the site, nothing
// comes from elsewhere, and the policy that forbids inline scripts and styles stands in each.
func TestPages(t *testing.T) {
	root := filepath.Join(need.Root(t), "site")
	for page, text := range sources(t, ".html") {
		own := guarded.FindStringSubmatch(text)
		require.Len(t, own, 3, "%s has no policy", page)
		assert.Equal(t, policy.Page, own[1], page)
		assert.Subset(t, policy.Names, strings.Fields(own[2]), page)
		assert.Contains(t, text, `<html lang="en">`, page)
		assert.Contains(t, text, `name="viewport"`, page)
		assert.Empty(t, inline.FindAllString(text, -1), "%s: the policy forbids inline scripts and styles", page)
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "https://") { // readers may follow a link elsewhere; the page loads nothing from there
				assert.Contains(t, text, `<a href="`+m[1]+`"`, page)
				continue
			}
			assert.True(t, exists(root, page, m[1]), "%s refers to %s", page, m[1])
		}
		ids := map[string]bool{}
		for _, m := range identifier.FindAllStringSubmatch(text, -1) {
			assert.False(t, ids[m[1]], "%s has two elements with the id %s", page, m[1])
			ids[m[1]] = true
		}
		for _, m := range labelled.FindAllStringSubmatch(text, -1) {
			for _, id := range strings.Fields(m[1]) {
				assert.True(t, ids[id], "%s: a label refers to the id %s", page, id)
			}
		}
	}
}

func TestScripts(t *testing.T) {
	root := filepath.Join(need.Root(t), "site")
	for script, text := range sources(t, ".js") {
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			assert.True(t, exists(root, script, m[1]), "%s imports %s", script, m[1])
		}
		for _, word := range []string{"eval(", "new Function", "innerHTML", "document.write"} {
			assert.NotContains(t, text, word, script)
		}
		for _, url := range elsewhere.FindAllString(text, -1) {
			assert.True(t, strings.HasPrefix(url, "http://www.w3.org/"), "%s refers to %s", script, url)
		}
	}
}

// The sheets load nothing.
func TestSheets(t *testing.T) {
	for sheet, text := range sources(t, ".css") {
		assert.NotContains(t, text, "url(", sheet)
		assert.NotContains(t, text, "@import", sheet)
	}
}
