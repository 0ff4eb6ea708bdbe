package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// typescript is the version that the types are checked with.
const typescript = "5.9.3"

// TestTypes has TypeScript's compiler check weft.d.ts and a program that uses it.
func TestTypes(t *testing.T) {
	tsc, err := compiler()
	need.Device(t, "TSC", err)
	out, err := exec.Command(tsc, "-p", "testdata").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// compiler is TypeScript's: $TSC, or the one on the PATH, or the one in the user's cache folder, which is fetched from npm
// only where WEFT_REQUIRE names TSC.
func compiler() (string, error) {
	for _, name := range []string{os.Getenv("TSC"), "tsc"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "weft", "typescript-"+typescript)
	path := filepath.Join(home, "node_modules", ".bin", "tsc")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if !need.Required("TSC") {
		return "", fmt.Errorf("no TypeScript: neither $TSC nor tsc on the PATH; WEFT_REQUIRE=TSC fetches it from npm")
	}
	out, err := exec.Command("npm", "install", "--ignore-scripts", "--no-fund", "--no-audit", "--prefix", home, "typescript@"+typescript).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("npm install typescript: %w (npm comes with Node.js; on Debian: sudo apt-get install npm)\n%s", err, out)
	}
	return path, nil
}
