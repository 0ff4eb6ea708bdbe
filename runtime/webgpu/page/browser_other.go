//go:build !js

package page

// Browser is what the browser calls itself: none does.
func Browser() string { return "no browser" }
