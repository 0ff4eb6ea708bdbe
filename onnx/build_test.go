package onnx

import (
	"encoding/binary"
	"math"
)

// message builds a message of the wire format.
type message []byte

func (m message) num(field int, n int64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3), uint64(n))
}

func (m message) bytes(field int, b []byte) message {
	m = binary.AppendUvarint(m, uint64(field)<<3|2)
	return append(binary.AppendUvarint(m, uint64(len(b))), b...)
}

func (m message) text(field int, s ...string) message {
	for _, s := range s {
		m = m.bytes(field, []byte(s))
	}
	return m
}

func (m message) float(field int, f float32) message {
	m = binary.AppendUvarint(m, uint64(field)<<3|5)
	return binary.LittleEndian.AppendUint32(m, math.Float32bits(f))
}

func (m message) add(field int, list ...message) message {
	for _, b := range list {
		m = m.bytes(field, b)
	}
	return m
}

func tensorMsg(name string, typ Elem, raw []byte, dims ...int64) message {
	var m message
	for _, d := range dims {
		m = m.num(1, d)
	}
	return m.num(2, int64(typ)).text(8, name).bytes(9, raw)
}

func floatsMsg(name string, list ...float32) message {
	v := floatsValue([]int{len(list)}, list...)
	return tensorMsg(name, Float32, v.raw, int64(len(list)))
}

func intsMsg(name string, list ...int64) message {
	return tensorMsg(name, Int64, little(list, 8), int64(len(list)))
}

// portMsg is an input or output of type e; negative sizes are unknown.
func portMsg(name string, e Elem, dims ...int64) message {
	var shape message
	for _, d := range dims {
		if d < 0 {
			shape = shape.add(1, message{}.text(2, "n"))
		} else {
			shape = shape.add(1, message{}.num(1, d))
		}
	}
	return message{}.text(1, name).add(2, message{}.add(1, message{}.num(1, int64(e)).add(2, shape)))
}

// nodeMsg is a node: its inputs, its outputs, its attributes.
func nodeMsg(op string, in, out []string, attrs ...message) message {
	return message{}.text(1, in...).text(2, out...).text(3, "the "+op).text(4, op).add(5, attrs...)
}

func intAttr(name string, n int64) message { return message{}.text(1, name).num(3, n).num(20, 2) }

func intsAttr(name string, list ...int64) message {
	m := message{}.text(1, name).num(20, 7)
	for _, n := range list {
		m = m.num(8, n)
	}
	return m
}

func graphAttr(name string, g message) message { return message{}.text(1, name).add(6, g).num(20, 5) }

// graphMsg is a graph.
func graphMsg(nodes, inits, in, out []message) message {
	return message{}.add(1, nodes...).text(2, "g").add(5, inits...).add(11, in...).add(12, out...)
}

// modelMsg is a model of version 18 of the operators.
func modelMsg(graph message, functions ...message) []byte {
	return message{}.num(1, 9).add(7, graph).add(8, message{}.text(1, "").num(2, 18)).add(25, functions...)
}

func list(s ...string) []string { return s }

func msgs(m ...message) []message { return m }
