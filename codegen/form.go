package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Form is a kernel as a pass leaves it: what Target.Check looks at.
type Form struct {
	Pass   string
	Target *Target
	Spec   *Spec
	// Guards are the conditions under which the iterations of a range count, while there are no statements.
	Guards map[*uop.UOp]*uop.UOp
	Body   []Stmt // nil until the tree is built; then Spec is of no use but for its Params and Vars
}

// Lowering is a kernel on its way down, after a pass.
type Lowering struct {
	b    *builder
	pass string
}

// Form is the kernel as it is now. Nobody but checks asks, so that programs without them do not hold it.
func (l Lowering) Form() *Form {
	b := l.b
	f := &Form{Pass: l.pass, Target: b.target, Body: b.body, Guards: map[*uop.UOp]*uop.UOp{},
		Spec: &Spec{Home: b.t, Params: b.params, Vars: b.vars, Outs: slices.Clone(b.outs)}}
	for _, name := range sortedAxes(b.axes) {
		a := b.axes[name]
		if a.guard != nil {
			f.Guards[a.r] = a.guard
		}
		if a.full >= 0 { // the last iteration is as long as the rest
			f.Guards[a.r] = a.r.Less(b.t.Index(a.full)).Or(a.inner.Less(b.t.Index(extent(a.rest))))
		}
	}
	return f
}
