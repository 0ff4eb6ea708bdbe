package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// net makes the parameters of a network, or goes through them again.
type net struct {
	make   bool // they are made
	d      dtype.DType
	params []*tensor.Tensor
	at     int
}

// p is the next parameter, of so many times a normal deviate.
func (n *net) p(scale float64, s ...int) *tensor.Tensor {
	if n.make {
		n.params = append(n.params, tensor.Randn(s...).Mul(scale).To(n.d))
	}
	n.at++
	return n.params[n.at-1]
}

// lin is a linear layer of the last axis.
func (n *net) lin(x *tensor.Tensor, out int) *tensor.Tensor {
	in := x.Dim(-1)
	return x.MatMul(n.p(1/math.Sqrt(float64(in)), out, in).Transpose(0, 1)).Add(n.p(0.1, out))
}

var activations = map[string]func(x *tensor.Tensor) *tensor.Tensor{
	"relu": (*tensor.Tensor).ReLU, "gelu": (*tensor.Tensor).GELU, "silu": (*tensor.Tensor).SiLU, "tanh": (*tensor.Tensor).Tanh, "hswish": (*tensor.Tensor).HardSwish,
	"elu":      func(x *tensor.Tensor) *tensor.Tensor { return x.ELU(1) },
	"leaky":    func(x *tensor.Tensor) *tensor.Tensor { return x.LeakyReLU(0.1) },
	"softplus": func(x *tensor.Tensor) *tensor.Tensor { return x.Softplus(1) },
}

// activationNames are those of activations, in an order that stays.
var activationNames = []string{"relu", "gelu", "silu", "elu", "tanh", "leaky", "hswish", "softplus"}

// conv is a convolution to so many channels: size, stride, padding, groups.
func (n *net) conv(x *tensor.Tensor, out, k, s, p, g int) *tensor.Tensor {
	c := x.Dim(1)
	return x.Conv2D(n.p(1/math.Sqrt(float64(c/g*k*k)), out, c/g, k, k), n.p(0.1, out), tensor.Conv{Stride: s, Padding: p, Groups: g})
}

