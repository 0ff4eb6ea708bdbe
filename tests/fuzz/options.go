package fuzz

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// options is the argument that is a struct of package tensor.
func (a *Arg) options() any {
	switch a.Kind {
	case EmbedA:
		o := tensor.EmbeddingOptions{ScaleByFreq: a.List[1] != 0, MaxNorm: a.Reals[0], NormType: a.Reals[1]}
		if a.List[0] >= 0 {
			o.Padding = []int{a.List[0]}
		}
		return o
	case ResizeA:
		return tensor.Resize{Mode: tensor.ResizeMode(a.List[0]), AlignCorners: a.List[1] != 0, Antialias: a.List[2] != 0, Scales: a.Reals}
	case SampleA:
		return tensor.Sample{Mode: tensor.ResizeMode(a.List[0]), Padding: tensor.SamplePadding(a.List[1]), AlignCorners: a.List[2] != 0}
	case TripletA:
		return tensor.Triplet{Margin: a.Reals[0], P: a.Reals[1], Eps: a.Reals[2], Swap: a.N != 0}
	case CTCA:
		return tensor.CTCOptions{Blank: a.List[0], Reduction: tensor.LossReduction(a.List[1]), ZeroInfinity: a.List[2] != 0}
	case SizesA:
		sizes := map[string]int{}
		for i, n := range a.List {
			sizes[a.S[i:i+1]] = n
		}
		return sizes
	case SamplingA:
		return tensor.Sampling{Replace: a.N != 0}
	case GumbelA:
		return tensor.Gumbel{Temperature: a.X, Hard: a.N != 0}
	case FramesA:
		return tensor.Frames{Hop: a.List[0], Uncentred: a.List[1] != 0, ZeroPadded: a.List[2] != 0, Normalized: a.List[3] != 0, TwoSided: a.List[4] != 0, Length: a.List[5]}
	case ReduceA:
		return reducers[a.S]
	case NewtonA:
		return [3]float64(a.Reals)
	}
	panic("BUG: an argument of no kind")
}

// reducers are what EinReduce may reduce by.
var reducers = map[string]func(t T, axes ...int) T{
	"Sum": T.Sum, "Max": T.Max, "Min": T.Min, "Mean": T.Mean, "Any": T.Any, "All": T.All,
}

func (a *Arg) loss(values []T) tensor.Loss {
	l := tensor.Loss{Reduction: tensor.LossReduction(a.N), Smoothing: a.X}
	if w := a.weight(0); w >= 0 {
		l.Weight = values[w]
	}
	if w := a.weight(1); w >= 0 {
		l.PosWeight = values[w]
	}
	for _, i := range a.Reals {
		l.Ignore = append(l.Ignore, int(i))
	}
	if a.S == "last" {
		l.ClassAxis = -1
	}
	return l
}

// weight is the value of a weight of a loss, −1 for none.
func (a *Arg) weight(i int) int {
	if i < len(a.List) {
		return a.List[i]
	}
	return -1
}

// bytes are the elements that Bytes stands for.
func (a *Arg) bytes() []byte {
	d := dtype.DType(a.List[0])
	l := &Leaf{Type: d, Fill: Fill(a.List[1]), Seed: uint64(a.List[2]), Shape: a.List[3:]}
	return raw(d, l.values(0))
}

// optionsText prints options.
func (w *writer) optionsText(a *Arg) string {
	switch a.Kind {
	case Floats:
		return reals(a.Reals)
	case Bytes:
		var out []string
		for _, b := range a.bytes() {
			out = append(out, strconv.Itoa(int(b)))
		}
		return "[]byte{" + strings.Join(out, ", ") + "}"
	case ReduceA:
		return "(*tensor.Tensor)." + a.S
	case LossA:
		s := fmt.Sprintf("tensor.Loss{Reduction: %d", a.N)
		if v := a.weight(0); v >= 0 {
			s += ", Weight: " + w.name[v]
		}
		if v := a.weight(1); v >= 0 {
			s += ", PosWeight: " + w.name[v]
		}
		if a.X != 0 {
			s += fmt.Sprintf(", Smoothing: %v", a.X)
		}
		if len(a.Reals) > 0 {
			s += ", Ignore: " + strings.Replace(reals(a.Reals), "float64", "int", 1)
		}
		if a.S == "last" {
			s += ", ClassAxis: -1"
		}
		return s + "}"
	}
	return fmt.Sprintf("%#v", a.options())
}

func reals(list []float64) string {
	var out []string
	for _, x := range list {
		out = append(out, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return "[]float64{" + strings.Join(out, ", ") + "}"
}
