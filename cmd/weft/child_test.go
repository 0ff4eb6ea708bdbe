package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	limit "github.com/weft-ml/weft/tests/bounded"
)

const answer = `{"case":"c","device":"D","median_ms":0,"min_ms":0,"gflops":0,"gbps":0,"of_peak":0,"kernels":31,"launches":31,` +
	`"compile_ms":812.25,"peak_bytes":1000,"threads":1}`

func TestAnswers(t *testing.T) {
	r, err := parseAnswer([]byte(answer+"\n"), "c", "D")
	require.NoError(t, err)
	assert.Equal(t, &benchResult{Case: "c", Device: "D", Kernels: 31, Launches: 31, CompileMS: 812.25, PeakBytes: 1000, Threads: 1}, r)
	for text, why := range map[string]string{
		"":                                   "answered nothing",
		"weft: warning\n" + answer:           "no result: byte",
		answer[:40]:                          "no result: byte",
		"null":                               `case "" on device ""`,
		answer + answer:                      "goes on after the result",
		answer + " x":                        "goes on after the result",
		strings.Replace(answer, "c", "d", 1): "no result: byte",
		strings.Replace(answer, `"c"`, `"other"`, 1):                `case "other" on device "D", not "c" on "D"`,
		strings.Replace(answer, `"D"`, `"CPU"`, 1):                  `on device "CPU", not`,
		strings.Replace(answer, "812.25", "-1", 1):                  "compile_ms -1",
		strings.Replace(answer, "812.25", "1e999", 1):               "no result: byte",
		strings.Replace(answer, "812.25", "NaN", 1):                 "no result: byte",
		strings.Replace(answer, `"kernels":31`, `"kernels":-31`, 1): "kernels -31",
		strings.Replace(answer, `"threads"`, `"thread"`, 1):         "unknown field",
		strings.Repeat(" ", maxAnswer) + answer:                     "longer than",
	} {
		r, err := parseAnswer([]byte(text), "c", "D")
		assert.ErrorContains(t, err, why, "%.80q", text)
		assert.Nil(t, r)
	}
}

// Every number of a result is looked at.
func TestNumbersOfResults(t *testing.T) {
	var r benchResult
	v := reflect.ValueOf(&r).Elem()
	n := 0
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Float64:
			f.SetFloat(-1)
			n++
		case reflect.Int, reflect.Int64:
			f.SetInt(-1)
			n++
		}
	}
	require.Len(t, r.numbers(), n)
	for _, f := range r.numbers() {
		assert.Equal(t, -1.0, f.value, f.name)
	}
}

// However much a child prints, so much is kept, and the child does not fail of it.
func TestBounded(t *testing.T) {
	b := bounded{most: 5}
	for range 3 {
		n, err := b.Write([]byte("abc"))
		require.NoError(t, err)
		require.Equal(t, 3, n)
	}
	require.Equal(t, "abcab", b.String())
}

// Whatever a child answers: no panic, no memory beyond its own, and a result that was read is the same when it is written and
// read again.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(answer))
	f.Add([]byte(answer + answer))
	f.Add([]byte(`{"case":"c","device":"D","one_thread_median_ms":1e308}`))
	f.Add([]byte(`{"CASE":"c","device":"D","kernels":9223372036854775807}`))
	f.Add(bytes.Repeat([]byte("["), 12000))
	f.Add([]byte(`{"case":"c","` + strings.Repeat("long", 3000) + `":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r *benchResult
		var err error
		limit.Memory(t, len(b), 1024, func() { r, err = parseAnswer(b, "c", "D") })
		if err != nil {
			require.Nil(t, r)
			require.Less(t, len(err.Error()), 1000)
			return
		}
		again, err := json.Marshal(r)
		require.NoError(t, err)
		s, err := parseAnswer(again, "c", "D")
		require.NoError(t, err)
		require.Equal(t, r, s)
	})
}
