package engine

import (
	"fmt"

	"github.com/weft-ml/weft/uop"
)

// untold says that an engine cannot run a kernel that is text in other languages.
func untold(u *uop.UOp, name, runs string) error {
	a, languages := u.Arg().(uop.ForeignArg), ""
	for _, t := range a.Texts {
		if t.Text != "" {
			languages += ", " + t.Language
		}
	}
	return fmt.Errorf("the kernel %s is text in %s, and %s runs %s; give it text in that too, or state in UnsafeOptions.Same what it computes in operations of tensors",
		a.Name, languages[2:], name, runs)
}
