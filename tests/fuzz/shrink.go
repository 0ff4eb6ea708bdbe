package fuzz

import (
	"slices"
	"strings"
	"time"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Shrinker makes a failing program smaller while it fails in the same way.
type Shrinker struct {
	Worker *Worker
	Device string
	Until  time.Time

	what  What
	text  string
	best  *Program
	tries int
	seen  map[string]bool
}

// Shrink gives the smallest program that was found, how it fails and what it says.
func (s *Shrinker) Shrink(p *Program, what What) (*Program, string, error) {
	graphs()
	got, text, err := s.Worker.Program(s.Device, p)
	if err != nil || got == Right {
		return p, text, err
	}
	s.best, s.what, s.text, s.seen = p, got, text, map[string]bool{}
	for size := -1; size != s.size() && time.Now().Before(s.Until); {
		size = s.size()
		for _, pass := range []func() error{s.settings, s.halves, s.roots, s.leaves, s.bypass, s.sizes, s.arguments, s.data} {
			if err := pass(); err != nil {
				return s.best, s.text, err
			}
		}
	}
	return s.best, s.text, nil
}

// size is what is to get smaller.
func (s *Shrinker) size() int {
	n := len(s.best.Source())
	for _, o := range s.best.Ops {
		if o.Name != leafOp {
			n += 1000
		}
	}
	return n
}

// alike says that two texts tell of one failure: numbers do not count.
func alike(a, b string) bool {
	plain := func(t string) string {
		t, _, _ = strings.Cut(t, "\n")
		t = strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, t)
		return t[:min(len(t), 40)]
	}
	return plain(a) == plain(b)
}

// try takes a changed program if it fails in the same way.
func (s *Shrinker) try(change func(p *Program) bool) (bool, error) {
	if time.Now().After(s.Until) {
		return false, nil
	}
	p := s.best.clone()
	if !change(p) {
		return false, nil
	}
	p.prune()
	key := p.Source()
	if s.seen[key] || len(p.roots()) == 0 {
		return false, nil
	}
	s.seen[key] = true
	if _, err := Expect(p); err != nil {
		return false, nil
	}
	s.tries++
	what, text, err := s.Worker.Program(s.Device, p)
	if err != nil || what != s.what || what != Wrong && what != Dies && !alike(text, s.text) {
		return false, err
	}
	s.best, s.text = p, text
	return true, nil
}

func (s *Shrinker) each(changes ...func(p *Program) bool) error {
	for _, c := range changes {
		if _, err := s.try(c); err != nil {
			return err
		}
	}
	return nil
}

// settings drops the capture, options and parts.
func (s *Shrinker) settings() error {
	return s.each(
		func(p *Program) bool { p.Inputs, p.Runs = nil, 0; return s.best.Runs > 0 },
		func(p *Program) bool { p.Runs = 1; return s.best.Runs > 1 },
		func(p *Program) bool { p.Runs = 2; return s.best.Runs > 2 },
		func(p *Program) bool { p.Options = Options{}; return s.best.Options != Options{} },
		func(p *Program) bool { p.Parts = [][]int{p.roots()}; return len(s.best.Parts) > 1 },
	)
}

// halves makes any value the only root.
func (s *Shrinker) halves() error {
	for v := range s.best.Ops {
		if v >= len(s.best.Ops) {
			break
		}
		if _, err := s.try(func(p *Program) bool {
			if o := &p.Ops[v]; o.Name == leafOp || o.Name == realizeOp || o.mutates() {
				return false
			}
			p.Parts = [][]int{{v}}
			return true
		}); err != nil {
			return err
		}
	}
	return nil
}

// roots drops one at a time, and what is realized on the way.
func (s *Shrinker) roots() error {
	for i := len(s.best.roots()) - 1; i >= 0; i-- {
		if _, err := s.try(func(p *Program) bool {
			k := i
			for n := range p.Parts {
				if k < len(p.Parts[n]) {
					p.Parts[n] = slices.Delete(p.Parts[n], k, k+1)
					p.Parts = slices.DeleteFunc(p.Parts, func(l []int) bool { return len(l) == 0 })
					return true
				}
				k -= len(p.Parts[n])
			}
			return false
		}); err != nil {
			return err
		}
	}
	for v := len(s.best.Ops) - 1; v >= 0; v-- {
		if _, err := s.try(func(p *Program) bool {
			if v >= len(p.Ops) || p.Ops[v].Name != realizeOp && !p.Ops[v].mutates() {
				return false
			}
			p.remove(v)
			return true
		}); err != nil {
			return err
		}
	}
	return nil
}

// remove takes an op out that has no value of its own.
func (p *Program) remove(v int) {
	to := func(x int) int {
		if x > v {
			return x - 1
		}
		return x
	}
	p.Ops = slices.Delete(p.Ops, v, v+1)
	for i := range p.Ops {
		p.Ops[i] = p.Ops[i].rename(to)
	}
	for _, part := range p.Parts {
		for i := range part {
			part[i] = to(part[i])
		}
	}
	for i := range p.Inputs {
		p.Inputs[i] = to(p.Inputs[i])
	}
}

