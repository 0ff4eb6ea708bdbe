package wgsl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A kernel of log-sigmoids took SwiftShader 8 seconds with branches in "less" and "equal", under 0.3 without them.
func TestHelpersDoNotBranch(t *testing.T) {
	for name, text := range helpers() {
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "\tif ") { // a branch all the same
				assert.NotContains(t, line, "&&", name)
				assert.NotContains(t, line, "||", name)
			}
		}
	}
}
