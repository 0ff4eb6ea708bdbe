package viz_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/backends/look"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/explain"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/viz"
)

// recorded is what an engine was recorded to do: a matrix product and a softmax.
func recorded(t *testing.T) *viz.Recorder {
	e, err := look.Open("c")
	require.NoError(t, err)
	r := viz.NewRecorder()
	defer r.Stop()
	x := func(shape ...int) *tensor.Tensor {
		u, err := e.Empty(dtype.F32, shape)
		require.NoError(t, err)
		return tensor.FromNode(u, e)
	}
	_, err = e.Plan(x(7, 9).MatMul(x(9, 5)).Softmax(-1).Node())
	require.NoError(t, err)
	return r
}

// serve serves something until the test ends, and gives what asks it.
func serve(t *testing.T, of viz.Source) func(path string) (int, string) {
	l, err := viz.Listen(0)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- viz.Serve(ctx, l, of) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	return func(path string) (int, string) {
		r, err := http.Get("http://" + l.Addr().String() + path)
		require.NoError(t, err)
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return r.StatusCode, string(body)
	}
}

// A program's plans are served with all of their steps; saved and read they are the same.
func TestServed(t *testing.T) {
	r := recorded(t)
	get := serve(t, r)
	status, page := get("/")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, page, `<meta name="weft-plans" content="../plans">`)
	assert.NotContains(t, page, "whole.wasm", "there is no engine here")
	_, script := get("/inside/inside.js")
	assert.Contains(t, script, "Served")

	_, list := get("/plans")
	assert.Contains(t, list, "launches for c")
	var p viz.Plan
	_, text := get("/plans/0")
	require.NoError(t, json.Unmarshal([]byte(text), &p))
	require.NotEmpty(t, p.Kernels)
	assert.Contains(t, p.Kernels[0].Source["c"], "char *const *buf")
	require.Len(t, p.Chains, 1+2*len(p.Kernels))
	for _, c := range p.Chains {
		var chain explain.Chain
		status, text := get("/plans/0/" + url.PathEscape(c[0]))
		require.Equal(t, http.StatusOK, status, text)
		require.NoError(t, json.Unmarshal([]byte(text), &chain))
		assert.NotEmpty(t, chain.First)
	}

	_, saved := get("/plans.json")
	d, err := viz.Read(bytes.NewReader([]byte(saved)))
	require.NoError(t, err)
	again := serve(t, d)
	for _, path := range []string{"/plans", "/plans/0", "/plans/0/graph", "/plans/0/kernel%200", "/plans/0/passes%200"} {
		_, want := get(path)
		_, got := again(path)
		assert.JSONEq(t, want, got, path)
	}
	for _, path := range []string{"/plans/1", "/plans/x", "/plans/-1", "/plans/0/kernel%2099", "/plans/0/nothing", "/secret", "/../go.mod", "/assets/"} {
		status, _ := get(path)
		assert.Equal(t, http.StatusNotFound, status, path)
	}
}

// A name of another site that leads to this machine is refused.
func TestOtherNames(t *testing.T) {
	l, err := viz.Listen(0)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go viz.Serve(ctx, l, recorded(t))
	req, err := http.NewRequest("GET", fmt.Sprintf("http://%s/plans", l.Addr()), nil)
	require.NoError(t, err)
	req.Host = "evil.example"
	r, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	r.Body.Close()
	assert.Equal(t, http.StatusForbidden, r.StatusCode)
}

func TestNoDump(t *testing.T) {
	for text, says := range map[string]string{
		"":               "no dump of plans: unexpected end",
		"[]":             "no dump of plans: json",
		`{"version": 7}`: "it has the version 7, not 1",
		`{"version":1,"plans":[{"chains":[["a","b"]]}]}`: "lists 1 lists of steps and has 0",
	} {
		_, err := viz.Read(bytes.NewReader([]byte(text)))
		assert.ErrorContains(t, err, says, text)
	}
}

// Whatever a file holds, it is read or refused, and what was read can be asked for.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"version":1,"plans":[{"title":"a","chains":[["graph","g"]],"steps":[{"title":"","first":"","steps":[]}]}]}`))
	f.Add([]byte(`{"version":1,"plans":[{"chains":[["graph","g"]],"steps":[null]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := viz.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		titles, _ := d.Titles()
		for i := range titles {
			p, err := d.Plan(i)
			require.NoError(t, err)
			for _, c := range p.Chains {
				if _, err := d.Chain(i, c[0]); err != nil {
					require.ErrorContains(t, err, "has no steps")
				}
			}
		}
	})
}
