package model

import (
	"slices"
)

// findUnpacked notes what is made of operands. Where a number is repeated in all lanes only slowly, copies hold them repeated, which is for single
// numbers (broad.go).
func (c *view) findUnpacked() {
	if c.Target.Broad || c.anyLength() || len(c.Groups) != 1 {
		return
	}
	for _, a := range c.loads {
		a.factors = c.Unpackings[a.name]
	}
}

// shared are the values that are staged of an operand that all lanes share.
func (a *access) shared() []string {
	if a.factors != nil {
		return a.factors.Names
	}
	return []string{a.staged()}
}

// withoutUnpacked leaves out operands that are read for what others are made into only.
func withoutUnpacked(shares []*access) []*access {
	return slices.DeleteFunc(slices.Clone(shares), func(l *access) bool {
		return slices.ContainsFunc(shares, func(a *access) bool { return a.factors != nil && slices.Contains(a.factors.Loads, l.name) })
	})
}
