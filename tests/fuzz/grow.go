package fuzz

import (
	"errors"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// step tries to add an op.
func (g *generator) step() {
	if len(g.prog.Ops) > 3*maxOps {
		return
	}
	before := len(g.prog.Ops)
	o, ok := Op{}, false
	g.inMotif = false
	err := tensor.Try(func() { o, ok = g.propose() })
	if ok && g.One(40) {
		g.spoil(&o)
	}
	if err != nil || !ok || !g.try(o) {
		g.drop(before)
	}
}

// drop takes values back that were made for an op that came to nothing.
func (g *generator) drop(n int) {
	g.prog.Ops, g.info, g.state.values = g.prog.Ops[:n], g.info[:n], g.state.values[:n]
}

// try adds an op unless it does not fit, or leads nowhere.
func (g *generator) try(o Op) bool {
	n := len(g.prog.Ops)
	switch {
	case o.mutates():
		return g.mutate(o)
	case o.Name == realizeOp:
		return g.realize(o)
	case o.eager() && !g.readable(&o):
		return false
	}
	if err := g.state.apply(&o, 0); err != nil {
		var b *Broken
		if errors.As(err, &b) && g.broken == nil {
			g.broken = &Finding{Seed: g.prog.Seed, What: Panics, Text: b.Error(), Program: g.prog.clone()}
			g.broken.Program.Ops = append(g.broken.Program.Ops, o)
		}
		return false
	}
	t := g.state.values[n]
	if slices.Contains(g.state.values[:n], t) || t.Numel() > g.most() || slices.ContainsFunc(t.Shape(), func(n int) bool { return n > g.most() }) || t.Rank() > maxRank || t.Numel() == 0 && !g.One(10) && !(g.sparse && g.One(2)) {
		g.drop(n)
		return false
	}
	g.prog.Ops = append(g.prog.Ops, o)
	g.info = append(g.info, info{})
	if !g.learn(n) || !g.worth(n) {
		g.drop(n)
		return false
	}
	g.inherit(n, &o)
	return true
}

// most is how many elements a value may have.
func (g *generator) most() int {
	if g.large {
		return maxLarge
	}
	return maxElements
}

// readable says that what an eager op reads is the same on each device.
func (g *generator) readable(o *Op) bool {
	return g.eager && !slices.ContainsFunc(o.operands(), func(v int) bool {
		return !g.info[v].fixed || len(g.info[v].faults) > 0
	})
}

// learn computes the bounds of a value.
func (g *generator) learn(v int) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, much := p.(tooMuch); !much {
				panic(p)
			}
			g.state.eval.spent -= effort / 4
			ok = false
		}
	}()
	i := &g.info[v]
	d := g.kind(v)
	i.known, i.fixed, i.most = true, true, 0
	i.faults = g.state.eval.faults(g.t(v).Node())
	for _, b := range g.state.bounds(v) {
		if isUnknown(d, b) && d != dtype.Bool || d == dtype.Bool && b.lo != b.hi {
			i.known = false
		}
		if d.IsFloat() {
			i.fixed = i.fixed && b.fixed()
			i.most = max(i.most, math.Abs(b.flo()), math.Abs(b.fhi()))
		} else {
			i.fixed = i.fixed && b.lo == b.hi
			if d != dtype.U64 {
				i.most = max(i.most, math.Abs(float64(b.lo.Int())))
			}
		}
	}
	return true
}

// worth says whether a value can be compared well and gone on with.
func (g *generator) worth(v int) bool {
	i := &g.info[v]
	switch {
	case !i.known && !g.One(20),
		g.exact && !g.inMotif && !i.fixed && !g.One(5),
		i.most > 1<<20 && !g.One(16),
		crowded(g.kind(v), i.most) && !g.One(4):
		return false
	}
	return true
}

