package onnx

import (
	"slices"
	"strings"
)

// Operators lists the operators that are known, by domain ("" is the default one), sorted.
func Operators() map[string][]string {
	out := map[string][]string{}
	for name := range operators {
		domain := ""
		if d, op, ok := strings.Cut(name, ":"); ok {
			domain, name = d, op
		}
		out[domain] = append(out[domain], name)
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}
