package tests

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/search"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// searching is an engine that searches, what it said, and what it found.
type searching struct {
	*engine.Engine
	said  bytes.Buffer
	found []search.Choice
}

func openSearching(t *testing.T, dir string, change func(o *engine.Options)) *searching {
	s := &searching{}
	o := engine.Options{CacheDir: dir, Search: 1, Log: &s.said, Debug: 1, Searched: func(c search.Choice) { s.found = append(s.found, c) },
		SearchCheck: func(kernel, fault string) { t.Errorf("%s: %.600s", kernel, fault) }}
	if change != nil {
		change(&o)
	}
	e, err := engine.Open("INTERP", o)
	require.NoError(t, err)
	s.Engine = e
	return s
}

// tried is for how many kernels directives were tried.
func (s *searching) tried() int {
	return strings.Count(s.said.String(), " lists tried, ") - strings.Count(s.said.String(), "the best takes")
}

// rowSums gives the sums of rows that round.
func (s *searching) rowSums(t *testing.T, ctx context.Context) ([]byte, error) {
	const n, m = 37, 301
	data := make([]byte, 4*n*m)
	for i := range n * m {
		v := uop.ToBits(dtype.F32, uop.FloatValue(dtype.F32, 1/float64(i+1)))
		for b := range 4 {
			data[4*i+b] = byte(v >> (8 * b))
		}
	}
	u, err := s.FromBytes(dtype.F32, []int{n, m}, data)
	require.NoError(t, err)
	y := u.Reduce(uop.Sum, 1)
	if err := s.Realize(ctx, y); err != nil {
		return nil, err
	}
	out := make([]byte, 4*n)
	return out, s.Read(ctx, y, out)
}

// What was found is found again by the next process, and the results are the same bits with any number of threads.
func TestFoundDirectivesSurviveARestart(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	first := openSearching(t, dir, func(o *engine.Options) { o.Threads = 1 })
	want, err := first.rowSums(t, ctx)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	require.Len(t, first.found, 1)
	require.Equal(t, 1, first.tried(), first.said.String())

	next := openSearching(t, dir, func(o *engine.Options) { o.Threads = 3 })
	got, err := next.rowSums(t, ctx)
	require.NoError(t, err)
	require.NoError(t, next.Close())
	assert.Equal(t, want, got)
	assert.Zero(t, next.tried(), next.said.String())
	require.Len(t, next.found, 1)
	assert.Equal(t, first.found[0].Best, next.found[0].Best)

	files, err := filepath.Glob(filepath.Join(dir, "directives", "*.directives"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	text[len(text)-3] ^= 1
	require.NoError(t, os.WriteFile(files[0], text, 0o600))
	third := openSearching(t, dir, nil)
	_, err = third.rowSums(t, ctx)
	require.NoError(t, err)
	require.NoError(t, third.Close())
	assert.Equal(t, 1, third.tried(), "what somebody else wrote is not believed")
}

// Directives go from machine to machine in a file, and with a program.
func TestDirectivesAreShipped(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	first := openSearching(t, dir, nil)
	_, err := first.rowSums(t, ctx)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	kept, err := backends.OpenDirectives(engine.Options{CacheDir: dir})
	require.NoError(t, err)
	text, n := kept.Export()
	kept.Close()
	require.Equal(t, 1, n)

	other := t.TempDir()
	to, err := backends.OpenDirectives(engine.Options{CacheDir: other})
	require.NoError(t, err)
	n, err = to.Import(text)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = to.Import(text[:len(text)-9])
	require.ErrorContains(t, err, "kept directives: line 2")
	to.Close()
	next := openSearching(t, other, nil)
	_, err = next.rowSums(t, ctx)
	require.NoError(t, err)
	require.NoError(t, next.Close())
	assert.Zero(t, next.tried())

	c := first.found[0]
	require.NotEmpty(t, c.Model)
	for _, x := range []struct{ best, model, machine, runs, says string }{
		{"", c.Model, c.Machine, "", ""},
		{"", c.Model, "another machine", "", ""},
		{"vector a9", c.Model, c.Machine, c.Model, "there is no axis a9"},
		{"split r0.a 2 exact", c.Model, c.Machine, c.Model, "2 does not divide"},
		{"tile a0; " + strings.Repeat("split a0 1 peel; ", 9), c.Model, c.Machine, c.Model, "9 peeled splits are more than"},
		{"", "vector a0; vector r0.a", c.Machine, c.Model, "another version of Weft"},
	} {
		shipped := c
		shipped.Best, shipped.Model, shipped.Machine = x.best, x.model, x.machine
		s := openSearching(t, t.TempDir(), func(o *engine.Options) {
			o.Search, o.Directives = 0, search.FormatChoices([]search.Choice{shipped})
		})
		var directives []string
		stop := engine.Watch(func(_ string, k *plan.Kernel, _ string) { directives = append(directives, k.Directives) })
		_, err := s.rowSums(t, ctx)
		stop()
		require.NoError(t, err)
		assert.Equal(t, []string{x.runs}, directives, "%+v", x)
		if x.says != "" {
			assert.Contains(t, s.said.String(), x.says)
		}
		require.NoError(t, s.Close())
	}
	_, err = engine.Open("INTERP", engine.Options{Directives: []byte("weft directives 0\n")})
	require.ErrorContains(t, err, "Options.Directives: kept directives: the first line")
	_, err = engine.Open("INTERP", engine.Options{Search: 65})
	require.ErrorContains(t, err, "from 0 (none) to 64")
}

// A search that is ended keeps what it knows, and the next call goes on.
func TestSearchIsCancelled(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	s := openSearching(t, dir, func(o *engine.Options) {
		found := o.Searched
		o.Searched = func(c search.Choice) { found(c); cancel() }
	})
	x, err := s.FromBytes(dtype.F32, []int{300, 400}, make([]byte, 4*300*400)) // small kernels would be one
	require.NoError(t, err)
	a, b := x.Reduce(uop.Sum, 1), x.Reduce(uop.MaxOf, 0) // two kernels
	require.ErrorIs(t, s.Realize(ctx, a, b), context.Canceled)
	require.Len(t, s.found, 1)
	files, err := filepath.Glob(filepath.Join(dir, "directives", "*.directives"))
	require.NoError(t, err)
	assert.Len(t, files, 1)
	require.NoError(t, s.Realize(context.Background(), a, b))
	assert.Len(t, s.found, 2)
	require.NoError(t, s.Close())
}
