package onnx

import "fmt"

// The messages of onnx.proto3 (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3), as far as running a model needs them.

// Bounds of what a file may hold. They are far above what exporters write.
const (
	maxDepth    = 48      // graphs in nodes in graphs
	maxNodes    = 1 << 20 // of a file
	maxRank     = 64
	maxTypeNest = 16
)

type modelProto struct {
	ir        int64
	producer  string
	version   string
	domain    string
	doc       string
	opsets    []opsetID
	graph     *graphProto
	functions []*functionProto
	metadata  [][2]string
}

type opsetID struct {
	domain  string
	version int64
}

type graphProto struct {
	name    string
	nodes   []*nodeProto
	init    []*tensorProto
	sparse  []*sparseProto
	inputs  []*valueInfo
	outputs []*valueInfo
	reads   reads
}

type nodeProto struct {
	in, out  []string
	name     string
	op       string
	domain   string
	overload string
	attrs    []*attrProto
}

type attrType int64

const (
	attrFloat attrType = 1 + iota
	attrInt
	attrString
	attrTensor
	attrGraph
	attrFloats
	attrInts
	attrStrings
	attrTensors
	attrGraphs
	attrSparse
	attrSparses
	attrTypeProto
)

type attrProto struct {
	name    string
	ref     string // of the function's attribute whose value this is
	kind    attrType
	f       float32
	i       int64
	s       []byte
	t       *tensorProto
	g       *graphProto
	sparse  *sparseProto
	typ     *Type
	floats  []byte
	ints    []int64
	strings [][]byte
	tensors []*tensorProto
	graphs  []*graphProto
}

type tensorProto struct {
	name     string
	dims     []int64
	typ      Elem
	raw      []byte
	hasRaw   bool
	floats   []byte
	ints32   []int64
	strings  [][]byte
	ints64   []int64
	doubles  []byte
	uints64  []int64
	external map[string]string
	outside  bool
	segment  bool
	is       *Value // what it holds, once it is checked
}

type sparseProto struct {
	values, indices *tensorProto
	dims            []int64
	is              *Value
}

type valueInfo struct {
	name string
	typ  *Type
}

type functionProto struct {
	name, domain, overload string
	in, out, attrs         []string
	defaults               []*attrProto
	nodes                  []*nodeProto
	opsets                 []opsetID
	reads                  reads
}

// decoder counts what a file holds while it is taken apart.
type decoder struct{ nodes int }

