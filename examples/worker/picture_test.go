package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// text is a picture of one number in every pixel, as JSON.
func text(number string) string {
	row := "[" + strings.TrimSuffix(strings.Repeat(number+", ", side), ", ") + "]"
	return `{"image": [` + strings.TrimSuffix(strings.Repeat(row+",\n", side), ",\n") + `]}`
}

func TestPictureAsJSON(t *testing.T) {
	got, err := readJSON([]byte(text("7")))
	require.NoError(t, err)
	assert.Equal(t, slices.Repeat([]byte{7}, side*side), got)
	for given, says := range map[string]string{
		"": "unexpected end of JSON", "[1]": "cannot unmarshal array", `{"image": null}`: "not 28 rows", `{}`: "not 28 rows", `{"image": [[1]]}`: "not 28 rows",
		text("null"): "row 0 has null at 0", text("1e2"): "row 0 has 1e2 at 0", text("1.5"): "1.5", text("-1"): "-1", text("256"): "256", text(`"1"`): `"1"`,
		text("[1]"): "not 28 rows",
		strings.Replace(text("1"), "[1, ", "[", 1):   "row 0 is not 28 numbers",
		strings.Replace(text("1"), "[[", "[1, [", 1): "row 0 is not 28 numbers",
		strings.Replace(text("1"), "]]", "], 1]", 1): "not 28 rows",
	} {
		_, err := readJSON([]byte(given))
		assert.ErrorContains(t, err, says, "%s", given)
	}
}

// What is taken for a picture is what package json reads.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{text("7"), text(" 255\t"), text("[1]"), text(`"1"`), `{"image": [[1]]}`, `{"image": "[[1]]"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := readJSON(body)
		if err != nil {
			return
		}
		var given struct{ Image [][]int }
		require.NoError(t, json.Unmarshal(body, &given))
		require.Len(t, given.Image, side)
		for y, row := range given.Image {
			require.Len(t, row, side)
			for x, v := range row {
				require.Equal(t, v, int(got[y*side+x]))
			}
		}
	})
}
