package backends

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tests/bounded"
)

// Whatever stands in the environment: no panic, an error that names the variable, or options within their bounds.
func FuzzSettings(f *testing.F) {
	f.Add("DEV", "cpu")
	f.Add("WEFT_MEM", "1.5GiB")
	f.Add("WEFT_THREADS", "99999999999999999999")
	f.Add("DEBUG", "6")
	f.Add("NOOPT", "true")
	f.Fuzz(func(t *testing.T, name, value string) {
		var o engine.Options
		var err error
		bounded.Memory(t, len(name)+len(value), 1024, func() {
			o, _, err = Settings(func(k string) string {
				if k == name {
					return value
				}
				return ""
			}, nil)
		})
		if err != nil {
			require.ErrorContains(t, err, name+"="+value)
			return
		}
		require.True(t, o.Threads >= 0 && o.MemoryLimit >= 0 && o.Debug >= 0 && o.Debug <= 6, "%+v", o)
	})
}
