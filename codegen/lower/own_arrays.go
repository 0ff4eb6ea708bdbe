package lower

import (
	"github.com/weft-ml/weft/uop"

	"github.com/weft-ml/weft/codegen"
)

// ownArrays puts scratch in the place of arrays of a thread's own, and gives what opens it.
func (b *builder) ownArrays() []codegen.Stmt {
	var out []codegen.Stmt
	for i, p := range b.Params {
		if !p.Own {
			continue
		}
		if b.own == nil {
			b.own = map[int]*uop.UOp{}
		}
		n := b.param(i).Arg().(uop.ParamArg).N
		b.own[i] = b.newScratch(p.DType, n)
		out = append(out, &codegen.Alloc{Buf: b.own[i], N: n, Shared: false})
	}
	if out == nil {
		return nil
	}
	b.Rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if u.Op() == uop.Load {
			if slot := u.At(0).Arg().(uop.ParamArg).Slot; b.own[slot] != nil {
				return b.Table.Load(b.own[slot], src[1], b.Linear(slot, src[2:]).Node(b.Table))
			}
		}
		return codegen.Remake(b.Table, u, src)
	})
	for i := range b.Outs {
		if o := &b.Outs[i]; b.own[o.Param] != nil {
			o.Index = []*uop.UOp{b.Linear(o.Param, o.Index).Node(b.Table)}
		}
	}
	return out
}
