// Package networks writes ONNX models of known architectures with random weights, as exporters write them: what is measured beside other
// runtimes, and needs no file from anywhere. It refuses to know how a model is run.
//
//	n := networks.ResNet18()
//	m, err := onnx.Read(n.Model, onnx.Options{Name: n.Name})
package networks

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
)

// Network is a model and what it is given.
type Network struct {
	Name    string
	Model   []byte
	Inputs  []Input
	Outputs []string
}

// Input is a value of an input: its elements lie in little-endian bytes, row by row.
type Input struct {
	Name  string
	DType string // float32 or int64
	Shape []int
	Data  []byte
}

// writer writes a network. Names of values and weights are numbers: the same calls give the same bytes.
type writer struct {
	nodes, weights, inputs, outputs []message
	net                             Network
	random                          *rand.Rand
	values                          int
}

func newWriter(name string, seed uint64) *writer {
	return &writer{net: Network{Name: name}, random: rand.New(rand.NewPCG(seed, 0))}
}

func (w *writer) name() string {
	w.values++
	return "v" + strconv.Itoa(w.values)
}

// add writes a node of the default domain with one output.
func (w *writer) add(op string, in []string, attrs ...message) string {
	return w.addAll("", op, in, 1, attrs...)[0]
}

func (w *writer) addAll(domain, op string, in []string, outs int, attrs ...message) []string {
	var names []string
	for range outs {
		names = append(names, w.name())
	}
	w.nodes = append(w.nodes, message{}.text(1, in...).text(2, names...).text(3, op+"_"+strconv.Itoa(len(w.nodes))).text(4, op).messages(5, attrs...).text(7, domain))
	return names
}

func (w *writer) tensor(elem int64, shape []int, raw []byte) string {
	name := w.name()
	var m message
	for _, n := range shape {
		m = m.number(1, int64(n))
	}
	w.weights = append(w.weights, m.number(2, elem).text(8, name).bytes(9, raw))
	return name
}

// The types of elements, as the format numbers them.
const (
	elemFloat = 1
	elemUint8 = 2
	elemInt64 = 7
)

// normal is a weight of random numbers about mean.
func (w *writer) normal(mean, deviation float64, shape ...int) string {
	return w.tensor(elemFloat, shape, w.floats(mean, deviation, shape))
}

func (w *writer) floats(mean, deviation float64, shape []int) []byte {
	return floatsOf(count(shape), func() float64 { return mean + deviation*w.random.NormFloat64() })
}

// between are n numbers from lo to hi.
func (w *writer) between(lo, hi float64, n int) []byte {
	return floatsOf(n, func() float64 { return lo + (hi-lo)*w.random.Float64() })
}

func floatsOf(n int, next func() float64) []byte {
	raw := make([]byte, 0, 4*n)
	for range n {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(next())))
	}
	return raw
}

func (w *writer) scalar(x float32) string {
	return w.tensor(elemFloat, nil, binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
}

func (w *writer) ints(list ...int64) string {
	return w.tensor(elemInt64, []int{len(list)}, int64s(list))
}

func int64s(list []int64) (raw []byte) {
	for _, n := range list {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(n))
	}
	return raw
}

// input is an input of the model and what it is given.
func (w *writer) input(name, dtype string, shape []int, data []byte) string {
	elem := int64(elemFloat)
	if dtype == "int64" {
		elem = elemInt64
	}
	w.inputs = append(w.inputs, port(name, elem, shape))
	w.net.Inputs = append(w.net.Inputs, Input{name, dtype, shape, data})
	return name
}

// output names a value as an output of the model, a float32 of this shape.
func (w *writer) output(name, value string, shape ...int) {
	w.nodes = append(w.nodes, message{}.text(1, value).text(2, name).text(4, "Identity"))
	w.outputs = append(w.outputs, port(name, elemFloat, shape))
	w.net.Outputs = append(w.net.Outputs, name)
}

// network is what was written, of version 17 of the operators.
func (w *writer) network() *Network {
	graph := message{}.messages(1, w.nodes...).text(2, w.net.Name).messages(5, w.weights...).messages(11, w.inputs...).messages(12, w.outputs...)
	w.net.Model = message{}.number(1, 8).messages(7, graph).
		messages(8, message{}.text(1, "").number(2, 17), message{}.text(1, "com.microsoft").number(2, 1))
	return &w.net
}

func port(name string, elem int64, shape []int) message {
	var dims message
	for _, n := range shape {
		dims = dims.messages(1, message{}.number(1, int64(n)))
	}
	return message{}.text(1, name).messages(2, message{}.messages(1, message{}.number(1, elem).messages(2, dims)))
}

func count(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}
