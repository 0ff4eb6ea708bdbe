package require

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// typescript is the version that types are checked with.
const typescript = "5.9.3"

// TypeScript returns the path of TypeScript's compiler, or ends the test: $TSC, or the one on the PATH, or the one in the user's cache
// folder, which is fetched from npm only where WEFT_REQUIRE names TSC.
func TypeScript(t testing.TB) string {
	t.Helper()
	path, err := compiler()
	Device(t, "TSC", err)
	return path
}

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
	if !Required("TSC") {
		return "", fmt.Errorf("no TypeScript: neither $TSC nor tsc on the PATH; WEFT_REQUIRE=TSC fetches it from npm")
	}
	out, err := exec.Command("npm", "install", "--ignore-scripts", "--no-fund", "--no-audit", "--prefix", home, "typescript@"+typescript).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("npm install typescript: %w (npm comes with Node.js; on Debian: sudo apt-get install npm)\n%s", err, out)
	}
	return path, nil
}
