package main

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A picture of any colours reaches the network as grey bytes, and what the network says is the answer.
func TestHandler(t *testing.T) {
	var got []byte
	var fails error
	says := []float32{0.25, 0.75}
	h := handler(func(picture []byte) ([]float32, error) {
		got = picture
		return says, fails
	})
	m := image.NewRGBA(image.Rect(0, 0, side, side))
	m.Set(2, 1, color.White)
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	ask := func() *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/predict", bytes.NewReader(b.Bytes()))
		r.Header.Set("Content-Type", "image/png")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	assert.JSONEq(t, `{"digit": 1, "probabilities": [0.25, 0.75]}`, ask().Body.String())
	want := make([]byte, side*side)
	want[side+2] = 255
	assert.Equal(t, want, got)
	says = []float32{0, float32(math.NaN())} // which JSON has no number for
	assert.Equal(t, http.StatusInternalServerError, ask().Code)
	fails = errors.New("a secret")
	w := ask()
	assert.Equal(t, http.StatusInternalServerError, w.Code)
	assert.NotContains(t, w.Body.String(), "secret")
}
