package wire

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/bounded"
)

// Whatever bytes come: no panic, no memory beyond theirs, and what was read is written as it was read.
func FuzzReader(f *testing.F) {
	f.Add(Append(nil, []any{nil, true, 1.5, "text", Ref(7), Record{{"name", 2.}, {"list", []any{false}}}, Array{"f32", []byte{1, 2, 3, 4}}}))
	f.Add(Append(Append(nil, 3.), []any{1., "add", []any{Ref(2)}, Ref(0), Ref(1)}))
	f.Add([]byte{tagList, 255, 255, 255, 255})
	f.Add(bytes.Repeat([]byte{tagList, 1, 0, 0, 0}, 400))
	f.Add(bytes.Repeat([]byte{tagList, 0, 1, 0, 0}, 400))
	f.Fuzz(func(t *testing.T, b []byte) {
		var values []any
		r := NewReader(b)
		bounded.Memory(t, len(b), 128, func() {
			for r.More() {
				values = append(values, r.Value())
			}
		})
		if r.Err() != nil {
			return
		}
		var again []byte
		for _, v := range values {
			again = Append(again, v)
		}
		require.Equal(t, b, append([]byte{}, again...))
	})
}
