package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weft-ml/weft/uop"
)

// A captured function whose values go from device to device is several: legs, each on one device, which run one after the other, with copies
// between them. The last leg is the Captured itself. Programs that never join devices do not link this.

// crossings captures what recorded functions compute on other devices than their own; nil: no tensor changes its device.
var crossings atomic.Pointer[func(ctx context.Context, e *Engine, inputs []*uop.UOp, r *recording, outs []*uop.UOp) (*Captured, error)]

// Crossed is set once a tensor goes from one device to another; before that no graph needs to be searched for such places.
var Crossed atomic.Bool

// AllowCrossing is called by whoever brings several devices (package backends).
func AllowCrossing() {
	if crossings.Load() == nil {
		f := captureAcross
		crossings.Store(&f)
	}
}

// RefuseCrossing has captured functions whose values go from device to device refused, with what is said of them: for programs that link no
// more than they need.
func RefuseCrossing(why string) {
	f := func(_ context.Context, _ *Engine, _ []*uop.UOp, r *recording, outs []*uop.UOp) (*Captured, error) {
		for _, u := range uop.Topo(slices.Concat(r.nodes, outs)...) {
			if u.Op() == uop.Copy && u.Realized() == nil {
				return nil, errors.New(why)
			}
		}
		return nil, nil
	}
	crossings.CompareAndSwap(nil, &f)
}

// legs are those of a captured function before its last, or what stands for them.
type legs interface {
	// before runs them, and gives what they bring to the last.
	before(ctx context.Context, c *Captured, inputs []*uop.UOp, with Bindings) (brought []*uop.UOp, err error)
	ended()
	vars() []uop.VarArg
	launches() int
	release()
}

// route is all that is computed before the last leg.
type route struct {
	legs  []*leg
	goods []*good
	last  []*good   // those that the last leg takes
	renew []Renewal // of all legs
	turn  turns     // of runs
	ran   bool
}

// leg is what is computed on a device at a time.
type leg struct {
	on    *Engine
	level int
	own   bool       // the function's inputs lie there, and come before what it takes
	c     *Captured  // nil: nothing is computed
	outs  []*uop.UOp // for others, or assignments
	asked []*uop.UOp // those of outs that are computed
	takes []*good
}

// good is a value that goes from one device to another.
type good struct {
	copy  *uop.UOp // the Copy node
	stand *uop.UOp // what stands for it there
	from  *leg
	to    *Engine
	level int // how many goods it depends on, one after the other, itself included
}

// captureAcross divides what was recorded into legs and captures each; outs are results and assignments. It gives nil where all is on one device.
func captureAcross(ctx context.Context, e *Engine, inputs []*uop.UOp, r *recording, outs []*uop.UOp) (*Captured, error) {
	m := mapOf(slices.Concat(r.nodes, outs))
	home := e
	if len(inputs) == 0 && len(outs) > 0 { // it runs where its results lie
		if d := m.device(outs[0]); d != "" && d != e.name {
			var err error
			if home, err = UseContext(ctx, d); err != nil {
				return nil, err
			}
		}
	}
	w := &route{renew: r.renew}
	if err := w.plan(ctx, m); err != nil {
		return nil, err
	}
	var here []*uop.UOp
	for _, n := range slices.Concat(r.nodes, outs) {
		if d := m.device(n); d == "" || d == home.name {
			here = append(here, n)
		} else if err := w.elsewhere(ctx, d, n); err != nil {
			return nil, err
		}
	}
	if len(w.legs) == 0 && home == e {
		return nil, nil
	}
	w.last = w.broughtTo(home, -1)
	last := &leg{on: home, level: finalLevel, takes: w.last, outs: here}
	for _, l := range append(w.legs[:len(w.legs):len(w.legs)], last) {
		if err := w.capture(ctx, l, inputs, r); err != nil {
			return nil, err
		}
	}
	if last.c == nil {
		return nil, errors.New("Capture: the function computes nothing")
	}
	c := last.c
	c.gives(slices.DeleteFunc(slices.Clone(outs), func(o *uop.UOp) bool { d := m.device(o); return d != "" && d != home.name }))
	c.legs = w
	return c, nil
}

// plan finds the goods of a graph, and the legs that they come from.
func (w *route) plan(ctx context.Context, m *deviceMap) error {
	for _, u := range m.order {
		if !m.crosses(u) {
			continue
		}
		to, err := UseContext(ctx, m.device(u))
		if err != nil {
			return err
		}
		from, err := UseContext(ctx, m.device(u.At(0)))
		if err != nil {
			return err
		}
		l := w.leg(from, m.level(u)-1)
		l.outs = append(l.outs, u.At(0))
		g := &good{copy: u, from: l, to: to, level: m.level(u)}
		if g.stand, err = to.StandIn(u.DType(), u.Shape()); err != nil {
			return err
		}
		w.goods = append(w.goods, g)
	}
	slices.SortStableFunc(w.legs, func(a, b *leg) int { return a.level - b.level })
	for _, l := range w.legs {
		l.takes = w.broughtTo(l.on, l.level)
	}
	return nil
}

