package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/weft-ml/weft/shard"
	"github.com/weft-ml/weft/uop"
)

// program is what several devices do for a graph whose arrays lie in a certain way: stages, in which each plays a plan, and copies between
// them. Its plans are made for stand-ins, in whose place a run has arrays.
type program struct {
	group  *group
	inputs [][]*uop.UOp // stand-ins, by slot and device; nil: the array has undefined contents
	values []shard.Value
	stages []stage
	known  []map[*uop.UOp]*uop.UOp // by device: the stand-ins of nodes
	used   int
}

// job is what a device plays in a stage.
type job struct {
	plan    *compiled
	inputs  []*storage // stand-ins, and numbers of the graph
	vars    []int      // of the graph of all devices, by number
	targets []target   // nodes are stand-ins
}

// maxPrograms is how many are kept.
const maxPrograms = 128

// programOf finds the program of a graph, or makes it.
func (g *group) programOf(ctx context.Context, c *canonical, inputs []*storage) (*program, error) {
	key := programKey(c, inputs)
	g.clock++
	if p := g.programs[key]; p != nil {
		p.used = g.clock
		return p, nil
	}
	p, err := g.newProgram(c, inputs)
	if err != nil {
		return nil, err
	}
	if err := p.make(func(m *Engine, c *canonical) (*compiled, error) { return m.compile(ctx, c) }); err != nil {
		return nil, err
	}
	if len(g.programs) >= maxPrograms {
		oldest := ""
		for k, p := range g.programs {
			if oldest == "" || p.used < g.programs[oldest].used {
				oldest = k
			}
		}
		delete(g.programs, oldest)
	}
	p.used = g.clock
	g.programs[key] = p
	return p, nil
}

// programKey is what programs are kept by: the graph, and how its arrays lie.
func programKey(c *canonical, inputs []*storage) string {
	key := []byte(c.key)
	for _, s := range inputs {
		switch {
		case s.lies == nil:
			key = append(key, 0)
			continue
		case s.lies.free:
			key = append(key, 1)
		default:
			key = append(key, 2)
		}
		key = binary.AppendVarint(key, int64(s.lies.cut))
		key = binary.AppendVarint(key, int64(len(s.lies.shape)))
		key = append(key, uop.MakeInts(s.lies.shape...)...)
	}
	return string(key)
}

// newProgram spreads a graph. An array that is assigned stays cut as it was, unless nothing has said how.
func (g *group) newProgram(c *canonical, inputs []*storage) (*program, error) {
	p := &program{group: g, inputs: make([][]*uop.UOp, len(inputs))}
	for slot, s := range inputs {
		if s.lies == nil {
			continue
		}
		for i, part := range s.lies.parts {
			in, err := g.members[i].StandIn(part.DType(), part.Shape())
			if err != nil {
				return nil, err
			}
			p.inputs[slot] = append(p.inputs[slot], in)
		}
	}
	spreader := shard.New(g.names, func(u *uop.UOp) (shard.Value, error) {
		a, ok := u.Arg().(uop.ParamArg)
		if !ok || p.inputs[a.Slot] == nil {
			return g.undefined(u), nil
		}
		at := inputs[a.Slot].lies
		return shard.Value{Cut: at.cut, Parts: p.inputs[a.Slot], Shape: at.shape, Free: at.free}, nil
	})
	for _, r := range c.graph.Roots {
		v, err := spreader.Spread(r.Value)
		if err != nil {
			return nil, err
		}
		if r.Dest >= 0 {
			if at := inputs[r.Dest].lies; at != nil && !at.free && at.shape.Equal(v.Shape) {
				if v, err = spreader.Recut(v, at.cut); err != nil {
					return nil, err
				}
				v.Free = false
			}
		}
		p.values = append(p.values, v)
	}
	p.divide(spreader)
	return p, nil
}

// make has plans made for all jobs.
func (p *program) make(plan func(m *Engine, c *canonical) (*compiled, error)) error {
	members := p.group.members
	p.known = make([]map[*uop.UOp]*uop.UOp, len(members))
	for i := range p.known {
		p.known[i] = map[*uop.UOp]*uop.UOp{}
	}
	for n := range p.stages {
		s := &p.stages[n]
		s.jobs = make([]*job, len(members))
		if err := p.group.each(func(i int) (err error) {
			s.jobs[i], err = members[i].newJob(s.compute[i], p.known[i], plan)
			return err
		}); err != nil {
			return err
		}
		for _, m := range s.moves {
			here, err := members[m.To].StandIn(m.Node.DType(), m.Node.Shape())
			if err != nil {
				return err
			}
			p.known[m.To][m.Node] = here
		}
	}
	return nil
}

// newJob plans the computing of nodes, of which some are known, and notes them as known; nil: nothing is left to do.
func (e *Engine) newJob(nodes []*uop.UOp, known map[*uop.UOp]*uop.UOp, plan func(m *Engine, c *canonical) (*compiled, error)) (*job, error) {
	if e.machine.Evaluate != nil {
		return nil, fmt.Errorf("%s evaluates graphs and cannot share them with others; use another device", e.name)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	j := &job{}
	for i, v := range uop.Substitute(uop.NewIota(1).Home(), known, nodes...) { // where the stand-ins are
		if known[nodes[i]] != nil {
			continue
		}
		if b, _ := buffer(v); b != nil {
			known[nodes[i]] = v
			continue
		}
		stand, err := e.StandIn(v.DType(), v.Shape())
		if err != nil {
			return nil, err
		}
		known[nodes[i]] = stand
		j.targets = append(j.targets, target{node: stand, value: v})
	}
	if len(j.targets) == 0 {
		return nil, nil
	}
	c := canonicalize(j.targets)
	p, err := plan(e, c)
	if err != nil {
		return nil, err
	}
	j.plan, j.inputs = p, c.inputs
	for _, v := range c.vars {
		n, err := strconv.Atoi(v.Name[1:])
		if err != nil {
			panic("BUG: a variable that has no number: " + v.Name)
		}
		j.vars = append(j.vars, n)
	}
	return j, nil
}
