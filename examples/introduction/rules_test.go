package introduction

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// A rule is an equation. Its left side is written with the method names of the graph; c and k stand for any constants.
// Here the right side is computed in Go.
func Example_rule() {
	c, k := rewrite.Const("c"), rewrite.Const("k")
	rules := rewrite.Rules("example", rewrite.Step("fold", c.Add(k), func(m *rewrite.Match) *uop.UOp {
		x, _ := m.Get(c).ConstInt()
		y, _ := m.Get(k).ConstInt()
		return m.Root.Int(x + y)
	}))
	t := uop.NewArena()
	two := t.Int(dtype.I32, 2)
	four := rules.Rewrite(t, two.Add(two))[0]
	fmt.Print("becomes\n" + uop.Print(four))
	fmt.Println(four == t.Int(dtype.I32, 4))
	// Output:
	// becomes
	//    0 const      i32   4
	// true
}

// Where both sides are patterns the rule is a law, which tests try on values. The same pattern spelled by op and by
// method is the same rule, and gives the identical node.
func Example_law() {
	x := rewrite.Any("x")
	byMethod := rewrite.Rules("by method",
		rewrite.Law("add zero", x.Add(rewrite.Int(0)), x), rewrite.Law("negative of negative", x.Neg().Neg(), x))
	byOp := rewrite.Rules("by op", rewrite.Law("zero added", rewrite.Op(uop.Add, x, rewrite.Int(0)), x))
	t := uop.NewArena()
	i := t.Range(0, 10, "i")
	sum := i.Add(t.Index(0))
	fmt.Println(byMethod.Rewrite(t, sum)[0] == i, byOp.Rewrite(t, sum)[0] == i)
	for _, r := range byMethod.All() {
		fmt.Println(r.Name+":", r.Left, "is", r.Right, "fired", r.Fired())
	}
	// Output:
	// true true
	// add zero: add(x, 0) is x fired 1
	// negative of negative: neg(neg(x)) is x fired 0
}
