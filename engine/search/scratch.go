package search

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/uop"
)

// mostArrays is how many bytes of arrays a kernel may have to be searched for: as much again as the program has of them.
const mostArrays = 1 << 29

// scratch are arrays for one kernel, of its own: what it reads, and what it writes.
type scratch struct {
	dev    runtime.Device
	clock  func() time.Duration
	params []codegen.Param
	mems   []runtime.Mem
	fills  [2][][]byte // of small numbers, and with special ones among them
	want   [2][][]byte // what the model's directives leave in the arrays that are written; nil for others
	tol    float64     // see tolerance
	reused bool        // some array is read and written: it is filled again before it counts
}

func newScratch(dev runtime.Device, spec *codegen.Spec, k *plan.Kernel) (s *scratch, err error) {
	total := int64(0)
	for _, b := range k.Binds {
		total += max(b.Bytes, 4)
	}
	if total > mostArrays {
		return nil, fmt.Errorf("its arrays take %d bytes, and a search uses at most %d", total, mostArrays)
	}
	s = &scratch{dev: dev, params: spec.Params, tol: tolerance(spec)}
	defer func() {
		if err != nil {
			s.free()
		}
	}()
	read := readParams(spec)
	for i, p := range spec.Params {
		m, err := dev.Alloc(max(k.Binds[i].Bytes, 4))
		if err != nil {
			return nil, err
		}
		s.mems = append(s.mems, m)
		s.reused = s.reused || p.Write && read[i]
		n := 1
		for _, d := range p.Dims {
			n *= d
		}
		for f := range s.fills {
			s.fills[f] = append(s.fills[f], numbers(p.DType, n, rand.New(rand.NewPCG(uint64(f), uint64(i))), f == 1))
		}
	}
	return s, nil
}

func (s *scratch) free() {
	for _, m := range s.mems {
		m.Free()
	}
}

// readParams are those that a Spec loads from, or merges into.
func readParams(spec *codegen.Spec) map[int]bool {
	out := map[int]bool{}
	for _, u := range uop.Topo(codegen.RootsOf(spec.Outs)...) {
		if u.Op() == uop.Load {
			out[u.At(0).Arg().(uop.ParamArg).Slot] = true
		}
	}
	for _, o := range spec.Outs {
		out[o.Param] = out[o.Param] || o.Merge != nil
	}
	return out
}

// numbers fills an array: with small multiples of a half, whose sums and products are exact in any order, or with a few among them
// that are not finite, or negative zeros, or extremes.
func numbers(d dtype.DType, n int, r *rand.Rand, special bool) []byte {
	block := min(n, period)
	out := make([]byte, 0, max(n, block+8)*d.Size()+8)
	strange := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}
	for range block {
		var v uop.Value
		switch x := r.Uint64(); {
		case d.IsFloat() && special && x>>32%64 == 0:
			v = uop.FloatValue(d, strange[x%4])
		case d.IsFloat():
			v = uop.FloatValue(d, float64(int(x%13)-6)/2)
		case d == dtype.Bool:
			v = uop.Value(x & 1)
		case special && x>>32%64 == 0:
			lo, hi := uop.IntLimits(d)
			v = [2]uop.Value{lo, hi}[x%2]
		default:
			v = uop.IntValue(d, int64(x%14)-3)
		}
		out = binary.LittleEndian.AppendUint64(out, uop.ToBits(d, v))[:len(out)+d.Size()]
	}
	for size := n * d.Size(); len(out) < size; {
		out = append(out, out[:min(len(out), size-len(out))]...)
	}
	return out
}

// period is how many elements are drawn; longer arrays repeat them. It is odd, so that rows differ.
const period = 1<<16 + 1

// fill writes one of the fills: into all arrays, or into those that a kernel changes.
func (s *scratch) fill(which int, all bool) error {
	for i, p := range s.params {
		if (all || p.Write) && len(s.fills[which][i]) > 0 {
			if err := s.dev.Write(s.mems[i], 0, s.fills[which][i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// results runs a kernel once on each fill and gives what it leaves in the arrays that it writes. Afterwards the arrays hold
// small numbers.
func (s *scratch) results(ctx context.Context, c *candidate) (out [2][][]byte, err error) {
	for _, f := range []int{1, 0} {
		if err := s.fill(f, true); err != nil {
			return out, err
		}
		if err := s.dev.Play(c.loaded, s.mems, nil); err != nil {
			return out, err
		}
		out[f] = make([][]byte, len(s.params))
		for i, p := range s.params {
			if !p.Write {
				continue
			}
			out[f][i] = make([]byte, len(s.fills[f][i]))
			if len(out[f][i]) == 0 {
				continue
			}
			if err := s.dev.Read(ctx, out[f][i], s.mems[i], 0); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// differs says where the results of a kernel are not those of the model's, "" where they are.
func (s *scratch) differs(got [2][][]byte) string {
	for f, name := range []string{"small", "special"} {
		for i, p := range s.params {
			if !p.Write {
				continue
			}
			if at := s.first(p.DType, got[f][i], s.want[f][i]); at >= 0 {
				size := p.DType.Size()
				g, w := got[f][i][at*size:(at+1)*size], s.want[f][i][at*size:(at+1)*size]
				return fmt.Sprintf("element %d of p%d%v is %s, not %s (of %s numbers)", at, i, p.Dims, show(p.DType, g), show(p.DType, w), name)
			}
		}
	}
	return ""
}

func show(d dtype.DType, raw []byte) string {
	v := value(d, raw)
	if d.IsFloat() {
		return fmt.Sprint(v.Float())
	}
	return fmt.Sprint(v.Int())
}

func value(d dtype.DType, raw []byte) uop.Value {
	var word [8]byte
	copy(word[:], raw)
	return uop.FromBits(d, binary.LittleEndian.Uint64(word[:]))
}

// tolerance is the rounding of the least precise floats that are computed, which may be finer where they are stored.
func tolerance(spec *codegen.Spec) (most float64) {
	for _, u := range uop.Topo(codegen.RootsOf(spec.Outs)...) {
		if u.Op() != uop.Load && u.Op() != uop.Const {
			most = max(most, codegen.Reordered(u.DType()))
		}
	}
	return most
}

// first is the first element that differs, or −1: integers in any bit; floats by more than another order of adding explains. The
// sign of a zero is free, and so is which of the numbers that are not finite comes out where there are some.
func (s *scratch) first(d dtype.DType, got, want []byte) int {
	if string(got) == string(want) {
		return -1
	}
	size := d.Size()
	for at := 0; at*size < len(want); at++ {
		g, w := got[at*size:(at+1)*size], want[at*size:(at+1)*size]
		if string(g) == string(w) {
			continue
		}
		if !d.IsFloat() {
			return at
		}
		a, b := value(d, g).Float(), value(d, w).Float()
		finite := func(x float64) bool { return !math.IsInf(x, 0) && x == x }
		if !finite(a) && !finite(b) {
			continue
		}
		if tol := max(s.tol, codegen.Reordered(d)) * max(1, math.Abs(b)); !(math.Abs(a-b) <= tol) {
			return at
		}
	}
	return -1
}
