package weights

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"metadata": {"total_size": 4}, "weight_map": {"a": "one", "b": "two"}}`))
	f.Add([]byte(`{"weight_map": {"a": "../x"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		where, _, err := parseIndex(raw)
		if err != nil {
			return
		}
		for _, file := range where {
			require.NotContains(t, file, "/")
			require.NotEqual(t, "..", file)
		}
	})
}
