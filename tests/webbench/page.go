package main

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-ml/weft/tests/browser"
)

// inPage runs f with a page of a Chromium of its own, once an expression is true in it. What the page wrote to its console
// goes into the error.
func inPage(ctx context.Context, url, ready string, f func(page *browser.Page, version string) error) error {
	b, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	version, err := b.Version()
	if err != nil {
		return err
	}
	page, err := b.Open(url)
	if err != nil {
		return err
	}
	err = page.Eventually(ready, 20*time.Second)
	if err == nil {
		err = f(page, version)
	}
	if err == nil {
		return nil
	}
	for _, problem := range page.Problems() {
		err = fmt.Errorf("%w\n  the page: %s", err, problem)
	}
	return err
}
