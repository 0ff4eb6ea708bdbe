package model

import (
	"github.com/weft-ml/weft/codegen"
)

// gridSizes are the sizes by which a gridder cuts a nest for a graphics processor. sizesFor gives those of the model; a search by the
// clock tries others as well (Alternatives).
type gridSizes struct {
	workgroups bool // the invocations of a workgroup keep a block in shared memory, or reduce a row together
	side       int  // of a block of the output that a workgroup computes
	lanes      int  // invocations along it
	depth      int  // terms of the sum that are kept at a time
	row        int  // invocations that reduce a row
	least      int  // invocations that stay where each computes several elements
	values     int  // results that an invocation holds, in percent of the model's
}

// sizesFor are the model's sizes. An adapter that runs on a CPU has few threads and no memory that is nearer than others.
func sizesFor(t *codegen.Target) gridSizes {
	s := gridSizes{workgroups: true, side: 64, lanes: 16, depth: 16, row: 256, least: max(4096, t.Parallel/4), values: 100}
	if t.CPUBacked {
		s.workgroups, s.least = false, 64
	}
	return s
}

// otherSizes are lists of directives that the rules for a graphics processor give with other sizes, the likely ones first.
func otherSizes(spec *codegen.Spec, target *codegen.Target) (out [][]codegen.Directive) {
	for _, change := range []func(s *gridSizes){
		func(*gridSizes) {},
		func(s *gridSizes) { s.values = 200 },
		func(s *gridSizes) { s.least = 1024 },
		func(s *gridSizes) { s.workgroups = !s.workgroups },
		func(s *gridSizes) { s.values = 50 },
		func(s *gridSizes) { s.side, s.depth = 128, 8 },
		func(s *gridSizes) { s.side, s.lanes, s.row = 32, 8, 64 },
		func(s *gridSizes) { s.depth, s.row = 32, 128 },
		func(s *gridSizes) { s.depth, s.row = 8, 512 },
		func(s *gridSizes) { s.values, s.least = 400, 64 },
		func(s *gridSizes) { s.least, s.values = 1<<14, 25 },
		func(s *gridSizes) { s.workgroups, s.side, s.lanes = !s.workgroups, 32, 8 },
	} {
		sizes := sizesFor(target)
		change(&sizes)
		_, lists := gridLists(spec, target, sizes)
		out = append(out, lists...)
	}
	return out
}
