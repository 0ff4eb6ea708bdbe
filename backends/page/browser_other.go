//go:build !js

package page

func browser() string { return "no browser" }
