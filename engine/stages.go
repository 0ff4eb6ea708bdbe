package engine

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/weft-ml/weft/shard"
	"github.com/weft-ml/weft/uop"
)

// stage is what is done between two rounds of copies.
type stage struct {
	compute [][]*uop.UOp // by device
	jobs    []*job
	moves   []shard.Move
}

// divide makes the stages. A node is computed in the first stage that has what it needs, if others need it, and results in the last.
func (p *program) divide(s *shard.Spreader) {
	var roots []*uop.UOp
	for _, v := range p.values {
		roots = append(roots, v.Parts...)
	}
	var levels uop.Map[int] // of nodes: how many copies come before, one after the other
	last := 0
	for _, u := range uop.Topo(roots...) {
		level := 0
		for _, x := range u.Src() {
			n, _ := levels.Get(x)
			level = max(level, n)
		}
		if u.Op() == uop.Copy {
			level++
		}
		levels.Set(u, level)
		last = max(last, level)
	}
	p.stages = make([]stage, last+1)
	for i := range p.stages {
		p.stages[i].compute = make([][]*uop.UOp, len(p.group.members))
	}
	add := func(level, on int, u *uop.UOp) {
		if list := &p.stages[level].compute[on]; !slices.Contains(*list, u) {
			*list = append(*list, u)
		}
	}
	for _, h := range s.Holds {
		if level, used := levels.Get(h.Node); used {
			add(level, h.On, h.Node)
		}
	}
	for _, m := range s.Moves {
		if level, used := levels.Get(m.Node); used {
			add(level-1, m.From, m.Node.At(0))
			p.stages[level-1].moves = append(p.stages[level-1].moves, m)
		}
	}
	for _, v := range p.values {
		for i, u := range v.Parts {
			add(last, i, u)
		}
	}
}

// holding are the arrays of a device in a run, by the storage of their stand-ins.
type holding map[*storage]*uop.UOp

// find is the array that holds what a stand-in, or a view of one, stands for.
func (h holding) find(stand *uop.UOp) *uop.UOp {
	b, s := buffer(stand)
	if now := h[s]; now != nil {
		b = now
	}
	return b.Reshape(stand.Shape()...)
}

// run computes a graph on all devices.
func (g *group) run(ctx context.Context, c *canonical, inputs []*storage, vars []int32, stores []*storage) error {
	p, err := g.programOf(ctx, c, inputs)
	if err != nil {
		return err
	}
	c.ran = p
	held := make([]holding, len(g.members))
	for i := range held {
		held[i] = holding{}
		for slot, in := range p.inputs {
			if in != nil {
				_, stand := buffer(in[i])
				held[i][stand], _ = buffer(inputs[slot].lies.parts[i])
			}
		}
	}
	var launches atomic.Int64
	for _, s := range p.stages {
		if err := g.each(func(i int) error {
			n, err := g.members[i].do(ctx, s.jobs[i], held[i], vars)
			launches.Add(int64(n))
			return err
		}); err != nil {
			return err
		}
		if err := p.move(ctx, s.moves, held); err != nil {
			return err
		}
	}
	g.engine.stats.Plays++
	g.engine.stats.Launches += int(launches.Load())
	for k, v := range p.values {
		at := &lies{v.Shape, v.Cut, make([]*uop.UOp, len(g.members)), v.Free}
		for i, u := range v.Parts {
			at.parts[i] = held[i].find(p.known[i][u])
		}
		stores[k].lies = at
	}
	return nil
}

// do plays a job.
func (e *Engine) do(ctx context.Context, j *job, held holding, vars []int32) (launches int, err error) {
	if j == nil {
		return 0, nil
	}
	if err := e.mu.LockFor(ctx); err != nil {
		return 0, err
	}
	defer e.mu.Unlock()
	inputs := slices.Clone(j.inputs)
	for k, s := range inputs {
		if now := held[s]; now != nil {
			_, inputs[k] = buffer(now)
		}
	}
	mine := make([]int32, len(j.vars))
	for k, n := range j.vars {
		mine[k] = vars[n]
	}
	arena := uop.NewArena()
	targets := slices.Clone(j.targets)
	for k, t := range targets {
		targets[k].node = arena.Param(k, t.value.Shape().Numel(), t.value.DType())
	}
	if _, err := e.run(ctx, j.plan, inputs, mine, targets, nil); err != nil {
		return 0, err
	}
	for k, t := range targets {
		_, stand := buffer(j.targets[k].node)
		held[stand], _ = buffer(t.node.Realized())
	}
	return len(j.plan.plan.Steps), nil
}

// move carries out copies, to all devices at once.
func (p *program) move(ctx context.Context, moves []shard.Move, held []holding) error {
	members := p.group.members
	there := make([]*uop.UOp, len(moves))
	if err := p.group.each(func(to int) error {
		for i, m := range moves {
			if m.To != to {
				continue
			}
			from := held[m.From].find(p.known[m.From][m.Node.At(0)])
			raw := make([]byte, m.Bytes())
			if err := members[m.From].Read(ctx, from, raw); err != nil {
				return err
			}
			var err error
			if there[i], err = members[to].FromBytes(from.DType(), from.Shape(), raw); err != nil {
				return err
			}
			members[to].received(len(raw))
		}
		return nil
	}); err != nil {
		return err
	}
	for i, m := range moves {
		_, stand := buffer(p.known[m.To][m.Node])
		held[m.To][stand], _ = buffer(there[i])
	}
	return nil
}

// received counts what came from other devices.
func (e *Engine) received(bytes int) {
	e.mu.Lock()
	e.stats.Received += int64(bytes)
	e.mu.Unlock()
}
