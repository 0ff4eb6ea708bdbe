package engine

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A graph whose numbers are other ones each time is played by the plan of its family, which has them as arguments. To find it without resolving, it has to
// be known which number of the program stands at which place of the outline. So once the graph is resolved with a tag at each of its numbers. It has to
// have the same outline, and that tells where the tags are. A number that has no place is part of the key.

// tag is the bit of the ID of a constant or shift that says that the rest is the number, in a sketch, of its (first) number. Canonical graphs keep tags;
// those that have some are made for their outlines only.
const tag = 1 << 63

// of is the tag of a shift's number on an axis; 0: it has none.
func of(id uint64, axis int) uint64 {
	if id < tag {
		return 0
	}
	return id + uint64(axis)
}

// isNumber says whether a node is a constant that may have places.
func isNumber(u *uop.UOp) bool { return u.Op() == uop.Const && u.DType() != dtype.Bool }

// pins says whether s is a number that has no place where u (nil: what is asked for) uses it, perhaps in all elements of an array.
func pins(u, s *uop.UOp) (number *uop.UOp, pinned bool) {
	for !isArray(s) && (s.Op() == uop.Reshape || s.Op() == uop.Expand || s.Op() == uop.Permute) {
		s = s.At(0)
	}
	return s, isNumber(s) && !isArray(s) && !free(u, s)
}

// pin writes s if u uses it as a number that has no place.
func (sk *sketch) pin(u, s *uop.UOp) {
	if c, pinned := pins(u, s); pinned {
		sk.key.arg(c.Arg())
	}
}

// shift writes a Shrink or Pad, but for where it begins on axes where that is a number.
func (sk *sketch) shift(u *uop.UOp) {
	in, out, lo := u.At(0).Shape(), u.Shape(), u.Arg().(uop.PadArg).Lo
	for i := range out {
		sk.key.int(in[i])
		sk.key.int(out[i])
		if !moves(in, out, i) {
			sk.key.int(lo.At(i))
		}
		sk.values = append(sk.values, uop.Value(lo.At(i)))
	}
}

// tagged is what is asked for with a tag at each number of the sketch, and which of these are part of the key: it goes the way of node.
func (sk *sketch) tagged(e *Engine) (asked []target, pinned []bool) {
	var done uop.Map[*uop.UOp]
	get := func(u *uop.UOp) *uop.UOp {
		if v, ok := done.Get(u); ok {
			return v
		}
		return u
	}
	at := map[*uop.UOp]int{}
	pin := func(u, s *uop.UOp) {
		if c, yes := pins(u, s); yes {
			pinned[at[c]] = true
		}
	}
	shift := func(u *uop.UOp) uop.PadArg {
		a := u.Arg().(uop.PadArg)
		a.ID = tag | uint64(len(pinned))
		for i := range u.Shape() {
			pinned = append(pinned, !moves(u.At(0).Shape(), u.Shape(), i))
		}
		return a
	}
	visit := func(u *uop.UOp) {
		if isArray(u) {
			return
		}
		for _, s := range u.Src() {
			pin(u, s)
		}
		v := u.WithSrc(u.Home(), get)
		switch {
		case u.Op() == uop.Store:
			v = get(u.At(1))
			v = taggedView(u.At(0), &done, shift).Store(v)
		case isNumber(u):
			a := u.Arg().(uop.ConstArg)
			a.ID = tag | uint64(len(pinned))
			at[u], pinned = len(pinned), append(pinned, false)
			v = u.Home().Make(uop.Const, u.DType(), a)
		case u.Op() == uop.Shrink || u.Op() == uop.Pad:
			v = u.Home().Make(u.Op(), u.DType(), shift(u), v.At(0))
		}
		done.Set(u, v)
	}
	roots := sk.walk(e, visit)
	asked = slices.Clone(sk.asked)
	for i, r := range roots {
		pin(nil, r)
		asked[i].node = get(r)
	}
	return asked, pinned
}

// taggedView is where a Store writes, with tags. What is there now may be in memory.
func taggedView(u *uop.UOp, done *uop.Map[*uop.UOp], shift func(*uop.UOp) uop.PadArg) *uop.UOp {
	met, _ := done.Get(u)
	if u.Op() == uop.Buffer || u.Op() == uop.After {
		return cmp.Or(met, u)
	}
	a := u.Arg()
	switch {
	case met != nil:
		a = met.Arg()
	case u.Op() == uop.Shrink:
		a = shift(u)
	}
	v := u.Home().Make(u.Op(), u.DType(), a, taggedView(u.At(0), done, shift))
	if r := u.Realized(); r != nil {
		v.SetRealized(r)
	}
	return v
}

// open leaves the numbers of a known graph open. If it gives false they cannot be.
func (g *knownGraph) open(e *Engine, sk *sketch) bool {
	asked, pinned := sk.tagged(e)
	targets, err := e.resolved(asked, nil)
	if err != nil {
		return false
	}
	was, o := g.graph.outline(), canonicalize(targets).outline()
	if !bytes.Equal(was.w.buf, o.w.buf) || !slices.Equal(was.places, o.places) { // nodes are one, or two, by chance
		return false
	}
	for _, id := range o.fixed {
		if !pinned[id&^tag] {
			return false
		}
	}
	for _, id := range o.tags {
		n := -1
		if id >= tag {
			n = int(id &^ tag)
		}
		g.numbers = append(g.numbers, n)
	}
	return true
}

// findNumbered gives a graph whose numbers are left open, if the plan of its family is the one for those of the sketch. These are put where they belong.
func (k *knownGraphs) findNumbered(e *Engine, sk *sketch) *knownGraph {
	if len(sk.values) == 0 {
		return nil
	}
	g := k.loose[string(sk.key.buf[:sk.loose])]
	if g == nil {
		return nil
	}
	o := g.graph.outline()
	f := e.families[string(o.w.buf)]
	if f == nil || e.plans[f.plan] == nil {
		return nil
	}
	sk.places = append(sk.places[:0], o.places...)
	for i, n := range g.numbers {
		if n >= 0 {
			sk.places[i].value = sk.values[n]
		}
	}
	if !f.holds(sk.places) {
		return nil
	}
	f.used = e.clock + 1
	sk.family = f
	return g
}