func within[T any](what string, f field, parse func([]byte) (T, error), to *T) error {
	b, err := f.bytes()
	if err == nil {
		*to, err = parse(b)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func appended[T any](what string, f field, parse func([]byte) (T, error), to *[]T) error {
	var v T
	err := within(fmt.Sprintf("%s %d", what, len(*to)), f, parse, &v)
	*to = append(*to, v)
	return err
}

func (d *decoder) model(b []byte) (m *modelProto, err error) {
	m = &modelProto{}
	graph := func(b []byte) (*graphProto, error) { return d.graph(b, 0) }
	return m, walk(b, func(f field) error {
		switch f.number {
		case 1:
			return f.int(&m.ir)
		case 2:
			return f.text(&m.producer)
		case 3:
			return f.text(&m.version)
		case 4:
			return f.text(&m.domain)
		case 6:
			return f.text(&m.doc)
		case 7:
			if m.graph != nil {
				return fmt.Errorf("there are two graphs")
			}
			return within("graph", f, graph, &m.graph)
		case 8:
			return appended("operator set", f, opset, &m.opsets)
		case 14:
			return appended("metadata", f, pair, &m.metadata)
		case 25:
			return appended("function", f, d.function, &m.functions)
		}
		return nil
	})
}

func opset(b []byte) (o opsetID, err error) {
	return o, walk(b, func(f field) error {
		switch f.number {
		case 1:
			return f.text(&o.domain)
		case 2:
			return f.int(&o.version)
		}
		return nil
	})
}

func pair(b []byte) (p [2]string, err error) {
	return p, walk(b, func(f field) error {
		if f.number == 1 || f.number == 2 {
			return f.text(&p[f.number-1])
		}
		return nil
	})
}

func (d *decoder) graph(b []byte, depth int) (g *graphProto, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("graphs lie in each other more than %d deep", maxDepth)
	}
	g = &graphProto{}
	node := func(b []byte) (*nodeProto, error) { return d.node(b, depth) }
	return g, walk(b, func(f field) error {
		switch f.number {
		case 1:
			return appended("node", f, node, &g.nodes)
		case 2:
			return f.text(&g.name)
		case 5:
			return appended("initializer", f, tensorOf, &g.init)
		case 11:
			return appended("input", f, info, &g.inputs)
		case 12:
			return appended("output", f, info, &g.outputs)
		case 15:
			return appended("sparse initializer", f, sparse, &g.sparse)
		}
		return nil
	})
}

func (d *decoder) node(b []byte, depth int) (n *nodeProto, err error) {
	if d.nodes++; d.nodes > maxNodes {
		return nil, fmt.Errorf("there are more than %d nodes", maxNodes)
	}
	n = &nodeProto{}
	attr := func(b []byte) (*attrProto, error) { return d.attr(b, depth) }
	err = walk(b, func(f field) error {
		var s string
		switch f.number {
		case 1:
			err := f.text(&s)
			n.in = append(n.in, s)
			return err
		case 2:
			err := f.text(&s)
			n.out = append(n.out, s)
			return err
		case 3:
			return f.text(&n.name)
		case 4:
			return f.text(&n.op)
		case 5:
			return appended("attribute", f, attr, &n.attrs)
		case 7:
			return f.text(&n.domain)
		case 8:
			return f.text(&n.overload)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%.60s %.80q: %w", n.op, n.name, err)
	}
	if n.domain == "ai.onnx" {
		n.domain = ""
	}
	return n, nil
}

func (d *decoder) attr(b []byte, depth int) (a *attrProto, err error) {
	a = &attrProto{}
	graph := func(b []byte) (*graphProto, error) { return d.graph(b, depth+1) }
	kind := attrType(0) // of files older than field 20
	err = walk(b, func(f field) error {
		var n int64
		switch f.number {
		case 1:
			return f.text(&a.name)
		case 2:
			kind = attrFloat
			return f.float(&a.f)
		case 3:
			kind = attrInt
			return f.int(&a.i)
		case 4:
			kind = attrString
			a.s, err = f.bytes()
			return err
		case 5:
			kind = attrTensor
			return within("tensor", f, tensorOf, &a.t)
		case 6:
			kind = attrGraph
			return within("graph", f, graph, &a.g)
		case 7:
			kind = attrFloats
			return f.fixed(4, &a.floats)
		case 8:
			kind = attrInts
			return f.integers(&a.ints)
		case 9:
			kind = attrStrings
			s, err := f.bytes()
			a.strings = append(a.strings, s)
			return err
		case 10:
			kind = attrTensors
			return appended("tensor", f, tensorOf, &a.tensors)
		case 11:
			kind = attrGraphs
			return appended("graph", f, graph, &a.graphs)
		case 14:
			return within("type", f, typeOf, &a.typ)
		case 20:
			err := f.int(&n)
			a.kind = attrType(n)
			return err
		case 21:
			return f.text(&a.ref)
		case 22:
			return within("sparse tensor", f, sparse, &a.sparse)
		}
		return nil
	})
	if a.kind == 0 {
		a.kind = kind
	}
	switch {
	case err != nil:
	case a.ref != "":
	case a.kind == attrTensor && a.t == nil, a.kind == attrGraph && a.g == nil, a.kind == attrSparse && a.sparse == nil,
		a.kind == attrTypeProto && a.typ == nil:
		err = fmt.Errorf("its value is not there")
	}
	if err != nil {
		return nil, fmt.Errorf("%.60q: %w", a.name, err)
	}
	return a, nil
}
