package engine

import (
	"fmt"

	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// untoldBy says why roots cannot be computed on an engine by what it runs; nil: nobody looks, as no kernel is text. A page has none and does not link it.
var untoldBy func(name, language, runs string, roots []*uop.UOp) error

// AllowForeign is called by whoever brings devices for kernels that are text (package backends).
func AllowForeign() {
	schedule.AllowForeign()
	lower.AllowForeign()
	untoldBy = func(name, language, runs string, roots []*uop.UOp) error {
		if u := schedule.Untold(language, roots...); u != nil {
			return untold(u, name, runs)
		}
		return nil
	}
}

// untold says that an engine cannot run a kernel that is text in other languages.
func untold(u *uop.UOp, name, runs string) error {
	a, languages := u.Arg().(uop.ForeignArg), ""
	for _, t := range a.Texts {
		if t.Text != "" {
			languages += ", " + t.Language
		}
	}
	return fmt.Errorf("the kernel %s is text in %s, and %s runs %s; give it text in that too, or state what is the same in operations of tensors",
		a.Name, languages[2:], name, runs)
}
