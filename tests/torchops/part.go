package torchops

import "github.com/weft-ml/weft/tests/require"

// Part leaves each n-th of some cases, and one of each op.
func Part(cases []*Case, n int) []*Case {
	return require.Part(cases, n, 0, func(c *Case) (op, name string) { return c.Family + " " + c.Op, "" })
}
