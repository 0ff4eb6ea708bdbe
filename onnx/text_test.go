package onnx

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Strings that a file doubles again and again are an error before they fill the memory; those of a run are counted together.
func TestStringsAreBounded(t *testing.T) {
	long := Strings([]int{1}, []string{strings.Repeat("a", 1<<20)})
	call := func(nodes ...message) error {
		y := message{}.text(1, "y").add(2, message{}.add(1, message{}.num(1, int64(String))))
		x := portMsg("x", String, -1)
		m := read(t, modelMsg(graphMsg(nodes, msgs(intsMsg("many", 1<<25), intsMsg("some", 1<<20)), msgs(x), msgs(y))))
		_, err := m.Call(context.Background(), map[string]*Value{"x": long})
		return err
	}
	chain := func(op string, n int, in ...string) (nodes []message) {
		last := "x"
		for i := range n {
			next := fmt.Sprint("s", i)
			if i == n-1 {
				next = "y"
			}
			inputs := append([]string{last}, in...)
			if op == "StringConcat" {
				inputs = append(inputs, last)
			}
			nodes, last = append(nodes, nodeMsg(op, inputs, list(next))), next
		}
		return nodes
	}
	require.NoError(t, call(chain("StringConcat", 6)...))
	require.ErrorContains(t, call(chain("StringConcat", 8)...), "the StringConcat")
	require.ErrorContains(t, call(chain("StringConcat", 50)...), "a run makes 268435456 at most")
	require.ErrorContains(t, call(nodeMsg("Tile", list("x", "many"), list("y"))), "a run makes 268435456 at most")
	require.ErrorContains(t, call(nodeMsg("Tile", list("x", "some"), list("z")), nodeMsg("StringConcat", list("z", "z"), list("y"))), "at most")
}
