// Package npm sees to programs and libraries that tests take from npm: exact versions by a lock, once, in the user's cache.
//
// It refuses to know what they are for.
package npm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	need "github.com/weft-ml/weft/tests/require"
)

// Tools gives the folder that has node_modules with the tools of a lock. It is in the user's cache folder; they are fetched from npm once, and only
// where WEFT_REQUIRE names what needs them.
func Tools(name string, manifest, lock []byte) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	home := filepath.Join(cache, "weft", "bundlers-"+hex.EncodeToString(sum[:6]))
	if there(home) {
		return home, nil
	}
	if !need.Required(name) {
		return "", fmt.Errorf("what %s needs of npm is not installed; WEFT_REQUIRE=%s fetches it", name, name)
	}
	return home, fetch(home, manifest, lock)
}

// fetch has npm fill a folder of its own, which then takes its name: packages that are tested at the same time may want the same tools.
func fetch(home string, manifest, lock []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(home), 0o777); err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(home), "fetched-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	for name, data := range map[string][]byte{"package.json": manifest, "package-lock.json": lock} {
		if err := os.WriteFile(filepath.Join(made, name), data, 0o666); err != nil {
			return err
		}
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = made
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w (npm comes with Node.js; on Debian: sudo apt-get install npm)\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(made, installed), nil, 0o666); err != nil {
		return err
	}
	if err := os.Rename(made, home); err == nil || there(home) {
		return nil
	}
	if err := os.RemoveAll(home); err != nil { // what was not fetched to its end
		return err
	}
	return os.Rename(made, home)
}

// installed is the file of a folder that is whole.
const installed = "installed"

func there(home string) bool {
	_, err := os.Stat(filepath.Join(home, installed))
	return err == nil
}
