package wire_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/wasm/wire"
)

func TestRoundTrip(t *testing.T) {
	values := []any{
		nil, true, false, 1.5, math.Inf(-1), "", "Gewebe ≤ ∞", []any{}, []any{1.0, []any{"x", nil}}, wire.Record{},
		wire.Record{{"axis", 1.0}, {"keep", true}}, wire.Array{"f32", []byte{1, 2, 3, 4}}, wire.Array{"u8", []byte{}}, wire.Ref(7),
	}
	var b []byte
	for _, v := range values {
		b = wire.Append(b, v)
	}
	r := wire.NewReader(b)
	for _, v := range values {
		assert.Equal(t, v, r.Value())
	}
	assert.False(t, r.More())
	require.NoError(t, r.Err())
}

func TestIntsAreNumbers(t *testing.T) {
	assert.Equal(t, 3.0, wire.NewReader(wire.Append(nil, 3)).Value())
}

func TestRecordGet(t *testing.T) {
	r := wire.Record{{"a", 1.0}}
	assert.Equal(t, 1.0, r.Get("a"))
	assert.Nil(t, r.Get("b"))
}

func TestBadBytesAreErrors(t *testing.T) {
	good := wire.Append(nil, wire.Record{{"list", []any{1.0, "two", wire.Array{"f32", make([]byte, 8)}}}})
	for n := range good {
		r := wire.NewReader(good[:n])
		r.Value()
		assert.Error(t, r.Err(), "cut after %d bytes", n)
	}
	r := wire.NewReader([]byte{200})
	assert.Nil(t, r.Value())
	assert.ErrorContains(t, r.Err(), "no tag 200")
}
