package engine

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// What a captured function uses and never changes is the same in every run, and so is what depends on nothing else: a norm of
// weights, a product of two of them, 1/√(variance + ε). Such values are computed once, where that takes more than reading them
// takes. Which ones they are is decided here; folded.go computes them.

// varying says whether an array may have other contents in the next run without having been assigned: inputs, random keys, and
// what the function assigns.
type varying map[*storage]bool

// costs is what is known of a node that depends on constants alone.
type costs struct {
	once   bool       // it contains a reduction, a scan, a scatter or a copy, which nobody would compute for each use
	flops  float64    // of an element, where it is computed when it is used
	arrays []*uop.UOp // that it reads then
	grid   bool       // it contains an index grid,
	meets  bool       // and compares: the scheduler makes arithmetic of that
}

// constants finds values that are worth computing once.
type constants struct {
	varies varying
	fixed  map[*uop.UOp]*costs // nil: it varies
	seen   map[constantUse]bool
	found  []*uop.UOp // in the order in which they were met
	why    map[*uop.UOp]string
}

// constantUse is a node, whether only a part of it is used, and whether its elements are used again and again, as weights by a product.
type constantUse struct {
	u           *uop.UOp
	part, again bool
}

// of is the use of the i-th operand that a use of the node makes.
func (c constantUse) of(i int) constantUse {
	s := c.u.At(i)
	part := c.part || c.u.Op() == uop.Gather && i == 0 || shrinks(c.u)
	return constantUse{s, part, c.again || c.u.Op() == uop.Expand && c.u.Shape().Numel() >= manyUses*s.Shape().Numel()}
}

const (
	smallFolded  = 256 << 10 // bytes that cost nothing to keep
	worthFlops   = 8         // that an element takes, so that reading it is cheaper
	manyArrays   = 16
	smallFlops   = 2  // the same of a small array, which stays in the caches
	gridFlops    = 16 // of a table of numbers that nothing is read for
	manyUses     = 8  // of an element, from which on nobody would compute it for each
	muchFlops    = 20 // for which a small array may be larger than what it is computed from
	loadsPerByte = 2  // how many times as many bytes it takes to compute as to read, for large arrays
)

// constantsOf finds what is to be computed once of some values.
func constantsOf(values []*uop.UOp, varies varying) *constants {
	c := &constants{varies: varies, fixed: map[*uop.UOp]*costs{}, seen: map[constantUse]bool{}, why: map[*uop.UOp]string{}}
	topo := uop.Topo(values...)
	for _, u := range topo {
		c.fixed[u] = c.costs(u)
	}
	for _, u := range topo {
		if c.fixed[u] != nil {
			continue
		}
		for i := range u.Src() {
			c.consider(constantUse{u: u}.of(i))
		}
	}
	for _, v := range values {
		c.consider(constantUse{u: v})
	}
	return c
}

// shrinks says that a node takes half of its operand or less.
func shrinks(u *uop.UOp) bool {
	return u.Op() == uop.Shrink && 2*u.Shape().Numel() <= u.At(0).Shape().Numel()
}

// costs is what computing u takes, or nil if it varies. Its operands are known.
func (c *constants) costs(u *uop.UOp) *costs {
	out := &costs{}
	if u.Op() == uop.Var {
		return nil
	}
	if u.Op() == uop.Buffer {
		if _, s := buffer(u); s == nil || s.stand || c.varies[s] {
			return nil
		}
		out.arrays = []*uop.UOp{u}
		return out
	}
	n := float64(max(1, u.Shape().Numel()))
	for _, s := range u.Src() {
		of := c.fixed[s]
		if of == nil {
			return nil
		}
		out.once, out.grid, out.meets = out.once || of.once, out.grid || of.grid, out.meets || of.meets
		out.flops += of.flops * min(1, float64(s.Shape().Numel())/n)
		for _, a := range of.arrays {
			out.read(a)
		}
	}
	switch {
	case u.Op() == uop.Range:
		out.grid = true
	case u.Op() == uop.Gather:
		out.flops += worthFlops
	case u.Op().Elementwise():
		out.flops += constantFlops(u.Op())
		out.meets = out.meets || u.Op() == uop.Less || u.Op() == uop.Equal
	case u.Op().IsMovement() || u.Op() == uop.Const:
	default:
		return &costs{once: true, arrays: []*uop.UOp{u}}
	}
	return out
}

func (c *costs) read(a *uop.UOp) {
	for _, x := range c.arrays {
		if x == a {
			return
		}
	}
	if len(c.arrays) < manyArrays {
		c.arrays = append(c.arrays[:len(c.arrays):len(c.arrays)], a)
	}
}

// constantFlops is the cost of an op for one element. Signs and conversions happen on the way.
func constantFlops(o uop.Op) float64 {
	info := uop.Info(o)
	if info.Group == uop.Unary && info.Cost.Element < 1 {
		return 0
	}
	return max(1, info.Cost.Element)
}

// consider takes a constant node, or else what it is made of.
func (c *constants) consider(root constantUse) {
	stack := []constantUse{root}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		u := at.u
		if c.fixed[u] == nil || c.seen[at] || c.why[u] != "" {
			continue
		}
		c.seen[at] = true
		if why := c.worth(at); why != "" {
			c.why[u] = why
			c.found = append(c.found, u)
			continue
		}
		for i := range u.Src() {
			stack = append(stack, at.of(i))
		}
	}
}

// worth says why a constant node is worth computing once for such a use, or "".
func (c *constants) worth(use constantUse) string {
	u, part := use.u, use.part
	f := c.fixed[u]
	d := u.DType()
	switch {
	case u.Op().IsMovement() || u.Op() == uop.Const || u.Op() == uop.Buffer || u.Op() == uop.Range || d == dtype.Index || d.Size() == 0:
		return ""
	case u.Shape().Numel() == 0 || len(f.arrays) == 0 && (d == dtype.F64 || f.meets):
		return ""
	case u.Op().Elementwise() && len(f.arrays) == 0 && !f.grid && !f.once: // constants alone make a constant
		return ""
	case u.Op() == uop.Reduce && u.Arg().(uop.ReduceArg).Parts > 1, u.Op() == uop.Scan && u.Arg().(uop.ScanArg).Results() > 1:
		return "" // its parts are
	case !u.Op().Elementwise() && u.Op() != uop.Gather:
		return u.Op().String() + " of constants"
	case f.grid && (f.meets || f.flops < gridFlops): // index arithmetic, or close to it
		return ""
	}
	bytes, loads := float64(u.Shape().Numel()*d.Size()), 0.0
	for _, a := range f.arrays {
		loads += min(float64(a.Shape().Numel()*a.DType().Size()), bytes*float64(max(1, a.DType().Size()))/float64(d.Size()))
	}
	small := bytes <= smallFolded
	if small && len(f.arrays) > 0 && bytes > loads && f.flops < muchFlops {
		return "" // numbers of few bits are read faster than what they become
	}
	switch {
	case small && (f.flops >= smallFlops || len(f.arrays) > 1), !small && !part && f.flops >= worthFlops && bytes <= loads:
		return fmt.Sprintf("%.0f operations an element, of constants", f.flops)
	case !small && !part && use.again && f.flops >= 1 && bytes <= loads: // else each run would write it down, and read it, before it is used
		return fmt.Sprintf("%.0f operations an element that is used again and again, of constants", f.flops)
	case !small && !part && loads >= loadsPerByte*bytes:
		return fmt.Sprintf("reads %.1f times its bytes, of constants", loads/bytes)
	}
	return ""
}
