package model

import (
	"cmp"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// Alternatives are lists of directives that the model's rules give for a kernel of one nest if what they choose first is not taken: the likely
// ones first, and the choice among them. Some may not be legal.
func Alternatives(spec *codegen.Spec, target *codegen.Target) (out [][]codegen.Directive) {
	defer affine.FewLoops(func() { out = nil })
	if target.Grid {
		return otherSizes(spec, target)
	}
	k := nest.New(spec, target)
	if len(k.Groups) != 1 || !k.Scanned.Empty() || k.SharedRow() != nil {
		return nil
	}
	c := &chooser{view: viewOf(k, k.Groups[0]), spec: spec}
	list := (&streamer{chooser: c}).otherLanes()
	if r := c.reused(); r != nil && !c.anyLength() {
		list = append(list, (&tiler{chooser: c}).otherTilings(r)...)
	}
	slices.SortStableFunc(list, func(a, b alternative) int { return cmp.Compare(a.cost, b.cost) })
	for _, a := range list {
		out = append(out, a.directives())
	}
	return out
}

// alternative is a list of directives, written when it is wanted, and what the nest costs with it by the model.
type alternative struct {
	cost       float64
	directives func() []codegen.Directive
}

// otherTilings are the best tiling with each kind of lanes and each number of vectors and of axes of instances.
func (c *tiler) otherTilings(r *reduction) (out []alternative) {
	type kind struct {
		v              *uop.UOp
		along          bool
		lanes, u, axes int
	}
	best := map[kind]*tiling{}
	var kinds []kind
	c.tilings(r, func(t *tiling) {
		k := kind{t.v, t.along, t.lanes, t.u, len(t.axes)}
		if best[k] == nil {
			kinds = append(kinds, k)
		}
		if best[k] == nil || t.cost < best[k].cost {
			best[k] = t
		}
	})
	for _, k := range kinds {
		if t := best[k]; !t.along || len(c.reds) == 1 {
			out = append(out, alternative{t.cost + c.laneSet(t.v).arithmetic(r), func() []codegen.Directive { return c.arranged(t, nil, nil) }})
		}
	}
	return out
}

// otherLanes are lanes along each axis of the outputs, several numbers of them, and none.
func (c *streamer) otherLanes() (out []alternative) {
	along := func(v *uop.UOp, lanes int, cost float64) {
		out = append(out, alternative{cost, func() []codegen.Directive {
			c.lanes = lanes
			defer func() { c.lanes = 0 }()
			return c.streamAlong(v, cost)
		}})
	}
	along(nil, 0, c.laneSet(nil).cost())
	for _, a := range c.g.Axes {
		n := codegen.Extent(a.Range)
		if n < 2 || !c.mayVector(a.Range) {
			continue
		}
		cost := c.laneSet(a.Range).cost()
		for vectors := 1; vectors == 1 || vectors <= 4 && vectors*c.width() < 2*n; vectors *= 2 {
			along(a.Range, vectors*c.width(), cost)
		}
	}
	return out
}
