package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// versions are what Weft is compared with.
var versions = []string{
	"onnxruntime-web@1.30.0",
	"@tensorflow/tfjs-core@4.22.0", "@tensorflow/tfjs-backend-cpu@4.22.0", "@tensorflow/tfjs-backend-wasm@4.22.0",
	"@jax-js/jax@0.1.25",
}

// install sees to the other libraries in the user's cache folder, and gives the folder that has node_modules.
func install() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the other libraries: %w; name one with -peers", err)
	}
	dir := filepath.Join(cache, "weft", "webbench")
	stamp, want := filepath.Join(dir, "installed"), strings.Join(versions, "\n")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	fmt.Fprintf(os.Stderr, "installing %s into %s\n", strings.Join(versions, ", "), dir)
	args := []string{"install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"}
	if out, err := exec.Command("npm", append(args, versions...)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w (npm comes with Node.js; on Debian: sudo apt-get install npm)\n%s", err, out)
	}
	return dir, os.WriteFile(stamp, []byte(want), 0o666)
}
