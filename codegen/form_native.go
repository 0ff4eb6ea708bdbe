//go:build !js

package codegen

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// form is the kernel as it is now.
func (b *builder) form(pass string) *Form {
	f := &Form{Pass: pass, Target: b.target, Body: b.body, Guards: map[*uop.UOp]*uop.UOp{},
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

// checked asks Target.Check about what a pass has left.
func (b *builder) checked(pass string, check func(*Form) error) error {
	if check == nil {
		return nil
	}
	if err := check(b.form(pass)); err != nil {
		return fmt.Errorf("codegen: after pass %q, moves %q: %w", pass, MovesString(b.moves), err)
	}
	return nil
}
