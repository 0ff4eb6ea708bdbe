package grammar

// complete says what is wrong with the rules as a whole: names that nothing defines, rules that begin with themselves, and those that begin in
// more ways than are followed.
func (p *notation) complete() {
	for _, r := range p.order {
		if r.define == (place{}) {
			p.wrong(r.used, "there is no rule %.100s", r.name)
			return
		}
	}
	l := &leftmost{g: &p.g, empty: p.empty(), index: make([]int, len(p.g.rules)), low: make([]int, len(p.g.rules)), names: map[int]*named{}}
	for _, r := range p.order {
		l.names[r.rule] = r
	}
	for _, r := range p.order {
		if l.index[r.rule] == 0 {
			l.visit(r.rule)
		}
	}
	for _, r := range p.order {
		if l.cycle[r.rule] {
			p.wrong(r.define, "the rule %.100s begins with itself (left recursion), which is not known: write what repeats with *, + or at the end of the rule", r.name)
			return
		}
	}
	for _, r := range p.order {
		if l.ways(r.rule, map[int]bool{}) >= maxStacks {
			p.wrong(r.define, "the rule %.100s may begin in more than %d ways", r.name, maxStacks-1)
			return
		}
	}
}

// empty says of each rule whether it has the empty text.
func (b *builder) empty() []bool {
	out := make([]bool, len(b.g.rules))
	for changed := true; changed; {
		changed = false
		for r := len(out) - 1; r >= 0; r-- { // most rules name later ones
			for _, at := range b.g.rules[r] {
				for b.g.elements[at].kind == rule && out[b.g.elements[at].rule] {
					at++
				}
				if b.g.elements[at].kind == end && !out[r] {
					out[r], changed = true, true
				}
			}
		}
	}
	return out
}

// leftmost finds which rules begin with which: the strong components of that graph (Tarjan, 1972). Rules without a name repeat something; that one
// of them begins with itself, where what is repeated may be empty, changes no text.
type leftmost struct {
	g          *Grammar
	empty      []bool
	names      map[int]*named
	index, low []int // from 1 on
	stack      []int
	on         map[int]bool
	cycle      map[int]bool // rules with a name that begin with themselves
	count      int
}

// begins gives the elements that a rule begins with.
func (l *leftmost) begins(r int, yield func(at int, e *element)) {
	for _, at := range l.g.rules[r] {
		for {
			e := &l.g.elements[at]
			if e.kind != end {
				yield(at, e)
			}
			if e.kind != rule || !l.empty[e.rule] {
				break
			}
			at++
		}
	}
}

func (l *leftmost) visit(r int) {
	if l.on == nil {
		l.on, l.cycle = map[int]bool{}, map[int]bool{}
	}
	l.count++
	l.index[r], l.low[r] = l.count, l.count
	l.stack, l.on[r] = append(l.stack, r), true
	l.begins(r, func(_ int, e *element) {
		switch {
		case e.kind != rule:
		case l.index[e.rule] == 0:
			l.visit(e.rule)
			l.low[r] = min(l.low[r], l.low[e.rule])
		case l.on[e.rule]:
			l.low[r] = min(l.low[r], l.index[e.rule])
			l.cycle[r] = l.cycle[r] || e.rule == r && l.names[r] != nil
		}
	})
	if l.low[r] < l.index[r] {
		return
	}
	for several := l.stack[len(l.stack)-1] != r; ; {
		last := l.stack[len(l.stack)-1]
		l.stack = l.stack[:len(l.stack)-1]
		delete(l.on, last)
		if several && l.names[last] != nil {
			l.cycle[last] = true
		}
		if last == r {
			return
		}
	}
}

// ways is how many sets of bytes a rule begins with, up to the bound.
func (l *leftmost) ways(r int, seen map[int]bool) (n int) {
	if seen[-1-r] {
		return 0
	}
	seen[-1-r] = true
	l.begins(r, func(at int, e *element) {
		switch {
		case n >= maxStacks:
		case e.kind == rule:
			n += l.ways(e.rule, seen)
		case !seen[at]:
			seen[at] = true
			n++
		}
	})
	return n
}
