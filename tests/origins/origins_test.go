// Package origins tests that kernels name the methods and lines of the program that they compute. It is a package, and so a process, of
// its own: nodes remember where they were made from the time on that an engine wants to know.
package origins

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

var line = regexp.MustCompile(`\(origins_test\.go:\d+\)`)

func TestOrigins(t *testing.T) {
	ctx := context.Background()
	var log strings.Builder
	engine.Configure(engine.Options{Debug: 2, Log: &log}, "INTERP")
	x := tensor.Rand(4, 8)
	l := nn.NewLinear(8, 3)
	loss := l.Forward(x).ReLU().CrossEntropy(tensor.From([]int{0, 2, 1, 0}))

	o := loss.Node().Origin()
	require.NotNil(t, o)
	assert.Equal(t, "CrossEntropy", o.Method)
	assert.Regexp(t, `^origins_test\.go:\d+$`, o.At)

	view, err := loss.Schedule()
	require.NoError(t, err)
	text := view.String()
	for _, word := range []string{"nn.Linear Forward (origins_test.go:", "ReLU (origins_test.go:", "CrossEntropy (origins_test.go:", "Rand (origins_test.go:"} {
		assert.Contains(t, text, word)
	}

	grad := loss.Grad(l.Weight)[0]
	view, err = grad.Schedule()
	require.NoError(t, err)
	assert.Contains(t, view.String(), "gradient of CrossEntropy (origins_test.go:")

	log.Reset()
	require.NoError(t, grad.Realize(ctx))
	for _, launch := range strings.Split(strings.TrimSpace(log.String()), "\n") {
		if strings.Contains(launch, "GFLOP/s") && !strings.Contains(launch, "INTERP plan") {
			assert.Regexp(t, line, launch, "a launch of unknown origin")
		}
	}
}

// A method that is called within a method is not what the program called.
func TestOriginsAreOfTheProgram(t *testing.T) {
	engine.Configure(engine.Options{Origins: true}, "INTERP")
	y := tensor.Ones(3).Softmax(0)
	for _, u := range y.Node().Src() {
		if o := u.Origin(); o != nil && len(u.Src()) > 0 {
			assert.Contains(t, []string{"Softmax", "Ones"}, o.Method, "%v", u)
		}
	}
}
