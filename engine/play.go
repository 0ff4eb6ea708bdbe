package engine

import (
	"context"
	"errors"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// compiled is a plan made ready.
type compiled struct {
	plan   *plan.Plan
	loaded runtime.Loaded
}

// recording collects what a captured function realizes.
type recording struct{}

var errReadInCapture = errors.New("a value is read inside Capture; return the tensor from the captured function and read it after Run")

func (e *Engine) trace(*plan.Kernel, float64) {}

func (e *Engine) play(context.Context, []target) error { panic("BUG: not wired yet") }
