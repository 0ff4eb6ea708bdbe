package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

var quoted = regexp.MustCompile("`(default-src[^`]*)`")

// What docs say of the policy is the policy.
func TestDocs(t *testing.T) {
	root := need.Root(t)
	for _, name := range []string{"README.md", "docs/embedding.md", "wasm/npm/README.md"} {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		require.NoError(t, err)
		found := quoted.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\n", " "), -1)
		assert.NotEmpty(t, found, "%s does not tell the policy", name)
		for _, m := range found {
			assert.Contains(t, []string{Strict, Strict + Trusted(Engine), Strict + Trusted(Player)}, m[1], name)
		}
	}
}

// Each name is made by a script that ships, and each script's is here.
func TestNames(t *testing.T) {
	made := map[string]bool{}
	for _, file := range []string{"wasm/js/start.js", "export/js/model.js", "site/assets/dom.js"} {
		text, err := os.ReadFile(filepath.Join(need.Root(t), filepath.FromSlash(file)))
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`createPolicy\('([^']+)'`).FindAllStringSubmatch(string(text), -1) {
			made[m[1]] = true
		}
	}
	for _, name := range Names {
		assert.True(t, made[name], "%s is made by no script", name)
		delete(made, name)
	}
	assert.Empty(t, made, "names that package policy lacks")
}
