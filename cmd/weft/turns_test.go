package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// ordered gives the answers to orders, on the interpreter.
func ordered(t *testing.T, orders ...order) []reply {
	var in, out bytes.Buffer
	for _, o := range orders {
		require.NoError(t, json.NewEncoder(&in).Encode(o))
	}
	p := &program{getenv: func(string) string { return "" }, out: &out, log: &bytes.Buffer{}}
	require.NoError(t, p.turns(context.Background(), &in, "INTERP", true))
	var replies []reply
	for line := range strings.Lines(out.String()) {
		var r reply
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		replies = append(replies, r)
	}
	require.Len(t, replies, len(orders))
	return replies
}

func TestTurns(t *testing.T) {
	dir := t.TempDir()
	r := ordered(t, order{Do: "list"}, order{Do: "run"}, order{Do: "load", Case: "mlp-step", Dir: dir}, order{Do: "run", MS: 1},
		order{Do: "launches", MS: 1}, order{Do: "load", Case: "compile-resnet18", Dir: dir}, order{Do: "load", Case: "nope", Dir: dir}, order{Do: "sing"})
	assert.Contains(t, r[0].About, "INTERP")
	assert.Equal(t, benchCases[1].name, r[0].Cases[0].Name)
	assert.Contains(t, r[1].Failed, "no case is loaded")
	assert.Empty(t, r[2].Failed)
	assert.Positive(t, r[3].MedianMS)
	assert.Positive(t, r[3].MinMS)
	assert.LessOrEqual(t, r[3].MinMS, r[3].MedianMS)
	assert.Positive(t, r[3].Runs)
	require.NotEmpty(t, r[4].Launches)
	times, sum := 0.0, 0.0
	for i, l := range r[4].Launches {
		times, sum = times+l.Times, sum+l.MS
		assert.True(t, i == 0 || l.MS <= r[4].Launches[i-1].MS)
		assert.Positive(t, l.Times)
	}
	assert.Positive(t, r[4].Launches[0].Flops)
	assert.Equal(t, math.Round(times), times, "a run launches the same each time")
	assert.Positive(t, sum)
	assert.Contains(t, r[5].Failed, "computes nothing")
	assert.Contains(t, r[6].Failed, "nope")
	assert.Contains(t, r[7].Failed, "sing")

	text, err := os.ReadFile(filepath.Join(dir, "contents.json"))
	require.NoError(t, err)
	var c contents
	require.NoError(t, json.Unmarshal(text, &c))
	assert.Equal(t, []written{{"", "in0", "float32", []int{64, 784}}, {"", "in1", "int32", []int{64}}}, c.In)
	assert.Equal(t, []string{"hidden.weight", "hidden.bias", "out.weight", "out.bias"},
		[]string{c.Model[0].Name, c.Model[1].Name, c.Model[2].Name, c.Model[3].Name})
	require.Len(t, c.Outs, checkedRuns)
	var losses [][]byte
	for _, outs := range c.Outs {
		loss, err := os.ReadFile(filepath.Join(dir, outs[0].File))
		require.NoError(t, err)
		assert.Len(t, loss, 4)
		losses = append(losses, loss)
	}
	assert.NotEqual(t, losses[0], losses[1], "the model learns")
	weights, err := os.ReadFile(filepath.Join(dir, c.Model[0].File))
	require.NoError(t, err)
	assert.Len(t, weights, 4*784*256)
}

func TestLaunchesHaveToBeHeard(t *testing.T) {
	_, err := turn(context.Background(), nil, order{Do: "launches"}, new(*work), nil)
	assert.ErrorIs(t, err, errNotLoaded)
	w := &work{}
	_, err = turn(context.Background(), nil, order{Do: "launches"}, &w, nil)
	assert.ErrorContains(t, err, "--launches")
}

func TestOrdersThatAreNone(t *testing.T) {
	p := &program{getenv: func(string) string { return "" }, out: &bytes.Buffer{}, log: &bytes.Buffer{}}
	assert.ErrorContains(t, p.turns(context.Background(), strings.NewReader("hello\n"), "INTERP", false), "an order that is none")
}

// The cases that are compared with other libraries are there.
func TestComparedCases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(need.Root(t), "tests", "peers", "rows.go"))
	require.NoError(t, err)
	n := 0
	for _, names := range regexp.MustCompile("`([^`]+)`").FindAllSubmatch(text, -1) {
		for _, name := range strings.Fields(string(names[1])) {
			cases, err := pickCases([]string{name})
			if assert.NoError(t, err) {
				assert.NotNil(t, cases[0].prepare, name)
			}
			n++
		}
	}
	assert.Greater(t, n, 60)
}
