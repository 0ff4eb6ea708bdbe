package networks

import (
	"math"
	"strconv"
)

// sizes are those of a transformer.
type sizes struct{ layers, dim, heads, words, places int }

// Encoder is BERT as Devlin et al. (2018) describe it, of this many layers of 768 with 12 heads (12 in the smaller of theirs): 128 words to a vector
// for each.
func Encoder(layers int) *Network { return encoder(sizes{layers, 768, 12, 30522, 512}, 128) }

// GPT2 is a step of decoding of the smallest GPT-2 (Radford et al., 2019): 12 layers of 768 with 12 heads. It takes a word, its place and the keys and
// values of the words before it, and gives the logits of the next word and the keys and values with those of this one. bits are 32, weights as
// float32, or 4, products with weights of 4 bits in blocks of 32 (MatMulNBits).
func GPT2(before, bits int) *Network {
	return decoder(sizes{12, 768, 12, 50257, 1024}, before, bits)
}

func encoder(s sizes, n int) *Network {
	w := newWriter("encoder", 2018)
	var ids, ones []int64
	for range n {
		ids, ones = append(ids, w.random.Int64N(int64(s.words))), append(ones, 1)
	}
	for i := n - n/8; i < n; i++ { // what fills a row up
		ones[i] = 0
	}
	words := w.input("input_ids", "int64", []int{1, n}, int64s(ids))
	mask := w.input("attention_mask", "int64", []int{1, n}, int64s(ones))
	x := w.add("Gather", []string{w.normal(0, 0.02, s.words, s.dim), words})
	x = w.add("Add", []string{x, w.normal(0, 0.02, 1, n, s.dim)}) // places and segments
	x = w.norm(x, s.dim)
	mask = w.add("Unsqueeze", []string{mask, w.ints(1, 2)})
	mask = w.add("Cast", []string{mask}, whole("to", elemFloat))
	mask = w.add("Mul", []string{w.add("Sub", []string{w.scalar(1), mask}), w.scalar(-1e9)})
	for range s.layers {
		head := func() string {
			y := w.add("Reshape", []string{w.linear(x, s.dim, s.dim, 32), w.ints(1, int64(n), int64(s.heads), int64(s.dim/s.heads))})
			return w.add("Transpose", []string{y}, wholes("perm", 0, 2, 1, 3))
		}
		y := w.attend(s, head(), head(), head(), mask)
		y = w.add("Transpose", []string{y}, wholes("perm", 0, 2, 1, 3))
		y = w.add("Reshape", []string{y, w.ints(1, int64(n), int64(s.dim))})
		x = w.norm(w.add("Add", []string{w.linear(y, s.dim, s.dim, 32), x}), s.dim)
		y = w.linear(x, s.dim, 4*s.dim, 32)
		erf := w.add("Add", []string{w.add("Erf", []string{w.add("Div", []string{y, w.scalar(math.Sqrt2)})}), w.scalar(1)})
		y = w.add("Mul", []string{w.add("Mul", []string{y, erf}), w.scalar(0.5)})
		x = w.norm(w.add("Add", []string{w.linear(y, 4*s.dim, s.dim, 32), x}), s.dim)
	}
	w.output("last_hidden_state", x, 1, n, s.dim)
	return w.network()
}

