package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// What is used once or a few times comes straight from memory, and a processor reads ahead only where neighbours follow each other
// within a page. A block of lanes that goes through all rows of an array touches another page with each of them: nothing is read
// ahead. Then a few rows go together through all lanes of a thread's share, and sums are carried from there to the next rows.

// rowBytes is how far apart rows lie that are not read ahead: half a page.
const rowBytes = pageBytes / 2

// readBytes is how much of a row a share should have, so that reading ahead begins; there have to be leastShares of them. Where one stream is
// best, shares of narrower matrices have less, half of that at least, of twice as many rows.
const readBytes, leastShares = 1024, 4

// beyondCaches is how many times the second cache an array is that no cache holds.
const beyondCaches = 24

// scattered says that steps of a reduction read, with lanes along v, what is larger than so many times the second cache from another page each.
func (c *view) scattered(r *reduction, v *uop.UOp, times int) bool {
	if c.Target.ReadsAhead == 0 || c.fixed || len(r.ranges) != 1 || len(c.reds) != 1 || !c.Threaded(c.g) || codegen.Extent(r.ranges[0]) < 4*c.Target.ReadsAhead {
		return false
	}
	return slices.ContainsFunc(r.loads, func(l *access) bool {
		apart, steady := c.stride(l, r.ranges[0])
		return c.dense(l, v) && steady && codegen.Abs(apart)*l.bytes >= rowBytes && l.plain && !l.gated && c.count(l.free)*l.bytes > times*c.Target.L2
	})
}

// rowsRead are the steps of a reduction that go together, without a rest where that is possible.
func rowsRead(n, most int) int {
	for _, d := range []int{0, 1, -1, 2, -2, 3, 4} {
		if n%(most+d) == 0 {
			return most + d
		}
	}
	return most
}

// swept arranges the loops of a block of results in that way where an operand is scattered, and says whether it did.
func (p *arranger) swept(loops []loop) bool {
	if p.words != nil || len(p.shares) > 0 {
		return false
	}
	var batch, rows []loop
	var columns loop
	held := 1 // sums of a column
	for _, o := range loops {
		switch {
		case o.r == p.t.v:
			columns = o
		case p.batch(o.r):
			batch = append(batch, o)
		default:
			rows = append(rows, o)
			held *= o.n
		}
	}
	held *= p.t.held(every)
	times := 1
	if held > p.Target.ReadsAhead { // sums are read and written again with each few rows, which takes longer than what a cache holds
		times = beyondCaches
	}
	return columns.r != nil && p.scattered(p.t.r, p.t.v, times) && p.sweep(&p.out, batch, columns, rows, held, p.inner, p.lane)
}

// sweep writes the directives: held are the sums of a column, inner the axes of instances.
func (c *chooser) sweep(out *[]codegen.Directive, batch []loop, columns loop, rows []loop, held int, inner []string, lane string) bool {
	r, size := c.reds[0], max(1, c.reds[0].u.DType().Size())
	cache, shares := c.Target.L1/2, shareAxes/2 // sums of a share stay in the first cache,
	if held == 1 && !c.Target.OneStream && c.scattered(r, columns.r, beyondCaches) {
		cache, shares = c.Target.L2/4, shareAxes/4 // or in the second where memory is the limit, which gives more the longer a stream is
	}
	width := cache / (size * held * columns.block)
	ahead := codegen.CeilDiv(readBytes, size*columns.block)
	together := c.Target.ReadsAhead
	if most := columns.n / leastShares; most < ahead && c.Target.OneStream {
		ahead, together = most, 2*together
	}
	if width = min(width, max(ahead, codegen.CeilDiv(columns.n, shares))); width < 2 || ahead > columns.n/leastShares || 2*ahead*columns.block*size < readBytes {
		return false
	}
	parts := codegen.CeilDiv(columns.n, width)
	width = codegen.CeilDiv(columns.n, parts+parts%2) // an even number of them: two threads end together
	x, n := c.name(r.ranges[0]), rowsRead(codegen.Extent(r.ranges[0]), together)
	*out = append(*out, codegen.Directive{Verb: codegen.Split, Name: columns.name, N: width, Tail: rest(columns.n, width, codegen.Shift)},
		codegen.Directive{Verb: codegen.Split, Name: x, N: n, Tail: rest(codegen.Extent(r.ranges[0]), n, codegen.Guard)})
	share := thread(out, names(append(batch, loop{name: columns.name + ".0"})))
	sums := slices.Concat([]string{columns.name + ".1"}, names(rows), inner, []string{lane})
	*out = append(*out, codegen.Directive{Verb: codegen.Order, Axes: append([]string{share, x + ".0"}, sums...)}, codegen.Directive{Verb: codegen.Carry, Name: r.name, Axes: sums})
	return true
}

// sweeps gives the directives of a nest in which nothing is used twice, with lanes along v, where an operand is scattered; else nil.
func (c *streamer) sweeps(v *uop.UOp) (out []codegen.Directive) {
	if v == nil || len(c.reds) != 1 || c.anyLength() || !c.scattered(c.reds[0], v, 1) {
		return nil
	}
	var batch []loop
	for _, a := range c.g.Axes {
		if a.Range != v {
			batch = append(batch, loop{a.Name, codegen.Extent(a.Range), a.Range, 1, nil})
		}
		if !c.apart(a.Range) || !c.reds[0].free.Has(c.Facts.RangeID(a.Range)) {
			return nil
		}
	}
	lanes := 4 * c.width()
	outer, lane := c.cut(&out, c.name(v), codegen.Extent(v), lanes)
	if outer == "" {
		return nil
	}
	out = append(out, codegen.Directive{Verb: codegen.Vectors, Name: lane})
	if !c.sweep(&out, batch, loop{outer, codegen.CeilDiv(codegen.Extent(v), lanes), v, lanes, nil}, nil, 1, nil, lane) {
		return nil
	}
	return out
}
