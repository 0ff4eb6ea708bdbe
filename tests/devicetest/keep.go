package devicetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weft-ml/weft/uop"
)

// keep writes what is known of a batch that failed to a file, before anything is computed again: what was wrong, the
// plan with its kernels, and the cases with their inputs. The folder is WEFT_FAILED, which CI prints, or lies among the temporary
// files. It returns where the file is.
func (r *runner) keep(first string, cases []Case) string {
	dir := getenv("WEFT_FAILED", filepath.Join(os.TempDir(), "weft-failed"))
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s, WEFT_SEED=%d\n%s\n", r.t.Name(), r.dev.Name(), r.seed, first)
	for _, c := range cases {
		fmt.Fprintf(&b, "case %s\n", c.Name)
	}
	fmt.Fprintf(&b, "\n%s\n", r.plan(cases))
	for _, c := range cases {
		fmt.Fprintf(&b, "\ninputs of %s\n%s", c.Name, r.leaves(c))
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.txt", strings.ReplaceAll(r.t.Name(), "/", "-"), time.Now().UnixNano()))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "not kept: " + err.Error()
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		return "not kept: " + err.Error()
	}
	return "kept in " + path
}

// leaves prints the arrays that a case begins with.
func (r *runner) leaves(c Case) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text += fmt.Sprintln("no inputs: ", p)
		}
	}()
	for _, u := range uop.Topo(c.Build(newInputs(r.ref, c.seed))...) {
		if u.Op() != uop.Buffer {
			continue
		}
		raw := make([]byte, u.Shape().Numel()*u.DType().Size())
		if err := r.ref.Read(r.t.Context(), u, raw); err != nil {
			text += fmt.Sprintln(u, err)
			continue
		}
		text += fmt.Sprintf("%v %v %x\n", u.DType(), u.Shape(), raw)
	}
	return text
}