// layer is one of a network: a word, and numbers.
func (n *net) layer(x *tensor.Tensor, l string) *tensor.Tensor {
	f := strings.Fields(l)
	v := make([]int, len(f))
	for i := range f {
		v[i], _ = strconv.Atoi(f[i])
	}
	switch f[0] {
	case "conv":
		return n.conv(x, v[1], v[2], v[3], v[4], v[5])
	case "dw":
		return n.conv(x, x.Dim(1), v[1], v[2], v[1]/2, x.Dim(1))
	case "convt":
		c := x.Dim(1)
		return x.ConvTranspose(n.p(1/math.Sqrt(float64(c*v[2]*v[2])), c, v[1], v[2], v[2]), n.p(0.1, v[1]), tensor.Conv{Stride: v[3], Padding: v[4]})
	case "bn":
		c := x.Dim(1)
		axes := []int{0, 2, 3}
		m := x.MeanKeep(axes...)
		d := x.Sub(m)
		va := d.Mul(d).MeanKeep(axes...)
		return d.Mul(va.Add(1e-5).Rsqrt()).Mul(n.p(1, c, 1, 1)).Add(n.p(0.1, c, 1, 1))
	case "gn":
		c := x.Dim(1)
		return x.GroupNorm(v[1], n.p(1, c), n.p(0.1, c), 1e-5)
	case "ln":
		d := x.Dim(-1)
		return x.LayerNorm(n.p(1, d), n.p(0.1, d), 1e-5, d)
	case "rms":
		d := x.Dim(-1)
		return x.RMSNorm(n.p(1, d), 1e-5, d)
	case "act":
		return activations[f[1]](x)
	case "max":
		return x.MaxPool(tensor.Pool{Size: []int{v[1], v[1]}, Stride: []int{v[2], v[2]}, Axes: 2})
	case "avg":
		return x.AvgPool(tensor.Pool{Size: []int{v[1], v[1]}, Stride: []int{v[2], v[2]}, Axes: 2})
	case "up":
		return x.Resize([]int{x.Dim(2) * 2, x.Dim(3) * 2}, tensor.Resize{Mode: tensor.ResizeNearest})
	case "upl":
		return x.Resize([]int{x.Dim(2) * 2, x.Dim(3) * 2}, tensor.Resize{Mode: tensor.ResizeLinear})
	case "shuffle":
		return x.PixelShuffle(2)
	case "se":
		c := x.Dim(1)
		s := x.Mean(2, 3)
		s = n.lin(n.lin(s, max(4, c/4)).ReLU(), c).Sigmoid()
		return x.Mul(s.Reshape(s.Dim(0), c, 1, 1))
	case "res":
		c := x.Dim(1)
		return x.Add(n.conv(n.conv(x, c, 3, 1, 1, 1).ReLU(), c, 3, 1, 1, 1))
	case "cat":
		return tensor.Cat(1, x, n.conv(x, v[1], 3, 1, 1, 1).ReLU())
	case "lin":
		return n.lin(x, v[1])
	case "att":
		b, t, d := x.Dim(0), x.Dim(1), x.Dim(2)
		h := v[1]
		q := n.lin(x, 3*d).Reshape(b, t, 3, h, d/h).Permute(2, 0, 3, 1, 4)
		o := tensor.ScaledDotProduct(q.Select(0, 0), q.Select(0, 1), q.Select(0, 2), tensor.Attention{Causal: v[2] == 1})
		return x.Add(n.lin(o.Transpose(1, 2).Reshape(b, t, d), d))
	case "ffn":
		d := x.Dim(-1)
		return x.Add(n.lin(n.lin(x, d*v[1]).GELU(), d))
	case "swiglu":
		d := x.Dim(-1)
		return x.Add(n.lin(n.lin(x, d*2).SiLU().Mul(n.lin(x, d*2)), d))
	case "c1d":
		d := x.Dim(-1)
		return x.Transpose(1, 2).Conv(n.p(1/math.Sqrt(float64(d*v[2])), v[1], d, v[2]), nil, tensor.Conv{Padding: v[2] / 2}).Transpose(1, 2)
	case "glu":
		return x.GLU(-1)
	case "cumsum":
		return x.CumSum(1).Mul(0.1)
	case "pool":
		return x.Mul(n.lin(x, 1).Softmax(1)).SumKeep(1).Add(x)
	case "mix":
		t := x.Dim(1)
		return x.Add(x.Transpose(1, 2).MatMul(n.p(1/math.Sqrt(float64(t)), t, t)).Transpose(1, 2))
	case "gru":
		d := x.Dim(-1)
		h := tensor.Zeros(x.Dim(0), d).To(x.DType())
		w, u, bb := n.p(1/math.Sqrt(float64(d)), d, 3*d), n.p(1/math.Sqrt(float64(d)), d, 3*d), n.p(0.1, 3*d)
		var hs []*tensor.Tensor
		xs := x.MatMul(w).Add(bb)
		for t := range x.Dim(1) {
			g := xs.Select(1, t).Chunk(-1, 3)
			k := h.MatMul(u).Chunk(-1, 3)
			z, r := g[0].Add(k[0]).Sigmoid(), g[1].Add(k[1]).Sigmoid()
			c := g[2].Add(r.Mul(k[2])).Tanh()
			h = z.Mul(h).Add(z.RSub(1).Mul(c))
			hs = append(hs, h)
		}
		return tensor.Stack(1, hs...)
	}
	panic("there is no layer " + l)
}

// forward goes through all layers, and on to ten classes.
func (n *net) forward(x *tensor.Tensor, layers []string) *tensor.Tensor {
	n.at = 0
	for _, l := range layers {
		x = n.layer(x, l)
	}
	if x.Rank() == 4 {
		x = x.Mean(2, 3)
	} else {
		x = x.Mean(1)
	}
	return n.lin(x, 10)
}

