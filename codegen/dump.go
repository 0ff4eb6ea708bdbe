package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/uop"
)

// PrintSpec prints what a kernel computes: the arrays that it is given, then each that it writes with its expression, a node a line.
func PrintSpec(s *Spec) string {
	var b strings.Builder
	for i, p := range s.Params {
		own := ""
		if p.Own {
			own = ", each thread's own"
		}
		fmt.Fprintf(&b, "p%d %s%v%s\n", i, p.DType.Short(), p.Dims, own)
	}
	for _, o := range s.Outs {
		b.WriteString(printOut(&o))
	}
	return b.String()
}

func printOut(o *Out) string {
	verb, gate := "=", ""
	if o.Merge != nil {
		verb = o.Merge.String()
	}
	if o.Once {
		verb = "once"
	}
	if o.Gate != nil {
		gate = fmt.Sprintf(" where %v", o.Gate)
	}
	return fmt.Sprintf("out p%d%v over %v %s %v%s\n%s", o.Param, o.Index, o.Axes, verb, o.Value, gate, uop.Print(o.expressions()...))
}

// expressions are the gate, if there is one, the index and the value.
func (o *Out) expressions() []*uop.UOp {
	out := append(slices.Clone(o.Index), o.Value)
	if o.Gate != nil {
		out = append([]*uop.UOp{o.Gate}, out...)
	}
	return out
}

// SpecNodes gives the node that each line of PrintSpec is about, nil where it is about none.
func SpecNodes(s *Spec) []*uop.UOp {
	out := make([]*uop.UOp, len(s.Params))
	for _, o := range s.Outs {
		out = append(append(out, nil), uop.Topo(o.expressions()...)...)
	}
	return out
}

// Dump prints a lowered kernel, one op a line: number, op, type, operands.
func Dump(p *Program) string {
	head := fmt.Sprintf("%s %s threads %d scratch %d\n", p.Name, p.Kinds, p.Threads, p.Scratch)
	if p.Directives != "" {
		head += "directives " + p.Directives + "\n"
	}
	if p.Guarded > 0 {
		head += fmt.Sprintf("guarded %d\n", p.Guarded)
	}
	return head + DumpBody(p.Body)
}

type dumper struct {
	strings.Builder
	names map[*uop.UOp]string
	n     int
}

// DumpBody prints the statements of a kernel on its way down.
func DumpBody(stmts []Stmt) string {
	d := &dumper{names: map[*uop.UOp]string{}}
	d.block(stmts, 0)
	return d.String()
}

func (d *dumper) line(depth int, format string, a ...any) {
	fmt.Fprintf(d, "%4d %s", d.n, strings.Repeat("  ", depth))
	fmt.Fprintf(d, format, a...)
	d.WriteByte('\n')
	d.n++
}

// name prints what an expression needs, and gives its own name.
func (d *dumper) name(u *uop.UOp, depth int, mine *[]*uop.UOp) string {
	uop.Walk([]*uop.UOp{u}, func(u *uop.UOp) bool { return d.names[u] != "" }, func(u *uop.UOp) {
		if len(u.Src()) == 0 {
			d.names[u] = u.String()
			if u.Op() == uop.Var {
				d.names[u] = u.Arg().(uop.VarArg).Name
			}
			return
		}
		var src []string
		for _, s := range u.Src() {
			src = append(src, d.names[s])
		}
		name := fmt.Sprintf("%%%d", d.n)
		d.line(depth, "%s.%s %s", u.Op(), u.DType().Short(), strings.Join(src, " "))
		d.names[u] = name
		*mine = append(*mine, u)
	})
	return d.names[u]
}

func (d *dumper) block(stmts []Stmt, depth int) {
	var mine []*uop.UOp
	for _, s := range stmts {
		var e []string
		for _, u := range Exprs(s) {
			e = append(e, d.name(u, depth, &mine))
		}
		switch s := s.(type) {
		case *Loop:
			kind := string(s.Kind.Letter())
			if s.Reduce {
				kind += " reduce"
			}
			if s.Count != nil {
				kind += fmt.Sprintf(" %v times", s.Count)
			}
			if s.Copies > 0 {
				kind += fmt.Sprintf(" copies %d", s.Copies)
			}
			if len(s.Splats) > 0 {
				kind += fmt.Sprintf(" splats %v", s.Splats)
			}
			d.line(depth, "loop %v %d %s", s.Range, Extent(s.Range), kind)
		case *If:
			d.line(depth, "if %s", e[0])
		case *Let:
			d.line(depth, "let %v.%s %s", s.Reg, s.Reg.DType().Short(), e[0])
		case *Set:
			d.line(depth, "set %v %s", s.Regs, strings.Join(e, " "))
		case *HorizontalReduce:
			d.line(depth, "fold %v %s over %v %s", s.Regs, s.Monoid, s.Range, strings.Join(e, " "))
		case *Store:
			d.line(depth, "store %v %s %s", s.Buf, strings.Join(e[1:], " "), e[0])
		case *MatrixProduct:
			d.line(depth, "matrix %v %d·%d·%d by %d %v %v + %s rows of %d, %v %v + %s rows of %d", s.Acc, s.Rows, s.Cols, s.Steps, s.Block,
				s.Types[0], s.A, e[0], s.ARow, s.Types[1], s.B, e[1], s.BRow)
		case *Four:
			d.line(depth, "four %v %v %s + 4·%d", s.Regs, s.Buf, e[0], s.At)
		case *Prefetch:
			d.line(depth, "prefetch%s %v %s", map[bool]string{true: " to write"}[s.Write], s.Buf, e[0])
		case *Splat:
			d.line(depth, "splat %v", s.Of)
		case *Alloc:
			d.line(depth, "alloc %v.%s %d%s", s.Buf, s.Buf.DType().Short(), s.N, map[bool]string{true: " workgroup"}[s.Shared])
		case *Sync:
			d.line(depth, "sync")
		case *Team:
			d.line(depth, "team %v %v %v", s.Lane, s.ID, s.Count)
		case *SubgroupReduce:
			d.line(depth, "subgroup %v %s", s.Reg, s.Op)
		}
		d.block(Body(s), depth+1)
	}
	for _, u := range mine {
		delete(d.names, u)
	}
}