// leg is that of a device on a level.
func (w *route) leg(on *Engine, level int) *leg {
	for _, l := range w.legs {
		if l.on == on && l.level == level {
			return l
		}
	}
	l := &leg{on: on, level: level}
	w.legs = append(w.legs, l)
	return l
}

// broughtTo are the goods that come to a device up to a level; −1: all.
func (w *route) broughtTo(on *Engine, level int) (list []*good) {
	for _, g := range w.goods {
		if g.to == on && (level < 0 || g.level <= level) {
			list = append(list, g)
		}
	}
	return list
}

// elsewhere has a node computed on another device, after all that others need from there.
func (w *route) elsewhere(ctx context.Context, device string, n *uop.UOp) error {
	on, err := UseContext(ctx, device)
	if err != nil {
		return err
	}
	l := w.leg(on, finalLevel)
	l.takes = w.broughtTo(on, -1)
	l.outs = append(l.outs, n)
	return nil
}

const finalLevel = 1 << 30

// capture captures a leg. What is in memory needs no capturing.
func (w *route) capture(ctx context.Context, l *leg, inputs []*uop.UOp, recorded *recording) error {
	ins := []*uop.UOp{}
	for _, in := range inputs {
		if _, s := buffer(in); s != nil && s.engine == l.on {
			ins = append(ins, in)
			l.own = true
		}
	}
	brought := map[*uop.UOp]*uop.UOp{}
	for _, g := range l.takes {
		ins = append(ins, g.stand)
		brought[g.copy] = g.stand
	}
	var outs []*uop.UOp
	for _, o := range l.outs {
		if b, _ := buffer(o); b != nil {
			continue
		}
		l.asked = append(l.asked, o)
		if l.level != finalLevel && destination(o) != nil { // its value, while the assignment waits until nobody needs what it replaces
			o = o.Contiguous()
		}
		outs = append(outs, o)
	}
	if len(outs) == 0 {
		return nil
	}
	r, err := l.on.begin(ctx, ins)
	if err != nil {
		return err
	}
	defer l.on.end(r)
	r.brought, r.renew = brought, w.renew
	if recorded.engine == l.on { // others may have assigned meanwhile
		r.was = recorded.was
	}
	l.c, err = l.on.finish(ctx, ins, r, outs)
	if err == nil {
		l.c.drawn = true
	}
	return err
}

// before runs all legs but the last.
func (w *route) before(ctx context.Context, c *Captured, inputs []*uop.UOp, with Bindings) (brought []*uop.UOp, err error) {
	if err := w.turn.LockFor(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.turn.Unlock()
		}
	}()
	if err := w.draw(ctx); err != nil {
		return nil, err
	}
	there := map[*good]*uop.UOp{}
	for _, l := range w.legs {
		values := map[*uop.UOp]*uop.UOp{}
		if l.c != nil {
			var ins []*uop.UOp
			if l.own {
				ins = slices.Clone(inputs)
			}
			outs, err := l.c.RunWith(ctx, nil, append(ins, taken(l.takes, there)...), with)
			if err != nil {
				return nil, fmt.Errorf("on %s: %w", l.on.Name(), err)
			}
			for i, o := range l.asked {
				values[o] = outs[i]
			}
		}
		for _, g := range w.goods {
			if g.from != l {
				continue
			}
			u := values[g.copy.At(0)]
			if u == nil {
				u = c.through(g.copy.At(0), inputs)
			}
			if there[g], err = g.bring(ctx, u); err != nil {
				return nil, err
			}
		}
	}
	return taken(w.last, there), nil
}

// ended is told that the last leg has run, or that it does not.
func (w *route) ended() { w.turn.Unlock() }

// draw gives random numbers of a run their keys, in the order in which the function drew them.
func (w *route) draw(ctx context.Context) error {
	first := !w.ran
	w.ran = true
	for _, r := range w.renew {
		_, s := buffer(r.Buffer)
		if first || s == nil {
			continue
		}
		if err := s.engine.mu.LockFor(ctx); err != nil {
			return err
		}
		err := s.engine.renew(r, s)
		s.engine.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func taken(list []*good, there map[*good]*uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, len(list))
	for i, g := range list {
		out[i] = there[g]
	}
	return out
}

// bring takes a value to where it is needed.
func (g *good) bring(ctx context.Context, u *uop.UOp) (*uop.UOp, error) {
	raw := make([]byte, u.Shape().Numel()*u.DType().Size())
	if err := g.from.on.Read(ctx, u, raw); err != nil {
		return nil, err
	}
	there, err := g.to.FromBytesCut(u.DType(), g.copy.Shape(), raw, g.copy.Arg().(uop.DeviceArg).Cut)
	if err != nil {
		return nil, fmt.Errorf("move a tensor from %s to %s: %w", g.from.on.Name(), g.to.Name(), err)
	}
	return there, nil
}

func (w *route) each(f func(c *Captured)) {
	for _, l := range w.legs {
		if l.c != nil {
			f(l.c)
		}
	}
}

func (w *route) vars() (list []uop.VarArg) {
	w.each(func(c *Captured) { list = append(list, c.Vars()...) })
	return list
}

func (w *route) launches() (n int) {
	w.each(func(c *Captured) { n += c.Kernels() })
	return n
}

func (w *route) release() { w.each((*Captured).Release) }
