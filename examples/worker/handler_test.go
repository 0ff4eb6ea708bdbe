package main

import (
	"bytes"
	"encoding/json"
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
	h := handler(func(picture []byte) ([]float32, error) {
		got = picture
		return []float32{0.25, 0.75}, fails
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
	fails = errors.New("a secret")
	w := ask()
	assert.Equal(t, http.StatusInternalServerError, w.Code)
	assert.NotContains(t, w.Body.String(), "secret")
}

// What is answered is JSON of the same numbers.
func TestAnswer(t *testing.T) {
	want := []float32{1e-40, 3.4e-9, 0.1, 0.99999994, 1, 0}
	b, err := answerOf(want)
	require.NoError(t, err)
	var got struct {
		Digit         int
		Probabilities []float32
	}
	require.NoError(t, json.Unmarshal(b, &got))
	assert.Equal(t, want, got.Probabilities)
	assert.Equal(t, 4, got.Digit)
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		_, err := answerOf([]float32{0, float32(v)})
		assert.ErrorContains(t, err, "the network gave")
	}
}
