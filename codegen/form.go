package codegen

import "github.com/weft-ml/weft/uop"

// Form is a kernel as a pass leaves it: what Target.Check looks at.
type Form struct {
	Pass   string
	Target *Target
	Spec   *Spec
	// Guards are the conditions under which the iterations of a range count, while there are no statements.
	Guards map[*uop.UOp]*uop.UOp
	Body   []Stmt // nil until the tree is built; then Spec is of no use but for its Params and Vars
}
