package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// Blocks of products that a machine multiplies at once: a panel of the second factor in words, for a group of lanes, and for it block
// after block of rows of the first one.

const (
	matrixRows       = 32 // of results that are held at once
	matrixLanes      = 32
	matrixLeast      = 16  // rows and lanes that are worth it
	matrixSteps      = 64  // bytes of a row of factors that are worth it
	matrixGroup      = 256 // lanes for which a block of the first factor is put into words once
	matrixLeastTasks = 4   // at least, for which groups are made smaller where rows are not shared
	matrixTasks      = 8   // about so many, for which blocks of rows are shared
	matrixShare      = 4   // blocks of rows for which a panel is worth making for one task
)

// matrixShape is a product as the unit takes it.
type matrixShape struct {
	r          *reduction
	d          *nest.Dotted
	x          *uop.UOp // the steps
	rows, cols *nest.Axis
	a, b       *access // the factors with the rows and with the lanes
	outer      []*nest.Axis
}

// matrixShape finds it, or nil where the nest is none.
func (c *tiler) matrixShape() *matrixShape {
	r := c.reused()
	if r == nil || len(c.reds) != 1 || len(r.ranges) != 1 || c.Owners(r.ranges[0]) != 1 {
		return nil
	}
	s := &matrixShape{r: r, x: r.ranges[0], d: c.MatrixProducts(r.u)}
	if s.d == nil {
		return nil
	}
	var loads [2]*access // those of the zero points are others
	for i, f := range s.d.Factors {
		loads[i] = r.loads[slices.IndexFunc(r.loads, func(l *access) bool { return l.u == f.Load() })]
	}
	alone := [2][]*nest.Axis{c.alone(loads[0], loads[1]), c.alone(loads[1], loads[0])}
	if len(alone[0]) == 0 || len(alone[1]) == 0 {
		return nil
	}
	lanes := 1
	for i, list := range alone {
		for _, a := range list {
			if c.dense(c.outs[0], a.Range) {
				lanes = i
			}
		}
	}
	last := func(list []*nest.Axis) *nest.Axis { return list[len(list)-1] }
	s.rows, s.cols, s.a, s.b = last(alone[1-lanes]), last(alone[lanes]), loads[1-lanes], loads[lanes]
	for _, a := range c.g.Axes {
		if a != s.rows && a != s.cols {
			s.outer = append(s.outer, a)
		}
	}
	return s
}

// matrix gives directives for a product that the unit multiplies, or nil.
func (c *tiler) matrix() []codegen.Directive {
	s := c.matrixShape()
	if s == nil {
		return nil
	}
	m, n, k := codegen.Extent(s.rows.Range), codegen.Extent(s.cols.Range), codegen.Extent(s.x)
	bytes := s.a.bytes
	if m < matrixLeast || n < matrixLeast || k*bytes < matrixSteps {
		return nil
	}
	for _, l := range []*access{s.a, s.b} {
		if l.wide == nil || !l.plain || l.gated {
			return nil
		}
	}
	p := &matrixArranger{c: c, s: s}
	p.out = append(p.out, codegen.Directive{Verb: codegen.Matrix, Name: c.name(s.x), N: s.d.N})
	lanes := matrixLanes
	if n < lanes {
		lanes = matrixLeast
	}
	blocks := codegen.CeilDiv(m, matrixRows)
	rows, row := c.cut(&p.out, s.rows.Name, m, codegen.CeilDiv(m, blocks))
	panels, lane := c.cut(&p.out, s.cols.Name, n, lanes)
	group := max(1, min(matrixGroup, c.Target.L2/(k*bytes))/lanes)
	p.arrange(rows, row, panels, lane, codegen.CeilDiv(n, lanes), blocks, group)
	return p.out
}

// matrixArranger writes the directives of a product's loops.
type matrixArranger struct {
	c   *tiler
	s   *matrixShape
	out []codegen.Directive
}

// arrange orders the loops: groups of panels, which threads share, blocks of rows, panels.
func (p *matrixArranger) arrange(rows, row, panels, lane string, n, blocks, group int) {
	c, s := p.c, p.s
	var order []string
	tasks := 1
	for _, a := range s.outer {
		order = append(order, a.Name)
		tasks *= codegen.Extent(a.Range)
	}
	var inside []string
	if panels != "" {
		if blocks < 2*matrixShare { // rows are not shared
			group = max(1, min(group, n*tasks/matrixLeastTasks))
		}
		for group > 4 && n%group != 0 {
			group--
		}
		outer, inner := c.cut(&p.out, panels, n, min(group, n))
		if outer != "" {
			order = append(order, outer)
			tasks *= codegen.CeilDiv(n, group)
		}
		panels = inner
		inside = append(inside, panels)
	}
	if parts := min(codegen.CeilDiv(matrixTasks, tasks), blocks/matrixShare); rows != "" && parts > 1 {
		outer, inner := c.cut(&p.out, rows, blocks, codegen.CeilDiv(blocks, parts))
		order = append(order, outer)
		rows = inner
	}
	if len(order) > 0 && c.Threaded(c.g) && s.r.work > threadWork {
		order = []string{thread(&p.out, order)}
	}
	far := innermost(order)
	if rows != "" {
		order = append(order, rows)
	}
	near := innermost(order)
	order = append(order, inside...)
	at := innermost(order)
	order = append(order, row, lane)
	p.out = append(p.out, codegen.Directive{Verb: codegen.Vectors, Name: lane}, codegen.Directive{Verb: codegen.Order, Axes: order})
	steps := c.name(s.x)
	p.sum(s.b, far, append(slices.Clone(inside), lane), lane)
	p.sum(s.a, near, []string{row}, row)
	p.stage(s.b, far, append(inside, steps, lane), steps, lane)
	p.stage(s.a, near, []string{row, steps}, steps, row)
	p.out = append(p.out, codegen.Directive{Verb: codegen.Stage, Name: s.r.name, At: at, Axes: []string{row, lane}})
}

// stage puts a factor into words, along the axis along which they lie densely.
func (p *matrixArranger) stage(l *access, at string, layout []string, steps, across string) {
	m := codegen.Directive{Verb: codegen.Stage, Name: l.staged(), At: at, Axes: slices.Clone(layout), Vector: across}
	if p.c.dense(l, p.s.x) {
		m.Vector = steps
		if layout[len(layout)-1] == across { // blocks of both are turned
			m.Tile = across
		}
	}
	p.out = append(p.out, m)
}

// sum stages the sums of a factor over the steps, if the other one's zero point needs them: in lanes across the results, or along the steps.
func (p *matrixArranger) sum(l *access, at string, layout []string, across string) {
	i := slices.IndexFunc(p.s.d.Factors[:], func(f nest.Factor) bool { return f.Load() == l.u })
	if !p.s.d.SumOf(i) {
		return
	}
	m := codegen.Directive{Verb: codegen.Stage, Name: l.name + nest.SumSuffix, At: at, Axes: layout}
	if p.c.dense(l, p.s.x) {
		p.c.sumFactor(&p.out, p.s.r, l)
	} else {
		m.Vector = across
	}
	p.out = append(p.out, m)
}
