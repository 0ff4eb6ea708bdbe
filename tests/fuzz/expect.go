package fuzz

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// result computes what the program may give, run by run.
func (g *generator) result() *Generated {
	out, err := Expect(g.prog)
	if err != nil {
		panic(fmt.Sprintf("BUG: seed %d: %v", g.prog.Seed, err))
	}
	out.Broken = g.broken
	return out
}

// Expect computes what each root of a program may be.
func Expect(p *Program) (out *Generated, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(tooMuch); !ok {
				panic(r)
			}
			err = fmt.Errorf("too large")
		}
	}()
	out = &Generated{Program: p}
	s := newState(4 * effort)
	for run := range max(1, p.Runs) {
		if err := s.play(p, run); err != nil {
			return nil, err
		}
		var rs []result
		for _, v := range p.roots() {
			t := s.values[v]
			b := s.bounds(v)
			rs = append(rs, result{t.DType(), t.Shape(), b, s.eval.faults(t.Node())})
			out.count(t.DType(), b)
		}
		out.Want = append(out.Want, rs)
	}
	return out, nil
}

func (g *Generated) count(d dtype.DType, bs []bound) {
	g.Total += len(bs)
	for _, b := range bs {
		switch {
		case isUnknown(d, b):
			g.Unknown++
		case b.lo == b.hi, d.IsFloat() && b.fixed():
			g.Fixed++
		}
	}
}

// state is a program being built as graphs that nothing computes: a realized value loses its history by Detach.
type state struct {
	values []T
	eval   *evaluator
}

func newState(limit int) *state { return &state{eval: newEvaluator(limit)} }

func (s *state) bounds(v int) []bound { return s.eval.of(s.values[v].Node()) }

// leaf adds a leaf.
func (s *state) leaf(l *Leaf, run int, add bool) T {
	v := l.values(run)
	t := tensor.FromBytes(l.Type, l.Shape, raw(l.Type, v))
	s.eval.set(t.Node(), v)
	if add {
		s.values = append(s.values, t)
	}
	return t
}

// play builds a whole program for a run. What is no input stays from run to run.
func (s *state) play(p *Program, run int) error {
	first := run == 0
	if first {
		s.values = nil
	}
	old := s.values
	s.values = nil
	for i := range p.Ops {
		o := &p.Ops[i]
		if o.Name == leafOp {
			if !first && !slices.Contains(p.Inputs, i) {
				s.values = append(s.values, s.goingOn(old[i]))
				continue
			}
			s.leaf(o.Leaf, run, true)
			continue
		}
		if err := s.apply(o, run); err != nil {
			return err
		}
	}
	return nil
}

// goingOn is a tensor outside of a captured function at the next run: its elements are those of before, without their history.
func (s *state) goingOn(t T) T {
	if unshaped(t.Node()).Op() == uop.Buffer {
		return t
	}
	next := tensor.FromBytes(t.DType(), t.Shape(), make([]byte, t.Nbytes()))
	s.eval.same(unshaped(next.Node()), t.Node())
	return next
}

// apply builds an op.
func (s *state) apply(o *Op, run int) error {
	if o.Name == realizeOp {
		for _, v := range o.operands() {
			old := s.values[v]
			for i, t := range s.values { // one tensor may be several values
				if t == old {
					s.values[i] = detached(old)
				}
			}
		}
		s.values = append(s.values, nil)
		return nil
	}
	t, err := attempt(o, s.values)
	if err == nil {
		s.values = append(s.values, t)
	}
	return err
}

// Broken is a panic that is no error in words: a bug in what builds graphs.
type Broken struct {
	Op    string
	Panic string
}

func (e *Broken) Error() string { return e.Op + " panics: " + e.Panic }

// attempt carries an op out; every panic is an error.
func attempt(o *Op, values []T) (t T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Broken{o.Name, fmt.Sprint(p)}
		}
	}()
	if tried := tensor.Try(func() { t, err = call(o, values) }); tried != nil {
		return nil, tried
	}
	return t, err
}

// detached has no history, like something realized. A leaf, which is in memory, stays what it is.
func detached(t T) T {
	if u := unshaped(t.Node()); u.Op() == uop.Buffer || u.Op() == uop.After {
		return t
	}
	return t.Detach()
}

// unshaped is what a node is a reshape of.
func unshaped(u *uop.UOp) *uop.UOp {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	return u
}

var background = context.Background()
