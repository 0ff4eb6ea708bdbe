package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
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
func (b *grouper) throughSubgroups(us []*uop.UOp, v *nest.Axis) bool {
	if !b.Target.Features.Has(plan.Subgroups) || codegen.Extent(v.Range) != b.groupSize() || codegen.Extent(v.Range) < 2*leastSubgroup {
		return false
	}
	return !slices.ContainsFunc(us, func(u *uop.UOp) bool {
		parts, _ := codegen.ReduceParts(u)
		return subgroupReducers[codegen.MonoidOf(u)] == nil || slices.ContainsFunc(parts, func(p *uop.UOp) bool { return !subgroupTypes[p.DType()] })
	})
}

var subgroupTypes = map[dtype.DType]bool{dtype.F32: true, dtype.I32: true, dtype.U32: true}

// groupSize is how many invocations the Lane axes make: those of the output together, each one of a reduction by itself.
func (b *grouper) groupSize() int {
	outer, most := 1, 1
	for _, a := range b.ByRange {
		if a.Kind == codegen.Lane && a.Owner == "" {
			outer *= codegen.Extent(a.Range)
		} else if a.Kind == codegen.Lane {
			most = max(most, codegen.Extent(a.Range))
		}
	}
	return max(outer, most)
}

// reduceSubgroups ends the loop over an axis, in which each invocation has reduced its share (body) into registers of its own.
func (b *grouper) reduceSubgroups(us []*uop.UOp, v *nest.Axis, own [][]*uop.UOp, body []codegen.Stmt, regs [][]*uop.UOp) (out []codegen.Stmt) {
	team := &codegen.Team{Lane: b.reg(dtype.Index), ID: b.reg(dtype.Index), Count: b.reg(dtype.Index), Most: (codegen.Extent(v.Range) + leastSubgroup - 1) / leastSubgroup}
	for i, u := range us {
		body = append(body, subgroupReducers[codegen.MonoidOf(u)](b.builder, own[i])...)
	}
	var stores, merges []codegen.Stmt
	t := b.NewRange(team.Most, "")
	for i, u := range us {
		var left []*uop.UOp
		for _, r := range own[i] {
			buf := b.newScratch(r.DType(), codegen.Extent(t))
			out = append(out, &codegen.Alloc{Buf: buf, N: codegen.Extent(t), Shared: true})
			stores = append(stores, &codegen.Store{Buf: buf, Index: []*uop.UOp{team.ID}, Value: r})
			left = append(left, b.Table.Load(buf, b.Table.True(), t))
		}
		merges = append(merges, &codegen.Set{Regs: regs[i], Values: codegen.MonoidOf(u).Info().Merge(regs[i], left)})
	}
	body = append(body, &codegen.If{Cond: team.Lane.Equal(b.Table.Index(0)), Body: stores})
	return append(out, team, &codegen.Loop{Range: v.Range, Kind: codegen.Lane, Reduce: true, Body: body}, &codegen.Sync{},
		&codegen.Loop{Range: t, Count: team.Count, Body: merges}, &codegen.Sync{})
}

// subgroupReducers give what merges the parts of an element, which lie in registers, over a subgroup. What is not here goes through
// memory.
var subgroupReducers = map[uop.Monoid]func(b *builder, r []*uop.UOp) []codegen.Stmt{
	uop.Sum: func(_ *builder, r []*uop.UOp) []codegen.Stmt {
		return []codegen.Stmt{&codegen.SubgroupReduce{Reg: r[0], Op: uop.Add}}
	},
	uop.Prod: func(_ *builder, r []*uop.UOp) []codegen.Stmt {
		return []codegen.Stmt{&codegen.SubgroupReduce{Reg: r[0], Op: uop.Mul}}
	},
	uop.MaxOf: func(_ *builder, r []*uop.UOp) []codegen.Stmt {
		return []codegen.Stmt{&codegen.SubgroupReduce{Reg: r[0], Op: uop.Max}}
	},
	uop.ArgMax:  subgroupArgMax,
	uop.SumExp:  subgroupSumExp,
	uop.Moments: subgroupMoments,
}

// subgroupArgMax: of the places at which the largest value stands, the first. The complement turns the order of integers round.
func subgroupArgMax(b *builder, r []*uop.UOp) []codegen.Stmt {
	x, at := r[0], r[1]
	most, last := b.reg(x.DType()), b.Table.Int(at.DType(), -1)
	found := x.Equal(most)
	if x.DType().IsFloat() {
		found = found.Or(x.Equal(x).Not().And(most.Equal(most).Not()))
	}
	_, none := uop.IntLimits(at.DType())
	return []codegen.Stmt{
		&codegen.Let{Reg: most, Value: x}, &codegen.SubgroupReduce{Reg: most, Op: uop.Max},
		&codegen.Set{Regs: []*uop.UOp{at}, Values: []*uop.UOp{found.Where(at, b.Table.ConstOf(at.DType(), none)).Xor(last)}}, &codegen.SubgroupReduce{Reg: at, Op: uop.Max},
		&codegen.Set{Regs: r, Values: []*uop.UOp{most, at.Xor(last)}},
	}
}

// subgroupSumExp brings all sums to the common maximum, as merging does, and adds them.
func subgroupSumExp(b *builder, r []*uop.UOp) []codegen.Stmt {
	most := b.reg(r[0].DType())
	empty := make([]*uop.UOp, len(r))
	empty[0] = most
	for i, x := range r[1:] {
		empty[i+1] = x.Int(0)
	}
	out := []codegen.Stmt{&codegen.Let{Reg: most, Value: r[0]}, &codegen.SubgroupReduce{Reg: most, Op: uop.Max}, &codegen.Set{Regs: r, Values: uop.SumExp.Info().Merge(r, empty)}}
	for _, x := range r[1:] {
		out = append(out, &codegen.SubgroupReduce{Reg: x, Op: uop.Add})
	}
	return out
}

// subgroupMoments: the common mean first, then the squares about it.
func subgroupMoments(b *builder, r []*uop.UOp) []codegen.Stmt {
	n, mean, squares := r[0], r[1], r[2]
	all, sum := b.reg(n.DType()), b.reg(n.DType())
	common := all.Equal(all.Int(0)).Where(all.Int(0), sum.Div(all))
	d := mean.Sub(common)
	return []codegen.Stmt{
		&codegen.Let{Reg: all, Value: n}, &codegen.SubgroupReduce{Reg: all, Op: uop.Add}, &codegen.Let{Reg: sum, Value: n.Mul(mean)}, &codegen.SubgroupReduce{Reg: sum, Op: uop.Add},
		&codegen.Set{Regs: []*uop.UOp{squares}, Values: []*uop.UOp{squares.Add(n.Mul(d).Mul(d))}}, &codegen.SubgroupReduce{Reg: squares, Op: uop.Add},
		&codegen.Set{Regs: []*uop.UOp{n, mean}, Values: []*uop.UOp{all, common}},
	}
}
