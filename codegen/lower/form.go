package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// lowering is a kernel on its way down, after a pass.
type lowering struct {
	b    *builder
	pass string
}

// Form is the kernel as it is now.
func (l lowering) Form() *codegen.Form {
	b := l.b
	f := &codegen.Form{Pass: l.pass, Target: b.Target, Body: b.body, Guards: map[*uop.UOp]*uop.UOp{},
		Spec: &codegen.Spec{Home: b.Table, Params: b.Params, Vars: b.Vars, Outs: slices.Clone(b.Outs)}}
	for _, name := range nest.SortedAxes(b.Axes) {
		a := b.Axes[name]
		if a.Guard != nil {
			f.Guards[a.Range] = a.Guard
		}
		if a.Full >= 0 { // the last iteration is as long as the rest
			f.Guards[a.Range] = a.Range.Less(b.Table.Index(a.Full)).Or(a.Inner.Less(b.Table.Index(codegen.Extent(a.Rest))))
		}
	}
	return f
}
