package c

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/plan"
)

// foreign puts the text of a kernel behind a declaration of what it defines, with which a compiler compares it, and before the entry that calls it.
func foreign(p *codegen.Program) plan.Kernel {
	k := codegen.ForeignKernel(p)
	var declared, given strings.Builder
	for i, q := range p.Params {
		t := stored(q.DType)
		if i < p.Foreign.Args {
			t = "const " + t
		}
		fmt.Fprintf(&declared, "%s *%s, ", t, p.ForeignName(i))
		fmt.Fprintf(&given, "(%s *)buf[%d], ", t, i)
	}
	k.Entry = codegen.Entry("c", p.Name, declared.String(), p.Foreign.Text)
	k.Source = fmt.Sprintf("// %s\n#define kernel %s_own\nstatic void kernel(%sint32_t lo, int32_t hi);\n#line 1 \"%[1]s\"\n%[4]s\n#line 1 \"entry of %[1]s\"\n"+
		"void %[2]s(char *const *buf, const int32_t *var, char *scratch, int32_t lo, int32_t hi) {\n\tkernel(%[5]slo, hi);\n}\n",
		p.Name, k.Entry, declared.String(), p.Foreign.Text, given.String())
	return k
}
