package grammar

// ways counts in how many ways rules begin, up to one more than maxWays.
type ways struct {
	g     *Grammar
	of    map[int]int
	empty []bool // the rules that a text without bytes is one of
}

func newWays(g *Grammar) *ways {
	w := &ways{g, map[int]int{}, make([]bool, len(g.rules))}
	for changed := true; changed; {
		changed = false
		for r, all := range g.rules {
			for _, at := range all {
				for g.elements[at].kind == rule && w.empty[g.elements[at].rule] {
					at++
				}
				if g.elements[at].kind == end && !w.empty[r] {
					w.empty[r], changed = true, true
				}
			}
		}
	}
	return w
}

// rule counts those of a rule. One that begins with itself adds nothing to itself.
func (w *ways) rule(r int) (n int) {
	if n, ok := w.of[r]; ok {
		return n
	}
	w.of[r] = 0
	for _, at := range w.g.rules[r] {
		for goes := true; goes; at++ {
			switch x := &w.g.elements[at]; x.kind {
			case bytes:
				n, goes = n+1, false
			case rule:
				n, goes = n+w.rule(x.rule), w.empty[x.rule]
			case end:
				goes = false
			}
		}
	}
	w.of[r] = min(n, maxWays+1)
	return w.of[r]
}
