// Package bundlers tests the package for npm as its users have it: made, packed, unpacked into a project, built by the usual tools and
// opened in Chromium, or run by Node and the like. What is here sees to the tools; the tests say what each must do.
//
// It refuses to know what the engine does: every project runs the same few lines of testdata/app.
package bundlers

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The tools with exact versions, and the lock of all that they need.
var (
	//go:embed tools/package.json
	toolsManifest []byte
	//go:embed tools/package-lock.json
	toolsLock []byte
	//go:embed frameworks/package.json
	frameworksManifest []byte
	//go:embed frameworks/package-lock.json
	frameworksLock []byte
)

// Pack makes the package and packs it as npm would publish it. It gives the tarball, in folder.
func Pack(root, folder string) (string, error) {
	made := filepath.Join(folder, "made")
	args := []string{"run", "./wasm/npm", "-o", made}
	if built := os.Getenv("WEFT_BUILT"); built != "" {
		args = append(args, "-from", built)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make the package: %w\n%s", err, out)
	}
	cmd = exec.Command("npm", "pack", "--silent", "--pack-destination", folder)
	cmd.Dir = made
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("npm pack: %w\n%s", err, out)
	}
	balls, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(balls) != 1 {
		return "", fmt.Errorf("npm pack left %d tarballs: %w", len(balls), err)
	}
	return balls[0], nil
}

// Unpack puts a packed package into a project's node_modules.
func Unpack(tarball, project string) error {
	at := filepath.Join(project, "node_modules", "@weft-ml", "weft")
	if err := os.MkdirAll(at, 0o777); err != nil {
		return err
	}
	if out, err := exec.Command("tar", "-xzf", tarball, "-C", at, "--strip-components=1").CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w\n%s", err, out)
	}
	return nil
}