// leaves puts recorded data in place of a value.
func (s *Shrinker) leaves() error {
	for v := len(s.best.Ops) - 1; v >= 0; v-- {
		if v >= len(s.best.Ops) {
			continue
		}
		l := recorded(s.best, v)
		if l == nil {
			continue
		}
		if _, err := s.try(func(p *Program) bool {
			p.Ops[v] = Op{Name: leafOp, Leaf: l}
			return true
		}); err != nil {
			return err
		}
	}
	return nil
}

// recorded is a leaf with the elements that a value has, nil where they are not known.
func recorded(p *Program, v int) *Leaf {
	o := &p.Ops[v]
	if o.Name == leafOp || o.Name == realizeOp || o.mutates() {
		return nil
	}
	q := p.clone()
	q.Parts, q.Inputs, q.Runs = [][]int{{v}}, nil, 0
	g, err := Expect(q)
	if err != nil {
		return nil
	}
	w := g.Want[0][0]
	l := &Leaf{Type: w.dtype, Shape: w.shape, Fill: Quarters}
	for _, b := range w.bounds {
		if isUnknown(w.dtype, b) && w.dtype != dtype.Bool {
			return nil
		}
		x := b.lo
		if w.dtype.IsFloat() && b.never() {
			return nil
		}
		if w.dtype.IsFloat() {
			x = uop.FloatValue(w.dtype, (b.flo()+b.fhi())/2)
		}
		l.Given = append(l.Given, uint64(x))
	}
	return l
}

// bypass puts an operand in place of its result.
func (s *Shrinker) bypass() error {
	for v := len(s.best.Ops) - 1; v >= 0; v-- {
		for k := 0; v < len(s.best.Ops) && k < len(s.best.Ops[v].operands()); k++ {
			if s.best.Ops[v].Name == realizeOp || s.best.Ops[v].mutates() {
				break
			}
			if _, err := s.try(func(p *Program) bool {
				x := p.Ops[v].operands()[k]
				to := func(y int) int {
					if y == v {
						return x
					}
					return y
				}
				for i := v + 1; i < len(p.Ops); i++ {
					p.Ops[i] = p.Ops[i].rename(to)
				}
				for _, part := range p.Parts {
					for i := range part {
						part[i] = to(part[i])
					}
				}
				return p.Ops[x].Name != leafOp || !slices.Contains(p.roots(), x)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// sizes puts a smaller number in place of one wherever it stands.
func (s *Shrinker) sizes() error {
	sizes := map[int]bool{}
	for _, o := range s.best.Ops {
		if o.Leaf != nil {
			for _, n := range o.Leaf.Shape {
				sizes[n] = true
			}
		}
	}
	for n := range sizes {
		for _, m := range []int{1, 2, 3, n / 2, n - 1} {
			if m >= n || m < 1 {
				continue
			}
			ok, err := s.try(func(p *Program) bool {
				for i := range p.Ops {
					p.Ops[i].swap(n, m)
				}
				return true
			})
			if err != nil {
				return err
			}
			if ok {
				break
			}
		}
	}
	return nil
}

func (o *Op) swap(n, m int) {
	list := func(l []int) {
		for i := range l {
			if l[i] == n {
				l[i] = m
			}
		}
	}
	if o.Leaf != nil {
		list(o.Leaf.Shape)
		if o.Leaf.Top == n {
			o.Leaf.Top = m
		}
		if len(o.Leaf.Given) != o.Leaf.numel() {
			o.Leaf.Given = nil
		}
	}
	for i := range o.Args {
		switch a := &o.Args[i]; a.Kind {
		case Int:
			if a.N == n {
				a.N = m
			}
		case Ints, Slice, Span:
			list(a.List)
		}
	}
}

// arguments makes numbers small.
func (s *Shrinker) arguments() error {
	for v := len(s.best.Ops) - 1; v >= 0; v-- {
		for k := 0; v < len(s.best.Ops) && k < len(s.best.Ops[v].Args); k++ {
			a := s.best.Ops[v].Args[k]
			switch a.Kind {
			case Int:
				for _, n := range []int{0, 1, a.N - 1} {
					if n < 0 || n >= a.N {
						continue
					}
					ok, err := s.try(func(p *Program) bool { p.Ops[v].Args[k].N = n; return true })
					if err != nil {
						return err
					}
					if ok {
						break
					}
				}
			case Ints, Slice:
				for i := range a.List {
					for _, n := range []int{0, 1} {
						if err := s.each(func(p *Program) bool {
							if v >= len(p.Ops) || k >= len(p.Ops[v].Args) || i >= len(p.Ops[v].Args[k].List) || p.Ops[v].Args[k].List[i] <= n {
								return false
							}
							p.Ops[v].Args[k].List[i] = n
							return true
						}); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	return nil
}

// data makes leaves count, or one type of the common ones.
func (s *Shrinker) data() error {
	for v := range s.best.Ops {
		if v >= len(s.best.Ops) || s.best.Ops[v].Leaf == nil {
			continue
		}
		if err := s.each(
			func(p *Program) bool {
				l := p.Ops[v].Leaf
				was := l.Fill != Counted && l.Fill != Places || l.Given != nil
				l.Given = nil
				if l.Fill != Places {
					l.Fill = Counted
				}
				return was
			},
			func(p *Program) bool {
				l := p.Ops[v].Leaf
				was := l.Type != dtype.F32 && l.Type.IsFloat()
				l.Type, l.Given = dtype.F32, nil
				return was
			},
		); err != nil {
			return err
		}
	}
	return nil
}
