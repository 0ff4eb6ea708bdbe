package torchops

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-ml/weft/tensor"
)

// addOutputs pairs the outputs with what is wanted; host values are compared at once.
func (j *job) addOutputs(out []any, tensors *[]*tensor.Tensor) *Result {
	c := j.c
	wanted := trimmed(c.Out)
	out = trimmed(out)
	if len(out) != len(wanted) {
		return failed(c, "%d outputs, want %d", len(out), len(wanted))
	}
	for i := range out {
		r := rule{c.RTol, c.ATol, c.Bits, slices.Contains(c.AnyInt, i)}
		if res := j.addOutput(fmt.Sprintf("out[%d]", i), out[i], c.Out[i], r); res != nil {
			return res
		}
		switch v := out[i].(type) {
		case *tensor.Tensor:
			*tensors = append(*tensors, v)
		case complexTensor:
			*tensors = append(*tensors, v.Tensor)
		default:
			*tensors = append(*tensors, nil)
		}
	}
	return nil
}

// trimmed leaves out trailing outputs that are none.
func trimmed(list []any) []any {
	for len(list) > 0 && list[len(list)-1] == nil {
		list = list[:len(list)-1]
	}
	return list
}

func (j *job) addOutput(path string, got, want any, r rule) *Result {
	switch g := got.(type) {
	case []any:
		w, ok := want.([]any)
		if !ok || len(w) != len(g) {
			return failed(j.c, "%s: a list of %d, want %v", path, len(g), want)
		}
		for i := range g {
			if res := j.addOutput(fmt.Sprintf("%s[%d]", path, i), g[i], w[i], r); res != nil {
				return res
			}
		}
		return nil
	case complexTensor:
		return j.addTensor(path, g.Tensor, true, want, r)
	case *tensor.Tensor:
		return j.addTensor(path, g, false, want, r)
	}
	if !sameHost(got, want, r) {
		return failed(j.c, "%s: %v, want %v", path, got, want)
	}
	return nil
}

func (j *job) addTensor(path string, got *tensor.Tensor, complex bool, want any, r rule) *Result {
	ref, ok := want.(*Ref)
	if !ok || ref.Complex != complex {
		return failed(j.c, "%s: a tensor (complex: %v), want %T", path, complex, want)
	}
	w, ok := hostArray(ref)
	if !ok {
		return &Result{j.c, NotYet, "no dtype " + ref.DType}
	}
	shape := array{got.DType(), got.Shape(), nil}
	if err := sameForm(shape, w, r); err != nil {
		return failed(j.c, "%s: %v", path, err)
	}
	l := leaf{path, j.dev.own(got), w, r}
	if len(j.c.Check) > 0 {
		j.whole = append(j.whole, l)
	} else {
		j.leaves = append(j.leaves, l)
	}
	return nil
}

// sameHost compares host values: bools and strings exactly, numbers by the rule.
func sameHost(got, want any, r rule) bool {
	number := func(v any) (float64, bool) {
		switch v := v.(type) {
		case int:
			return float64(v), true
		case float64:
			return v, true
		}
		return 0, false
	}
	g, ok1 := number(got)
	w, ok2 := number(want)
	if ok1 && ok2 {
		return r.closeTo(g, w)
	}
	return got == want
}

func (j *job) addAfter(call *call) *Result {
	for _, key := range slices.Sorted(maps.Keys(j.c.After)) { // in one order, for the same kernels in each run
		ref, got := j.c.After[key], call.after[key]
		if got == nil {
			return failed(j.c, "the adapter does not say what becomes of argument %s", key)
		}
		want, _ := hostArray(ref)
		j.leaves = append(j.leaves, leaf{"after " + key, j.dev.own(got), want, rule{rtol: j.c.RTol, atol: j.c.ATol}})
	}
	return nil
}
