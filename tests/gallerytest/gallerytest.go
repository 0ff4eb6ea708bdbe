// Package gallerytest runs the programs of the gallery on two devices. It knows nothing of what they do.
package gallerytest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
)

// Devices are those that each program is run on.
var Devices = []string{"CPU", "WASM"}

// Each runs a program on each device, with a context that has ended and then to its end, and hands its result and what it printed to check.
func Each[R any](t *testing.T, run func(ctx context.Context, out io.Writer) (R, error), check func(t *testing.T, result R, printed string)) {
	for _, device := range Devices {
		t.Run(device, func(t *testing.T) {
			engine.Configure(engine.Options{}, device)
			_, err := engine.Use("")
			need.Device(t, device, err)
			ended, end := context.WithCancel(context.Background())
			end()
			if _, err := run(ended, io.Discard); !errors.Is(err, context.Canceled) {
				t.Fatalf("a program that is stopped says so: %v", err)
			}
			var out bytes.Buffer
			result, err := run(context.Background(), &out)
			if err != nil {
				t.Fatal(err)
			}
			check(t, result, out.String())
		})
	}
}
