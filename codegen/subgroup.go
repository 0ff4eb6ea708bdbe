package codegen

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// Where subgroups are offered, the parts of a reduction are merged within each of them first, without memory and without
// waiting; then every invocation merges what the few subgroups have left in the workgroup's memory. How many of them there
// are, and which invocations are in which, is asked of the device while it runs.

// leastSubgroup is how many invocations a subgroup has at least.
const leastSubgroup = 4

// throughSubgroups says that reductions over a Lane axis go through subgroups: they are offered, all invocations of the workgroup
// take part, and the language can merge the parts.
func (b *builder) throughSubgroups(us []*uop.UOp, v *axis) bool {
	if !b.target.Features.Has(plan.Subgroups) || extent(v.r) != b.groupSize() || extent(v.r) < 2*leastSubgroup {
		return false
	}
	return !slices.ContainsFunc(us, func(u *uop.UOp) bool {
		parts, _ := reduceParts(u)
		return subgroupReducers[monoidOf(u)] == nil || slices.ContainsFunc(parts, func(p *uop.UOp) bool { return !subgroupTypes[p.DType()] })
	})
}

var subgroupTypes = map[dtype.DType]bool{dtype.F32: true, dtype.I32: true, dtype.U32: true}

// groupSize is how many invocations the Lane axes make: those of the output together, each one of a reduction by itself.
func (b *builder) groupSize() int {
	outer, most := 1, 1
	for _, a := range b.byR {
		if a.kind == Lane && a.owner == "" {
			outer *= extent(a.r)
		} else if a.kind == Lane {
			most = max(most, extent(a.r))
		}
	}
	return max(outer, most)
}

// reduceSubgroups ends the loop over an axis, in which each invocation has reduced its share (body) into registers of its own.
func (b *builder) reduceSubgroups(us []*uop.UOp, v *axis, own [][]*uop.UOp, body []Stmt, regs [][]*uop.UOp) (out []Stmt) {
	team := &Team{b.reg(dtype.Index), b.reg(dtype.Index), b.reg(dtype.Index), (extent(v.r) + leastSubgroup - 1) / leastSubgroup}
	for i, u := range us {
		body = append(body, subgroupReducers[monoidOf(u)](b, own[i])...)
	}
	var stores, merges []Stmt
	t := b.newRange(team.Most, "")
	for i, u := range us {
		var left []*uop.UOp
		for _, r := range own[i] {
			buf := b.newScratch(r.DType(), extent(t))
			out = append(out, &Alloc{buf, extent(t), true})
			stores = append(stores, &Store{buf, []*uop.UOp{team.ID}, r})
			left = append(left, b.t.Load(buf, b.t.True(), t))
		}
		merges = append(merges, &Set{regs[i], monoidOf(u).Info().Merge(regs[i], left)})
	}
	body = append(body, &If{team.Lane.Equal(b.t.Index(0)), stores})
	return append(out, team, &Loop{Range: v.r, Kind: Lane, Reduce: true, Body: body}, &Sync{},
		&Loop{Range: t, Count: team.Count, Body: merges}, &Sync{})
}

// subgroupReducers give what merges the parts of an element, which lie in registers, over a subgroup. What is not here goes through
// memory.
var subgroupReducers = map[uop.Monoid]func(b *builder, r []*uop.UOp) []Stmt{
	uop.Sum:     func(_ *builder, r []*uop.UOp) []Stmt { return []Stmt{&SubgroupReduce{r[0], uop.Add}} },
	uop.Prod:    func(_ *builder, r []*uop.UOp) []Stmt { return []Stmt{&SubgroupReduce{r[0], uop.Mul}} },
	uop.MaxOf:   func(_ *builder, r []*uop.UOp) []Stmt { return []Stmt{&SubgroupReduce{r[0], uop.Max}} },
	uop.ArgMax:  subgroupArgMax,
	uop.SumExp:  subgroupSumExp,
	uop.Moments: subgroupMoments,
}

// subgroupArgMax: of the places at which the largest value stands, the first. The complement turns the order of integers round.
func subgroupArgMax(b *builder, r []*uop.UOp) []Stmt {
	x, at := r[0], r[1]
	most, last := b.reg(x.DType()), b.t.Int(at.DType(), -1)
	found := x.Equal(most)
	if x.DType().IsFloat() {
		found = found.Or(x.Equal(x).Not().And(most.Equal(most).Not()))
	}
	_, none := uop.IntLimits(at.DType())
	return []Stmt{
		&Let{most, x}, &SubgroupReduce{most, uop.Max},
		&Set{[]*uop.UOp{at}, []*uop.UOp{found.Where(at, b.t.ConstOf(at.DType(), none)).Xor(last)}}, &SubgroupReduce{at, uop.Max},
		&Set{r, []*uop.UOp{most, at.Xor(last)}},
	}
}

// subgroupSumExp brings all sums to the common maximum, as merging does, and adds them.
func subgroupSumExp(b *builder, r []*uop.UOp) []Stmt {
	most := b.reg(r[0].DType())
	empty := make([]*uop.UOp, len(r))
	empty[0] = most
	for i, x := range r[1:] {
		empty[i+1] = x.Int(0)
	}
	out := []Stmt{&Let{most, r[0]}, &SubgroupReduce{most, uop.Max}, &Set{r, uop.SumExp.Info().Merge(r, empty)}}
	for _, x := range r[1:] {
		out = append(out, &SubgroupReduce{x, uop.Add})
	}
	return out
}

// subgroupMoments: the common mean first, then the squares about it.
func subgroupMoments(b *builder, r []*uop.UOp) []Stmt {
	n, mean, squares := r[0], r[1], r[2]
	all, sum := b.reg(n.DType()), b.reg(n.DType())
	common := all.Equal(all.Int(0)).Where(all.Int(0), sum.Div(all))
	d := mean.Sub(common)
	return []Stmt{
		&Let{all, n}, &SubgroupReduce{all, uop.Add}, &Let{sum, n.Mul(mean)}, &SubgroupReduce{sum, uop.Add},
		&Set{[]*uop.UOp{squares}, []*uop.UOp{squares.Add(n.Mul(d).Mul(d))}}, &SubgroupReduce{squares, uop.Add},
		&Set{[]*uop.UOp{n, mean}, []*uop.UOp{all, common}},
	}
}
