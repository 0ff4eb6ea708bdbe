package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// A sum of n terms that are added one by one is wrong by n roundings, and those of many equal terms all go in the same direction: the mean of 20
// million rows of 0.1 was 0.1011. Loops that add more than longestChain terms to a register add blocks of them to
// one of their own first, and that to it (Higham, "The accuracy of floating point summation", 1993); so do the loops over blocks.

const (
	longestChain  = 1024 // terms that are added one by one
	chainBlock    = 256  // about as many are added in a block
	manySums      = 8    // registers that are added to
	longManyChain = 8192 // terms where there are more registers: with twice as many, compilers keep some in memory, inside the blocks too
)

// chains cuts long sums.
func (b *builder) chains(stmts []codegen.Stmt) []codegen.Stmt {
	out := make([]codegen.Stmt, 0, len(stmts))
	for _, s := range stmts {
		if inside := codegen.Body(s); inside != nil {
			s = codegen.WithBody(s, b.chains(inside))
		}
		if l, ok := s.(*codegen.Loop); ok && l.Kind == codegen.Serial && l.Reduce && l.Count == nil {
			out = append(out, b.cutChain(l)...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// cutChain cuts the sums of one loop, if they are long: into blocks of one size if that divides the loop, or if what is left over is simple enough
// to be written once more.
func (b *builder) cutChain(l *codegen.Loop) (out []codegen.Stmt) {
	var left []codegen.Stmt
	for {
		n, each := codegen.Extent(l.Range), 0
		regs := sums(l.Body)
		for _, r := range regs {
			each = max(each, addedTo(r, l.Body))
		}
		most := longestChain
		if len(regs) > manySums {
			most = longManyChain
		}
		if each == 0 || n*each <= most {
			return append([]codegen.Stmt{l}, left...)
		}
		wanted := max(1, chainBlock/each)
		block := divisorNear(n, wanted)
		if block == 0 && onlySets(l.Body) {
			block = wanted
		}
		if block == 0 || block == 1 && each == 1 {
			return append([]codegen.Stmt{l}, left...)
		}
		around, body := b.ownSums(regs, l.Body)
		if block > 1 {
			if from, rest := n-n%block, n%block; rest > 0 {
				left = append(left, b.over(l, rest, b.Table.Index(from), l.Body))
			}
			outer := *l
			outer.Range = b.NewRange(n/block, "")
			body = []codegen.Stmt{b.over(l, block, outer.Range.Mul(b.Table.Index(block)), body)}
			l = &outer
		}
		l = codegen.WithBody(l, slices.Concat(around[:len(regs)], body, around[len(regs):])).(*codegen.Loop)
	}
}

// over is a loop over n of another's iterations, from one of them on.
func (b *builder) over(l *codegen.Loop, n int, from *uop.UOp, body []codegen.Stmt) codegen.Stmt {
	part := *l
	part.Range = b.NewRange(n, "")
	w := b.rewriter()
	w.Done.Set(l.Range, from.Add(part.Range))
	part.Body = codegen.MapStmts(body, w.Do)
	return &part
}

// onlySets says that statements do nothing but assign.
func onlySets(stmts []codegen.Stmt) bool {
	return !slices.ContainsFunc(stmts, func(s codegen.Stmt) bool { _, ok := s.(*codegen.Set); return !ok })
}

// ownSums has statements add to registers of their own. It gives their declarations, then what adds them to the others.
func (b *builder) ownSums(regs []*uop.UOp, stmts []codegen.Stmt) (around, body []codegen.Stmt) {
	w := b.rewriter()
	around = make([]codegen.Stmt, 2*len(regs))
	for i, r := range regs {
		own := b.reg(r.DType())
		w.Done.Set(r, own)
		around[i] = &codegen.Let{Reg: own, Value: b.Table.ConstOf(r.DType(), 0)}
		around[len(regs)+i] = &codegen.Set{Regs: []*uop.UOp{r}, Values: []*uop.UOp{r.Add(own)}}
	}
	return around, codegen.MapStmts(stmts, w.Do)
}

func (b *builder) rewriter() *codegen.Rewriter {
	return &codegen.Rewriter{Table: b.Table, Fold: func(u *uop.UOp) *uop.UOp { return u }}
}

// addedTo is how often statements add to a register, one after the other.
func addedTo(r *uop.UOp, stmts []codegen.Stmt) (n int) {
	for _, s := range stmts {
		if set, ok := s.(*codegen.Set); ok && set.Regs[0] == r {
			n++
		}
		inside := addedTo(r, codegen.Body(s))
		if l, ok := s.(*codegen.Loop); ok {
			inside *= codegen.Extent(l.Range)
		}
		n += inside
	}
	return n
}

// divisorNear is a divisor of n that is about d, or 0.
func divisorNear(n, d int) int {
	for i := min(d, n/2); i > d/8 || i == d && i > 0; i-- {
		if n%i == 0 {
			return i
		}
	}
	for i := d + 1; i <= min(4*d, n/2); i++ {
		if n%i == 0 {
			return i
		}
	}
	return 0
}
