package engine

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/weft-ml/weft/shard"
	"github.com/weft-ml/weft/uop"
)

// program is what several devices compute: the graphs of each, and the copies between them.
type program struct {
	group    *group
	spreader *shard.Spreader
	values   []shard.Value // of the targets
	launches int

	levels uop.Map[int]            // of nodes: how many copies come before, one after the other
	known  []map[*uop.UOp]*uop.UOp // by device: arrays that hold what has been computed, and copies that have arrived
}

// stage is what is done between two rounds of copies.
type stage struct {
	compute [][]*uop.UOp // by device
	moves   []shard.Move
}

// stages are those of a program. A node is computed in the first stage that has what it needs, if others need it, and results in the last.
func (p *program) stages() []stage {
	var roots []*uop.UOp
	for _, v := range p.values {
		roots = append(roots, v.Parts...)
	}
	last := 0
	for _, u := range uop.Topo(roots...) {
		level := 0
		for _, s := range u.Src() {
			n, _ := p.levels.Get(s)
			level = max(level, n)
		}
		if u.Op() == uop.Copy {
			level++
		}
		p.levels.Set(u, level)
		last = max(last, level)
	}
	out := make([]stage, last+1)
	for i := range out {
		out[i].compute = make([][]*uop.UOp, len(p.group.members))
	}
	add := func(level, on int, u *uop.UOp) {
		if list := &out[level].compute[on]; !slices.Contains(*list, u) {
			*list = append(*list, u)
		}
	}
	for _, h := range p.spreader.Holds {
		if level, used := p.levels.Get(h.Node); used {
			add(level, h.On, h.Node)
		}
	}
	for _, m := range p.spreader.Moves {
		if level, used := p.levels.Get(m.Node); used {
			add(level-1, m.From, m.Node.At(0))
			out[level-1].moves = append(out[level-1].moves, m)
		}
	}
	for _, v := range p.values {
		for i, u := range v.Parts {
			add(last, i, u)
		}
	}
	return out
}

// carryOut computes the results.
func (p *program) carryOut(ctx context.Context) error {
	g := p.group
	p.known = make([]map[*uop.UOp]*uop.UOp, len(g.members))
	for i := range p.known {
		p.known[i] = map[*uop.UOp]*uop.UOp{}
	}
	var launches atomic.Int64
	for _, s := range p.stages() {
		if err := g.each(func(i int) error {
			n, err := g.members[i].computeKnown(ctx, s.compute[i], p.known[i])
			launches.Add(int64(n))
			return err
		}); err != nil {
			return err
		}
		if err := p.move(ctx, s.moves); err != nil {
			return err
		}
	}
	p.launches = int(launches.Load())
	return nil
}

// computeKnown computes nodes that are nobody's, of which some are known, and notes them as known.
func (e *Engine) computeKnown(ctx context.Context, nodes []*uop.UOp, known map[*uop.UOp]*uop.UOp) (launches int, err error) {
	var open []*uop.UOp
	for _, u := range nodes {
		if known[u] == nil {
			open = append(open, u)
		}
	}
	if len(open) == 0 {
		return 0, nil
	}
	if err := e.mu.LockFor(ctx); err != nil {
		return 0, err
	}
	defer e.mu.Unlock()
	values := uop.Substitute(open[0].Home(), known, open...)
	var targets []target
	arena := uop.NewArena()
	for i, v := range values {
		if b, _ := buffer(v); b != nil {
			known[open[i]] = v
			continue
		}
		targets = append(targets, target{node: arena.Param(i, v.Shape().Numel(), v.DType()).Reshape(v.Shape()...), value: v})
	}
	if len(targets) == 0 {
		return 0, nil
	}
	before := e.stats.Launches
	if e.machine.Evaluate != nil {
		err = e.evaluate(ctx, targets)
	} else {
		err = e.play(ctx, targets)
	}
	if err != nil {
		return 0, err
	}
	for _, t := range targets {
		known[open[unshaped(t.node).Arg().(uop.ParamArg).Slot]] = t.node.Realized()
	}
	return e.stats.Launches - before, nil
}

// move carries out copies, to all devices at once.
func (p *program) move(ctx context.Context, moves []shard.Move) error {
	members := p.group.members
	there := make([]*uop.UOp, len(moves))
	if err := p.group.each(func(to int) error {
		for i, m := range moves {
			if m.To != to {
				continue
			}
			b := p.known[m.From][m.Node.At(0)]
			raw := make([]byte, m.Bytes())
			if err := members[m.From].Read(ctx, b, raw); err != nil {
				return err
			}
			var err error
			if there[i], err = members[to].FromBytes(b.DType(), b.Shape(), raw); err != nil {
				return err
			}
			members[to].received(len(raw))
		}
		return nil
	}); err != nil {
		return err
	}
	for i, m := range moves {
		p.known[m.To][m.Node] = there[i]
	}
	return nil
}

// received counts what came from other devices.
func (e *Engine) received(bytes int) {
	e.mu.Lock()
	e.stats.Received += int64(bytes)
	e.mu.Unlock()
}

// bufferOf are the arrays that hold a result.
func (p *program) bufferOf(v shard.Value) []*uop.UOp {
	out := make([]*uop.UOp, len(v.Parts))
	for i, u := range v.Parts {
		out[i] = p.known[i][u]
	}
	return out
}