func decoder(s sizes, before, bits int) *Network {
	w := newWriter("gpt2", 2019)
	size := s.dim / s.heads
	id := w.input("input_ids", "int64", []int{1, 1}, int64s([]int64{w.random.Int64N(int64(s.words))}))
	place := w.input("position_ids", "int64", []int{1, 1}, int64s([]int64{int64(before)}))
	table := w.normal(0, 0.02, s.words, s.dim)
	x := w.add("Add", []string{w.add("Gather", []string{table, id}), w.add("Gather", []string{w.normal(0, 0.02, s.places, s.dim), place})})
	row := w.ints(1, 1, int64(s.dim))
	type kept struct{ name, value string }
	var cache []kept
	for layer := range s.layers {
		y := w.linear(w.norm(x, s.dim), s.dim, 3*s.dim, bits)
		parts := w.addAll("", "Split", []string{y, w.ints(int64(s.dim), int64(s.dim), int64(s.dim))}, 3, whole("axis", 2))
		for i, p := range parts {
			p = w.add("Reshape", []string{p, w.ints(1, 1, int64(s.heads), int64(size))})
			parts[i] = w.add("Transpose", []string{p}, wholes("perm", 0, 2, 1, 3))
		}
		for i, kind := range []string{"key", "value"} {
			name := strconv.Itoa(layer) + "." + kind
			shape := []int{1, s.heads, before, size}
			past := w.input("past."+name, "float32", shape, w.floats(0, 0.5, shape))
			parts[1+i] = w.add("Concat", []string{past, parts[1+i]}, whole("axis", 2))
			cache = append(cache, kept{"present." + name, parts[1+i]})
		}
		y = w.attend(s, parts[0], parts[1], parts[2], "")
		y = w.add("Reshape", []string{w.add("Transpose", []string{y}, wholes("perm", 0, 2, 1, 3)), row})
		x = w.add("Add", []string{w.linear(y, s.dim, s.dim, bits), x})
		y = w.linear(w.norm(x, s.dim), s.dim, 4*s.dim, bits)
		cube := w.add("Pow", []string{y, w.scalar(3)})
		inner := w.add("Add", []string{y, w.add("Mul", []string{cube, w.scalar(0.044715)})})
		inner = w.add("Tanh", []string{w.add("Mul", []string{inner, w.scalar(0.7978845608028654)})})
		y = w.add("Mul", []string{w.add("Mul", []string{y, w.scalar(0.5)}), w.add("Add", []string{inner, w.scalar(1)})})
		x = w.add("Add", []string{w.linear(y, 4*s.dim, s.dim, bits), x})
	}
	x = w.add("Reshape", []string{w.norm(x, s.dim), w.ints(1, int64(s.dim))})
	if bits == 32 {
		x = w.add("Gemm", []string{x, table}, whole("transB", 1)) // the table of words again
	} else {
		x = w.packed(x, s.dim, s.words, "")
	}
	w.output("logits", x, 1, s.words)
	for _, c := range cache {
		w.output(c.name, c.value, 1, s.heads, before+1, size)
	}
	return w.network()
}

// attend is attention of heads [1, heads, n, size]; mask is added to the scores, if there is one.
func (w *writer) attend(s sizes, q, k, v, mask string) string {
	k = w.add("Transpose", []string{k}, wholes("perm", 0, 1, 3, 2))
	scores := w.add("Div", []string{w.add("MatMul", []string{q, k}), w.scalar(float32(math.Sqrt(float64(s.dim / s.heads))))})
	if mask != "" {
		scores = w.add("Add", []string{scores, mask})
	}
	return w.add("MatMul", []string{w.add("Softmax", []string{scores}, whole("axis", -1)), v})
}

func (w *writer) norm(x string, dim int) string {
	return w.add("LayerNormalization", []string{x, w.normal(1, 0.1, dim), w.normal(0, 0.1, dim)}, whole("axis", -1))
}

// linear is a product with random weights and a bias.
func (w *writer) linear(x string, from, to, bits int) string {
	bias := w.normal(0, 0.02, to)
	if bits == 4 {
		return w.packed(x, from, to, bias)
	}
	return w.add("Add", []string{w.add("MatMul", []string{x, w.normal(0, 0.02, from, to)}), bias})
}

// packed is linear with weights of 4 bits, whose zero point is 8, in blocks of 32; the scales make them deviate by about 0.02.
func (w *writer) packed(x string, from, to int, bias string) string {
	const block = 32
	raw := make([]byte, to*from/2)
	for i := range raw {
		raw[i] = byte(w.random.Uint32())
	}
	in := []string{x, w.tensor(elemUint8, []int{to, from / block, block / 2}, raw), w.tensor(elemFloat, []int{to * from / block}, w.between(0.003, 0.0055, to*from/block))}
	if bias != "" {
		in = append(in, "", "", bias)
	}
	return w.addAll("com.microsoft", "MatMulNBits", in, 1, whole("K", from), whole("N", to), whole("bits", 4), whole("block_size", block))[0]
}
