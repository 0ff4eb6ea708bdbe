package torchops

import (
	"maps"

	"github.com/weft-ml/weft/tensor"
)

// op is a row of the tables: how torch names and orders the parameters, and the call of Weft's method.
type op struct {
	signature string
	run       func(c *call) []any
}

// ops are all rows. An op that is not here is "not yet".
var ops = merge(elementwiseOps, movementOps, reduceOps, linalgOps, fftOps, indexOps, resizeOps, creationOps,
	layerOps, lossOps, nnOps, optimOps, scheduleOps)

func merge(tables ...map[string]op) map[string]op {
	all := map[string]op{}
	for _, t := range tables {
		for name := range t {
			if _, ok := all[name]; ok {
				panic("BUG: two rows for " + name)
			}
		}
		maps.Copy(all, t)
	}
	return all
}

// one is a row with a single output.
func one(signature string, f func(c *call) *tensor.Tensor) op {
	return op{signature, func(c *call) []any { return []any{f(c)} }}
}

// two is a row with two outputs.
func two(signature string, f func(c *call) (*tensor.Tensor, *tensor.Tensor)) op {
	return op{signature, func(c *call) []any {
		a, b := f(c)
		return []any{a, b}
	}}
}

// list is a row with as many outputs as there are tensors.
func list(signature string, f func(c *call) []*tensor.Tensor) op {
	return op{signature, func(c *call) []any { return outputs(f(c)...) }}
}

func outputs(ts ...*tensor.Tensor) []any {
	out := make([]any, len(ts))
	for i, t := range ts {
		out[i] = t
	}
	return out
}
