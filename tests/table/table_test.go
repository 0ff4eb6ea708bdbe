package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows")
	t.Setenv("WEFT_TABLE", file)
	rows := []Row{{"conformance", "WEBGPU in Chromium", 12, 0, 3}, {"torch-ops", "CPU", 7, 1, 0}}
	for _, r := range rows {
		require.NoError(t, Add(r))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "conformance WEBGPU in Chromium: 12 cases passed, 0 failed, 3 not yet\ntorch-ops CPU: 7 passed, 1 failed, 0 not yet\n", string(text))
	assert.Equal(t, rows, Parse("something: else\n"+string(text)))

	var b strings.Builder
	require.NoError(t, Print(&b, append(rows, Row{"conformance", "CPU", 20, 0, 0})))
	lines := strings.Split(b.String(), "\n")
	require.Len(t, lines, 4)
	assert.Equal(t, []string{"device", "conformance", "failed", "not", "yet", "torch-ops", "failed", "not", "yet"}, strings.Fields(lines[0]))
	assert.Equal(t, []string{"CPU", "20", "0", "0", "7", "1", "0"}, strings.Fields(lines[1]))
	assert.Equal(t, []string{"WEBGPU", "in", "Chromium", "12", "0", "3"}, strings.Fields(lines[2]))
}
