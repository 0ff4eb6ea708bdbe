package schedule

import (
	"encoding/binary"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// A loop of a program is many kernels of which few are different: only those are compiled. Where each nest took as many kernels as it may, it would end
// somewhere else in a step each time, and all nests would be different. So what is there several times is joined first, and alike.

// likeness is what a kernel, or several that are nests of one, are, apart from which arrays they are made for. Kernels of the same form whose arrays
// are shared in the same way are one kernel.
type likeness struct {
	form   string // of each kernel, by its number
	bufs   []int  // of each Param of these
	from   []int  // the element of the buffer at which it begins
	number int    // the same for the same form, and arrays that are shared in the same way
}

// likenesses numbers what is different.
type likenesses struct {
	numbers map[string]int
	count   map[int]int // by number: nests that are left
}

func (l *likenesses) of(text string) int {
	n, ok := l.numbers[text]
	if !ok {
		n = len(l.numbers)
		l.numbers[text] = n
	}
	return n
}

// leaf is the likeness of a kernel.
func (l *likenesses) leaf(s *scheduler, k *kernel) (x likeness) {
	c := &kernel{spec: copied(k.spec), bufs: k.bufs}
	c.crop(s.t, 1)
	c = c.span(s.t, 1)
	canonicalRanges(c, s.t)
	x.form = string(binary.AppendUvarint(nil, uint64(l.of("form "+s.form(c)))))
	x.bufs, x.from = c.bufs, c.from
	x.number = l.of(x.form + x.shared())
	return x
}

// form is equal for equal kernels.
func (s *scheduler) form(k *kernel) string {
	var b []byte
	add := func(n int) { b = binary.AppendVarint(b, int64(n)) }
	for _, p := range k.spec.Params {
		add(int(p.DType))
		add(len(p.Dims))
		for _, n := range p.Dims {
			add(n)
		}
		if p.Write {
			b = append(b, 'w')
		}
	}
	var roots []*uop.UOp
	for _, o := range k.spec.Outs {
		add(o.Param)
		add(len(o.Axes))
		if o.Merge != nil {
			add(int(*o.Merge))
		}
		if o.Apart {
			b = append(b, 'a')
		}
		if o.Once {
			b = append(b, 'o')
		}
		roots = append(append(append(roots, o.Axes...), o.Index...), o.Gate, o.Value)
	}
	return string(b) + s.table.tuple(roots...)
}

// and is the likeness of two that run one after the other, without a number.
func (x likeness) and(y likeness) likeness {
	return likeness{form: x.form + y.form, bufs: slices.Concat(x.bufs, y.bufs), from: slices.Concat(x.from, y.from)}
}

// shared says which arrays are the same ones, and how far apart they begin.
func (x likeness) shared() string {
	first := map[int]int{}
	var b []byte
	for i, buf := range x.bufs {
		j, ok := first[buf]
		if !ok {
			j = i
			first[buf] = i
		}
		b = binary.AppendVarint(binary.AppendVarint(b, int64(j)), int64(x.from[i]-x.from[j]))
	}
	return string(b)
}

// pair is two nests that follow each other.
type follows struct {
	a, b   int // their numbers
	shared string
}

// mostAgain is how many nodes a kernel may have that are compiled in others too: a launch takes less than a millionth of the time that compiling so much does.
const mostAgain = 400

// repeats joins kernels of one thread that follow each other several times: first those that do each time, of which then fewer are to be compiled,
// and then those that do so most often.
func (n *nesting) repeats(list []*nested) []*nested {
	for {
		at, order := map[follows][]int{}, []follows{} // places of the first of two
		clear(n.count)
		for i, x := range list {
			n.count[x.like.number]++
			if i+1 == len(list) || !x.alone || !list[i+1].alone || !n.fit(x, list[i+1]) {
				continue
			}
			f := follows{x.like.number, list[i+1].like.number, x.like.and(list[i+1].like).shared()}
			if at[f] == nil {
				order = append(order, f)
			}
			at[f] = append(at[f], i)
		}
		worth := func(f follows) (times int) {
			times = len(at[f])
			first := at[f][0]
			switch {
			case f.a == f.b:
				times = (times + 1) / 2
			case times > 1 && times == n.count[f.a] && times == n.count[f.b]:
				return times + len(list)
			}
			if times < 2 || list[first].nodes+list[first+1].nodes > mostAgain {
				return 0
			}
			return times
		}
		best, most := follows{}, 0
		for _, f := range order {
			if w := worth(f); w > most {
				best, most = f, w
			}
		}
		if most == 0 {
			return list
		}
		list = n.joinAll(list, at[best], best.a == best.b)
	}
}

// joinAll joins what is at these places with what follows it. In a row of nests that are all alike, as many are joined as fit, about as many each time.
func (n *nesting) joinAll(list []*nested, places []int, rows bool) (out []*nested) {
	for i := 0; i < len(list); {
		if len(places) == 0 || i < places[0] {
			out = append(out, list[i])
			i++
			continue
		}
		end := i + 2
		for places = places[1:]; rows && len(places) > 0 && places[0] == end-1; places = places[1:] {
			end++
		}
		row := list[i:end]
		most := 1
		for both := []*nested{row[0]}; most < len(row) && n.fit(append(both, row[most])...) && (!rows || (most+1)*row[0].nodes <= mostAgain); most++ {
			both = append(both, row[most])
		}
		for groups := (len(row) + most - 1) / most; groups > 0; groups-- {
			m := (len(row) + groups - 1) / groups
			for _, k := range row[1:m] {
				n.addNests(row[0].k, k.k, nil, nil)
				n.join(row[0], k)
			}
			out = append(out, row[0])
			row = row[m:]
		}
		i = end
	}
	return out
}

// fit says that nests are not too much for one kernel.
func (n *nesting) fit(list ...*nested) bool {
	nests, loops := 0, 0
	bufs := map[int]bool{}
	for _, x := range list {
		nests, loops = nests+x.nests, loops+x.loops
		for b := range x.uses {
			bufs[b] = true
		}
	}
	return nests <= n.config.Nests.Most && loops <= maxNestLoops && len(bufs) <= maxGroupParams
}
