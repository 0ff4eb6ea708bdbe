package wasmmod

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
)

// A module of any names and bodies has the sections of the format, in order and as long as they say.
func FuzzJoin(f *testing.F) {
	f.Add("r_2_3", []byte{0, 0x0b}, "E_4", []byte{1, 1, 0x7f, 0x0b}, uint32(1), uint32(65536), false)
	f.Add("", []byte{}, "", []byte{}, uint32(0), uint32(0), true)
	f.Fuzz(func(t *testing.T, a string, code []byte, b string, more []byte, least, most uint32, shared bool) {
		out := Join([]plan.Kernel{{Entry: a, Code: code}, {Entry: b, Code: more}, {Entry: a, Code: more}}, Memory{least, most, shared})
		require.Equal(t, magic, out[:8])
		var ids []byte
		var last []byte
		for out = out[8:]; len(out) > 0; {
			id := out[0]
			n, used := binary.Uvarint(out[1:])
			require.Positive(t, used)
			out = out[1+used:]
			require.LessOrEqual(t, n, uint64(len(out)), "section %d", id)
			ids, last, out = append(ids, id), out[:n], out[n:]
		}
		require.Equal(t, []byte{secType, secImport, secFunc, secExport, secCode}, ids)
		count, used := binary.Uvarint(last)
		last = last[used:]
		bodies := [][]byte{code}
		if b != a {
			bodies = append(bodies, more)
		}
		require.EqualValues(t, len(bodies), count)
		for _, body := range bodies {
			n, used := binary.Uvarint(last)
			require.Equal(t, string(body), string(last[used:used+int(n)]))
			last = last[used+int(n):]
		}
		require.Empty(t, last)
	})
}
