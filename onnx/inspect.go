package onnx

import (
	"cmp"
	"errors"
	"slices"
)

// OpCount is an operator and how many nodes of a model use it, functions and graphs inside of nodes included.
type OpCount struct {
	Name, Domain string
	Nodes        int
	Local        bool // the file defines it as a function
}

// Ops lists the operators of the model, in the order in which they are met.
func (m *Model) Ops() []OpCount {
	var list []OpCount
	at := map[[2]string]int{}
	var walk func(nodes []*nodeProto)
	walk = func(nodes []*nodeProto) {
		for _, n := range nodes {
			k := [2]string{n.domain, n.op}
			if _, ok := at[k]; !ok {
				at[k] = len(list)
				local := m.functions[functionKey{n.domain, n.op, n.overload}] != nil
				list = append(list, OpCount{Name: n.op, Domain: n.domain, Local: local})
			}
			list[at[k]].Nodes++
			for _, a := range n.attrs {
				for _, g := range append(slices.Clone(a.graphs), a.g) {
					if g != nil {
						walk(g.nodes)
					}
				}
			}
		}
	}
	walk(m.proto.graph.nodes)
	for _, f := range m.proto.functions {
		walk(f.nodes)
	}
	return list
}

// Opset is the version of a domain's operators that the model asks for, 0 of those that it does not name.
func (m *Model) Opset(domain string) int { return m.opsets[domain] }

// Trains says whether a node of the model works as in training.
func (m *Model) Trains() bool {
	return slices.ContainsFunc(m.proto.graph.nodes, func(n *nodeProto) bool { return n.op == "Dropout" && len(n.in) > 2 && n.in[2] != "" })
}

// Info is what a file says of itself.
type Info struct {
	Producer   string
	Opsets     []Opset
	Parameters int   // elements of the arrays of numbers that are weights
	Arrays     int   // how many there are
	Bytes      int64 // what they take in the file
}

// Opset is a version of a domain's operators.
type Opset struct {
	Domain  string // "ai.onnx" is the default one
	Version int
}

// Info is what the model's file says of itself.
func (m *Model) Info() Info {
	info := Info{Producer: m.proto.producer}
	for d, v := range m.opsets {
		if d == "" {
			d = "ai.onnx"
		}
		info.Opsets = append(info.Opsets, Opset{d, v})
	}
	slices.SortFunc(info.Opsets, func(a, b Opset) int { return cmp.Compare(a.Domain, b.Domain) })
	for _, t := range m.proto.graph.init {
		n := count(t.is.shape)
		info.Parameters += n
		info.Arrays++
		info.Bytes += int64(n*t.typ.bits()+7) / 8
	}
	return info
}

// Inspect reads the model in a file as Open does, but one that has operators which are not known is given too, with the list of them; it cannot
// be run.
func Inspect(path string) (*Model, *UnsupportedError, error) {
	m, err := open(path)
	var missing *UnsupportedError
	if errors.As(err, &missing) && m != nil {
		return m, missing, nil
	}
	return m, nil, err
}
