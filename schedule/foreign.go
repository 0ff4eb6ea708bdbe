package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// foreignKernels is how kernels that a program wrote are scheduled; nil: there are none, as in a page, which does not link this.
var foreignKernels *foreignScheduling

type foreignScheduling struct {
	begin func(s *scheduler, roots []*uop.UOp) []*uop.UOp
	keep  func(s *scheduler, u *uop.UOp)
	lower func(s *scheduler, u *uop.UOp, bufFor func(u *uop.UOp) int) *kernel
}

// AllowForeign is called by whoever brings devices for such kernels.
func AllowForeign() {
	foreignKernels = &foreignScheduling{(*scheduler).foreign, (*scheduler).keepForeign, (*scheduler).lowerForeign}
}

// Untold is a kernel among what roots need that says in no way what it does in a language, or nil.
func Untold(language string, roots ...*uop.UOp) *uop.UOp {
	todo := slices.Clone(roots)
	var seen uop.Map[bool]
	for len(todo) > 0 {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if done, _ := seen.Get(u); done {
			continue
		}
		seen.Set(u, true)
		src := u.Src()
		if a, ok := u.Arg().(uop.ForeignArg); ok {
			if _, told := a.In(language); told {
				src = src[:a.Args]
			} else if src = src[a.Args:]; len(src) == 0 {
				return u
			}
		}
		todo = append(todo, src...)
	}
	return nil
}

// foreign leaves of kernels that the program wrote those with a text in the target's language, and puts in the place of the others the graph
// that does the same. The arguments of those that are left are arrays of their own, no two of a kernel the same.
func (s *scheduler) foreign(roots []*uop.UOp) []*uop.UOp {
	order := uop.Topo(roots...)
	if !slices.ContainsFunc(order, func(u *uop.UOp) bool { return u.Op() == uop.Foreign }) {
		return roots
	}
	return s.rebuilt(order, roots, func(u, v *uop.UOp, _ func(*uop.UOp) *uop.UOp) *uop.UOp {
		if a, ok := u.Arg().(uop.ForeignArg); ok {
			if _, told := a.In(s.config.Language); told {
				v = s.t.Make(uop.Foreign, v.DType(), a, distinct(v.Src()[:a.Args])...)
			} else {
				v = v.At(a.Args)
			}
		}
		return v
	})
}

// keepForeign has the arguments and the results of a kernel that the program wrote stored.
func (s *scheduler) keepForeign(u *uop.UOp) {
	s.keepWith(u, "a kernel of the program's own", "a kernel of the program's own reads it")
}

// lowerForeign passes on a kernel that the program wrote. All its results are written, also those that nobody asked for.
func (s *scheduler) lowerForeign(u *uop.UOp, bufFor func(u *uop.UOp) int) *kernel {
	a := u.Arg().(uop.ForeignArg)
	text, _ := a.In(s.config.Language)
	k := &kernel{node: u, spec: &codegen.Spec{Home: s.t, Foreign: &codegen.Foreign{Name: a.Name, Args: a.Args, ForeignText: text}}, made: s.made(u)}
	for _, x := range u.Src() {
		k.param(s.memoryOf(x), x.DType(), x.Shape())
	}
	for i, r := range a.All() {
		a.Result = i
		p := k.param(bufFor(s.t.Make(uop.Foreign, r.DType, a, u.Src()...)), r.DType, r.Shape)
		k.spec.Params[p].Write = true
	}
	return k
}
