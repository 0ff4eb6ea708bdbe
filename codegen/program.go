package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// widest is the type whose vectors are asked for to learn what kind of machine a target is.
const widest = dtype.F32

var kindLetters = [...]byte{Serial: 's', Thread: 't', Grid: 'g', Lane: 'l', Tile: 'u', Vector: 'v'}

// Letter is the kind's letter in dumps and in coloured names.
func (k Kind) Letter() byte { return kindLetters[k] }

func (b *builder) program(body []Stmt, directives []Directive) *Program {
	p := &Program{Params: b.params, Vars: b.vars, Body: body, Threads: 1, Directives: DirectivesString(directives), Guarded: b.guarded, Features: b.target.Features,
		Registers: b.target.Registers, VectorBytes: b.target.VectorLen(widest) * widest.Size(), Inverses: b.target.Inverses}
	visit(body, func(s Stmt) {
		switch s := s.(type) {
		case *Alloc:
			if !s.Shared {
				p.Scratch += ScratchBytes(s)
			}
		case *Loop:
			if s.Kind == Thread {
				p.Threads = extent(s.Range)
			}
		}
	})
	if p.Threads > 1 {
		p.Before = storedBefore(body)
	}
	b.estimate(p)
	b.label(p)
	return p
}

// storedBefore counts the elements that are stored outside of the Thread loop.
func storedBefore(stmts []Stmt) (n int64) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *Store:
			n++
		case *Loop:
			if s.Kind != Thread {
				n += int64(extent(s.Range)) * storedBefore(s.Body)
			}
		default:
			n += storedBefore(body(s))
		}
	}
	return n
}

// ScratchBytes is the room that an Alloc takes: allocations follow each other in the order in which they
// stand in the tree, each aligned to 64 bytes.
func ScratchBytes(a *Alloc) int64 {
	return (int64(a.N)*int64(max(1, a.Buf.DType().Size())) + 63) &^ 63
}

// label names the kernel after the loops of its largest nest.
func (b *builder) label(p *Program) {
	kind := "E"
	var dims []string
	var letters []byte
	add := func(a *axis, reduce bool) {
		dims = append(dims, fmt.Sprint(extent(a.r)))
		l := a.kind.Letter()
		if reduce && a.kind == Serial {
			l = 'r'
		}
		letters = append(letters, l)
	}
	var used []*uop.UOp
	for _, g := range b.groups[:min(1, len(b.groups))] {
		for _, a := range g.order {
			add(a, a.owner != "")
			used = append(used, a.r)
		}
	}
	if !b.scanned.empty() {
		kind = "s"
	}
	for _, u := range uop.Topo(b.roots()...) {
		if _, ranges := reduceParts(u); ranges != nil {
			kind = "r"
			for _, r := range ranges {
				if a := b.byR[r]; a != nil && !slices.Contains(used, r) && len(dims) < 12 {
					add(a, true)
					used = append(used, r)
				}
			}
		}
	}
	p.Name, p.Kinds = strings.Join(append([]string{kind}, dims...), "_"), string(letters)
}

// estimate counts arithmetic operations on values (not on indices), and the bytes that must move at least.
func (b *builder) estimate(p *Program) {
	moved := make([]int64, len(b.params))
	touch := func(param int, n int64) {
		all := int64(1)
		for _, d := range b.params[param].Dims {
			all *= int64(d)
		}
		moved[param] = max(moved[param], min(all, n)*int64(b.params[param].DType.Size()))
	}
	count := func(s rangeSet) int64 {
		n := int64(1)
		s.each(func(i int) { n *= int64(extent(b.facts.ranges[i])) })
		return n
	}
	for _, o := range b.outs {
		touch(o.Param, count(b.facts.set(o.Axes...)))
	}
	for _, u := range uop.Topo(b.roots()...) {
		switch {
		case u.Op() == uop.Load:
			touch(u.At(0).Arg().(uop.ParamArg).Slot, count(b.facts.freeRanges(u)))
		case u.Op() == uop.Reduce:
			_, ranges := reduceParts(u)
			p.Flops += count(b.facts.freeRanges(u).or(b.facts.set(ranges...))) * int64(u.Arg().(uop.ReduceArg).Parts)
		case u.Op() == uop.Scan:
			p.Flops += count(b.facts.freeRanges(u)) * int64(u.Arg().(uop.ScanArg).Parts)
		case u.Op() == uop.MulAdd:
			p.Flops += 2 * count(b.facts.freeRanges(u))
		case u.Op().Elementwise() && u.Op() != uop.Cast && u.Op() != uop.Bitcast && u.DType() != dtype.Index && u.DType() != dtype.Bool:
			p.Flops += count(b.facts.freeRanges(u))
		}
	}
	for _, n := range moved {
		p.Bytes += n
	}
}
