//go:build linux

package memory

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// stepsOf names, for a child of TestStepsStayFlat, how it runs, and stepsEnv how many steps it makes.
const stepsOf, stepsEnv = "WEFT_TEST_STEPS_OF", "WEFT_STEPS"

// writer is a transformer that says which word comes next.
type writer struct {
	Words, Places *nn.Embedding
	Layers        []*nn.TransformerLayer
	Head          *nn.Linear
}

func (n *writer) loss(x, y *T) *T {
	h := n.Words.Forward(x).Add(n.Places.Weight)
	for _, l := range n.Layers {
		h = l.Forward(h, nil, nn.Attending{Causal: true}, nn.Attending{})
	}
	return n.Head.Forward(h).Reshape(-1, n.Head.Weight.Dim(0)).CrossEntropy(y.Flatten())
}

// Training a transformer takes no more memory after many steps than after a few, captured or built anew for each step: not of the device,
// not of Go's heap, not of the process. WEFT_STEPS=10000 makes as many, uncaptured a fifth. Each way has a process of its own.
func TestStepsStayFlat(t *testing.T) {
	if how := os.Getenv(stepsOf); how != "" {
		stepsStayFlat(t, how == "captured")
		return
	}
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	open(t, "CPU", engine.Options{}) // or skip
	for _, how := range []string{"captured", "uncaptured"} {
		t.Run(how, func(t *testing.T) {
			c := exec.Command(os.Args[0], "-test.run=^TestStepsStayFlat$", "-test.v", "-test.timeout=60m")
			c.Env = append(os.Environ(), stepsOf+"="+how, "GOGC=100")
			out, err := c.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "steps: resident", "the child did its work")
			t.Logf("%s", out)
		})
	}
}

func stepsStayFlat(t *testing.T, captured bool) {
	steps := 1200
	if text := os.Getenv(stepsEnv); text != "" {
		var err error
		steps, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	if !captured {
		steps /= 5
	}
	const words, size, batch, length = 65, 32, 2, 16
	engine.Configure(engine.Options{}, "CPU")
	tensor.Seed(1)
	net := &writer{Words: nn.NewEmbedding(words, size), Places: nn.NewEmbedding(length, size), Head: nn.NewLinear(size, words)}
	for range 2 {
		l := nn.NewTransformerLayer(size, 2, 2*size, false)
		l.SelfAttention.BatchFirst, l.NormFirst, l.GELU = true, true, true
		net.Layers = append(net.Layers, l)
	}
	opt, err := nn.NewAdam(ctx, net, nn.AdamOptions{})
	require.NoError(t, err)
	x, y := tensor.RandInt(0, words, batch, length), tensor.RandInt(0, words, batch, length)
	require.NoError(t, tensor.Realize(ctx, x, y))
	var step func() (loss float64, err error)
	if captured {
		f, err := tensor.Capture(ctx, func(in ...*T) []*T {
			loss := net.loss(in[0], in[1])
			opt.Update(loss)
			return []*T{loss}
		}, x, y)
		require.NoError(t, err)
		step = func() (float64, error) {
			out, err := f.Run(ctx, x, y)
			if err != nil {
				return 0, err
			}
			return out[0].Item(ctx)
		}
	} else {
		step = func() (float64, error) {
			loss := net.loss(x, y)
			if err := opt.Step(ctx, loss); err != nil {
				return 0, err
			}
			return loss.Item(ctx)
		}
	}
	e, err := engine.Use("")
	require.NoError(t, err)
	type sample struct {
		resident   int // MB
		heap, live int64
	}
	look := func() sample {
		for range 3 { // what cleanups free goes with the next collection
			debug.FreeOSMemory()
			require.NoError(t, e.Sync(ctx))
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return sample{status(t, "VmRSS"), int64(m.HeapAlloc), e.Stats().LiveBytes}
	}
	var first sample
	var begun, loss float64
	for i := range steps {
		loss, err = step()
		require.NoError(t, err)
		switch i {
		case 0:
			begun = loss
		case steps / 2: // by then caches of plans, of nodes and of memory are as large as they become
			first = look()
		}
	}
	last := look()
	fmt.Printf("%d steps: resident %d MB, then %d; heap %d kB, then %d; arrays %d kB, then %d; loss %.3f, then %.3f\n",
		steps, first.resident, last.resident, first.heap>>10, last.heap>>10, first.live>>10, last.live>>10, begun, loss)
	assert.Less(t, loss, begun, "it trains")
	assert.InDelta(t, first.live, last.live, 16<<10, "arrays that live: a result or so that no collection has met yet")
	assert.LessOrEqual(t, float64(last.heap), 1.2*float64(first.heap)+8<<20, "Go's heap")
	assert.LessOrEqual(t, float64(last.resident), 1.25*float64(first.resident)+16, "the process")
}
