//go:build !js

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "worker: this program runs in a Cloudflare Worker; build it with: sh build.sh")
	os.Exit(1)
}