// drawNetwork draws one over pictures or over sequences.
func drawNetwork(r *rand.Rand, of dtype.DType, large bool) *program {
	pick := func(l ...int) int { return l[r.IntN(len(l))] }
	act := func() string { return "act " + activationNames[r.IntN(len(activationNames))] }
	var out []string
	if r.IntN(5) < 3 {
		b, c, h := pick(1, 2, 4, 8, 16, 32), pick(1, 3, 3, 8, 16), pick(14, 16, 28, 32, 48, 64)
		if large {
			b, c, h = pick(1, 1, 2, 4), pick(32, 64, 128, 256), pick(7, 10, 14, 20, 28)
		}
		w := pick(h, h, h, 20, 36)
		shape := []int{b, c, h, w}
		for i, n := 0, 3+r.IntN(7); i < n; i++ {
			switch k := r.IntN(16); {
			case k < 5 || i == 0:
				g := 1
				o := pick(8, 12, 16, 24, 32, 48, 64)
				if large {
					o = pick(64, 96, 128, 192, 256, 384, 512)
				}
				kk := pick(1, 3, 3, 5)
				s := 1
				if h >= 14 && w >= 14 {
					s = pick(1, 1, 2)
				}
				if c%4 == 0 && r.IntN(4) == 0 {
					g = 4
				}
				out = append(out, fmt.Sprintf("conv %d %d %d %d %d", o, kk, s, kk/2, g))
				c, h, w = o, (h+2*(kk/2)-kk)/s+1, (w+2*(kk/2)-kk)/s+1
			case k == 5:
				s := pick(1, 2)
				if h < 8 {
					s = 1
				}
				kk := pick(3, 5)
				out = append(out, fmt.Sprintf("dw %d %d", kk, s))
				h, w = (h+2*(kk/2)-kk)/s+1, (w+2*(kk/2)-kk)/s+1
			case k == 6 && h <= 32:
				o := pick(8, 16, 24)
				out = append(out, fmt.Sprintf("convt %d 4 2 1", o))
				c, h, w = o, h*2, w*2
			case k == 7 || k == 8:
				out = append(out, "bn")
			case k == 9 && c%4 == 0:
				out = append(out, "gn 4")
			case k == 10 && h >= 8 && w >= 8:
				kk := pick(2, 3)
				out = append(out, fmt.Sprintf("%s %d 2", []string{"max", "avg"}[r.IntN(2)], kk))
				h, w = (h-kk)/2+1, (w-kk)/2+1
			case k == 11 && h <= 32:
				out = append(out, []string{"up", "upl"}[r.IntN(2)])
				h, w = h*2, w*2
			case k == 12 && c%4 == 0 && c >= 16:
				out = append(out, "shuffle")
				c, h, w = c/4, h*2, w*2
			case k == 13:
				out = append(out, "se")
			case k == 14:
				out = append(out, "res")
			case k == 15:
				out = append(out, "cat 16")
				c += 16
			}
			out = append(out, act())
		}
		return network(of, shape, out, r.IntN(3) > 0)
	}
	b, t, d := pick(1, 2, 4, 8, 16), pick(16, 31, 50, 64, 128), pick(32, 48, 64, 96, 128)
	if large {
		b, t, d = pick(1, 1, 2, 4), pick(17, 64, 100, 197, 256), pick(192, 256, 320, 384, 512)
	}
	shape := []int{b, t, d}
	for i, n := 0, 2+r.IntN(6); i < n; i++ {
		switch r.IntN(12) {
		case 0:
			d = pick(32, 64, 80, 128, 160)
			out = append(out, fmt.Sprintf("lin %d", d), act())
		case 1, 2:
			h := pick(2, 4)
			if d%h != 0 {
				h = 2
			}
			out = append(out, fmt.Sprintf("att %d %d", h, r.IntN(2)))
		case 3:
			out = append(out, "ln")
		case 4:
			out = append(out, "rms")
		case 5:
			out = append(out, fmt.Sprintf("ffn %d", pick(2, 4)))
		case 6:
			out = append(out, "swiglu")
		case 7:
			d = pick(32, 64, 96)
			out = append(out, fmt.Sprintf("c1d %d %d", d, pick(3, 5)))
		case 8:
			if d%4 == 0 {
				out = append(out, "glu")
				d /= 2
			}
		case 9:
			out = append(out, "cumsum")
		case 10:
			out = append(out, "pool")
		case 11:
			if r.IntN(3) == 0 && t <= 31 {
				out = append(out, "gru")
			} else {
				out = append(out, "mix")
			}
		}
	}
	return network(of, shape, out, r.IntN(3) > 0)
}

func network(d dtype.DType, shape []int, layers []string, step bool) *program {
	p := &program{Kind: "network", Type: d.String(), Shape: shape, Layers: layers, Grad: step}
	p.prepare = func() { p.network(d) }
	return p
}

// network makes the parameters and says what is run: a forward pass, or a step of training by gradient descent.
func (p *program) network(d dtype.DType) {
	x := tensor.Randn(p.Shape...).To(d)
	labels := tensor.RandInt(0, 10, p.Shape[0])
	n := &net{make: true, d: d}
	n.forward(x, p.Layers)
	p.in = append([]*tensor.Tensor{x, labels}, n.params...)
	p.graph = func(in ...*tensor.Tensor) []*tensor.Tensor {
		y := (&net{params: in[2:]}).forward(in[0], p.Layers)
		if !p.Grad {
			return []*tensor.Tensor{y}
		}
		loss := y.CrossEntropy(in[1])
		out := []*tensor.Tensor{loss}
		for i, g := range loss.Grad(in[2:]...) {
			out = append(out, in[2+i].Sub(g.Mul(0.01)))
		}
		return out
	}
}
