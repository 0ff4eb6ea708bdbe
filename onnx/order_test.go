package onnx

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// A file may have its nodes in any order, also where a graph inside of a node reads what a later one gives; what reads itself is refused.
func TestNodesOutOfOrder(t *testing.T) {
	branch := func(of string) message {
		return graphMsg(msgs(nodeMsg("Neg", list(of), list(of+" turned"))), nil, nil, msgs(portMsg(of+" turned", Float32, -1)))
	}
	model := func(nodes ...message) []byte {
		return modelMsg(graphMsg(nodes, msgs(tensorMsg("yes", Bool, []byte{1})), msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1))))
	}
	m := read(t, model(nodeMsg("Add", list("chosen", "root"), list("y")),
		nodeMsg("If", list("yes"), list("chosen"), graphAttr("then_branch", branch("twice")), graphAttr("else_branch", branch("root"))),
		nodeMsg("Add", list("root", "root"), list("twice")), nodeMsg("Sqrt", list("x"), list("root"))))
	require.Equal(t, []float32{-2, -3}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{4, 9}))}))

	_, err := Read(model(nodeMsg("Add", list("x", "b"), list("a")), nodeMsg("Neg", list("a"), list("b")), nodeMsg("Neg", list("b"), list("y"))), Options{})
	require.ErrorContains(t, err, "in a circle")
	_, err = Read(model(nodeMsg("Add", list("x", "y"), list("y"))), Options{})
	require.ErrorContains(t, err, "in a circle")

	var nodes []message
	const many = 20000
	for i := range many { // the last one comes first
		nodes = append(nodes, nodeMsg("Neg", list(fmt.Sprint("v", many-1-i)), list(fmt.Sprint("v", many-i))))
	}
	nodes[0] = nodeMsg("Neg", list(fmt.Sprint("v", many-1)), list("y"))
	nodes[many-1] = nodeMsg("Neg", list("x"), list("v1"))
	read(t, model(nodes...))
}