// inherit notes what a new value depends on.
func (g *generator) inherit(v int, o *Op) {
	i := &g.info[v]
	i.reach, i.cut, i.reads = map[int]bool{}, map[int]bool{}, map[int]int{}
	for _, x := range o.operands() {
		from := &g.info[x]
		for r := range from.reach {
			i.reach[r] = true
		}
		for r := range from.cut {
			i.cut[r] = true
		}
		for s, n := range from.reads {
			i.reads[s] = n
		}
		if from.version > 0 || from.leaf {
			i.reads[x] = from.version
		}
	}
	if g.kind(v).IsFloat() {
		i.reach[v] = true
	}
}

// mutate carries an assignment out. What was built before keeps the old content.
func (g *generator) mutate(o Op) bool {
	target := o.Args[0].N
	if !g.info[target].leaf || g.info[target].index {
		return false
	}
	n := len(g.prog.Ops)
	old := g.state.values[target].Node()
	if err := g.state.apply(&o, 0); err != nil {
		return false
	}
	g.prog.Ops = append(g.prog.Ops, o)
	g.info = append(g.info, info{})
	if !g.learn(n) || !g.info[n].known {
		g.drop(n)
		g.state.values[target] = tensor.FromNode(old, g.state.values[target].Engine())
		g.info[target].dead = true // its handle is another one now
		return false
	}
	i := &g.info[n]
	g.info[target].version++
	i.none, i.dead = true, true // the target is the value
	g.info[target].reach, g.info[target].cut = map[int]bool{}, map[int]bool{}
	g.info[target].known, g.info[target].fixed, g.info[target].most = i.known, i.fixed, i.most
	return true
}

// realize adds a place where some values are realized. What was built on an assigned value before must not be realized
// later.
func (g *generator) realize(o Op) bool {
	vs := o.operands()
	n := len(g.prog.Ops)
	assigned := g.assigned(vs)
	if err := g.state.apply(&o, 0); err != nil {
		return false
	}
	g.prog.Ops = append(g.prog.Ops, o)
	g.info = append(g.info, info{none: true})
	if !g.learnAgain(vs) {
		g.drop(n)
		return false
	}
	for _, v := range assigned {
		g.stale(v, vs)
	}
	for _, v := range vs {
		i := &g.info[v]
		i.real = true
		i.cut, i.reach = union(i.cut, i.reach), map[int]bool{}
		if !i.leaf {
			i.reads = map[int]int{}
		}
	}
	return true
}

func (g *generator) learnAgain(vs []int) bool {
	for _, v := range vs {
		if !g.learn(v) {
			return false
		}
	}
	return true
}

// assigned are the leaves whose assignments are carried out where values are realized: they are among them, or what is realized
// is such a leaf in another shape.
func (g *generator) assigned(vs []int) (leaves []int) {
	for leaf := range g.info {
		if i := &g.info[leaf]; !i.leaf || i.version == 0 {
			continue
		}
		now := unshaped(g.t(leaf).Node())
		if slices.ContainsFunc(vs, func(v int) bool {
			return v == leaf || now.Op() == uop.After && unshaped(g.t(v).Node()) == now
		}) {
			leaves = append(leaves, leaf)
		}
	}
	return leaves
}

// stale gives up the values that read what a mutable value was before, unless they are realized with it.
func (g *generator) stale(state int, with []int) {
	for v := range g.info {
		if n, reads := g.info[v].reads[state]; reads && n < g.info[state].version && !slices.Contains(with, v) && !g.info[v].real {
			g.info[v].dead = true
		}
	}
}

func union(a, b map[int]bool) map[int]bool {
	out := map[int]bool{}
	for v := range a {
		out[v] = true
	}
	for v := range b {
		out[v] = true
	}
	return out
}

// crowded says that a number is near the greatest ones of a type that has none of great ones.
func crowded(d dtype.DType, most float64) bool {
	f, ok := dtype.Finfo(d)
	return ok && f.Max < 1e5 && most > f.Max/64
}
