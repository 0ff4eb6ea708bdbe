package torchops

import (
	"maps"
	"strings"

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

// lookUp finds the row of an op. A method and the function of its name are the same, and some functions have second names.
func lookUp(name string) (op, bool) {
	if same, ok := aliases[strings.TrimPrefix(strings.TrimPrefix(name, "torch.special."), "torch.")]; ok {
		name = "torch." + same
	}
	if row, ok := ops[name]; ok {
		return row, true
	}
	short, method := strings.CutPrefix(name, "torch.Tensor.")
	if !method {
		short = strings.TrimPrefix(strings.TrimPrefix(name, "torch.special."), "torch.")
		if row, ok := ops["torch.Tensor."+short]; ok {
			return row, true
		}
	}
	row, ok := ops["torch."+short]
	return row, ok
}

// aliases are second names of functions in torch.
var aliases = map[string]string{
	"absolute": "abs", "negative": "neg", "clip": "clamp", "subtract": "sub", "multiply": "mul", "divide": "div",
	"greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne", "concat": "cat",
	"concatenate": "cat", "row_stack": "vstack", "moveaxis": "movedim", "swapdims": "swapaxes", "arccos": "acos",
	"arcsin": "asin", "arctan": "atan", "arctan2": "atan2", "arccosh": "acosh", "arcsinh": "asinh", "arctanh": "atanh",
	"fix": "trunc", "ger": "outer", "trapz": "trapezoid", "expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma",
}

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
