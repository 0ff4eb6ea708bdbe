package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

func (b *builder) program(body []codegen.Stmt, directives []codegen.Directive) *codegen.Program {
	p := &codegen.Program{Params: b.Params, Vars: b.Vars, Body: body, Threads: 1, Directives: codegen.DirectivesString(directives), Guarded: b.guarded, Features: b.Target.Features,
		Registers: b.Target.Registers, VectorBytes: b.Target.VectorLen(codegen.Widest) * codegen.Widest.Size(), Loose: b.Target.Loose}
	codegen.Visit(body, func(s codegen.Stmt) {
		switch s := s.(type) {
		case *codegen.Alloc:
			if !s.Shared {
				p.Scratch += codegen.ScratchBytes(s)
			}
		case *codegen.Loop:
			if s.Kind == codegen.Thread {
				p.Threads = codegen.Extent(s.Range)
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
func storedBefore(stmts []codegen.Stmt) (n int64) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *codegen.Store:
			n++
		case *codegen.Loop:
			if s.Kind != codegen.Thread {
				n += int64(codegen.Extent(s.Range)) * storedBefore(s.Body)
			}
		default:
			n += storedBefore(codegen.Body(s))
		}
	}
	return n
}

// label names the kernel after the loops of its largest nest.
func (b *builder) label(p *codegen.Program) {
	kind := "E"
	var dims []string
	var letters []byte
	add := func(a *nest.Axis, reduce bool) {
		dims = append(dims, fmt.Sprint(codegen.Extent(a.Range)))
		l := a.Kind.Letter()
		if reduce && a.Kind == codegen.Serial {
			l = 'r'
		}
		letters = append(letters, l)
	}
	var used []*uop.UOp
	for _, g := range b.Groups[:min(1, len(b.Groups))] {
		for _, a := range g.Order {
			add(a, a.Owner != "")
			used = append(used, a.Range)
		}
	}
	if !b.Scanned.Empty() {
		kind = "s"
	}
	for _, u := range uop.Topo(b.Roots()...) {
		if _, ranges := codegen.ReduceParts(u); ranges != nil {
			kind = "r"
			for _, r := range ranges {
				if a := b.ByRange[r]; a != nil && !slices.Contains(used, r) && len(dims) < 12 {
					add(a, true)
					used = append(used, r)
				}
			}
		}
	}
	p.Name, p.Kinds = strings.Join(append([]string{kind}, dims...), "_"), string(letters)
}

// estimate counts arithmetic operations on values (not on indices), and the bytes that must move at least.
func (b *builder) estimate(p *codegen.Program) {
	moved := make([]int64, len(b.Params))
	touch := func(param int, n int64) {
		all := int64(1)
		for _, d := range b.Params[param].Dims {
			all *= int64(d)
		}
		moved[param] = max(moved[param], min(all, n)*int64(b.Params[param].DType.Size()))
	}
	count := func(s affine.RangeSet) int64 {
		n := int64(1)
		s.Each(func(i int) { n *= int64(codegen.Extent(b.Facts.Ranges[i])) })
		return n
	}
	for _, o := range b.Outs {
		touch(o.Param, count(b.Facts.Set(o.Axes...)))
	}
	for _, u := range uop.Topo(b.Roots()...) {
		switch {
		case u.Op() == uop.Load:
			touch(u.At(0).Arg().(uop.ParamArg).Slot, count(b.Facts.FreeRanges(u)))
		case u.Op() == uop.Reduce:
			_, ranges := codegen.ReduceParts(u)
			p.Flops += count(b.Facts.FreeRanges(u).Or(b.Facts.Set(ranges...))) * int64(u.Arg().(uop.ReduceArg).Parts)
		case u.Op() == uop.Scan:
			p.Flops += count(b.Facts.FreeRanges(u)) * stepCost(u.Arg().(uop.ScanArg))
		case u.Op() == uop.MulAdd:
			p.Flops += 2 * count(b.Facts.FreeRanges(u))
		case u.Op().Elementwise() && u.Op() != uop.Cast && u.Op() != uop.Bitcast && u.DType() != dtype.Index && u.DType() != dtype.Bool:
			p.Flops += count(b.Facts.FreeRanges(u))
		}
	}
	for _, n := range moved {
		p.Bytes += n
	}
}

// stepCost is how many operations a scan does with an element.
func stepCost(a uop.ScanArg) (n int64) {
	if a.Step == nil {
		return int64(a.Parts)
	}
	for _, u := range uop.Topo(a.Step.Next...) {
		if u.Op().Elementwise() {
			n++
		}
	}
	return n
}

// WorkOf estimates a Spec.
func WorkOf(s *codegen.Spec) (w codegen.Work) {
	defer affine.FewLoops(func() { w = codegen.Work{Flops: 1 << 62, Bytes: 1 << 62} })
	b, p := &builder{Kernel: nest.Bare(s, nil)}, &codegen.Program{}
	b.estimate(p)
	return codegen.Work{Flops: p.Flops, Bytes: p.Bytes}
}
