package formats

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/gguf"
)

// Describe writes what a file of weights holds: its texts, then a line for each tensor with type, shape and bytes, packed types as they are
// stored, and the sums. Texts longer than a line are cut.
func Describe(out io.Writer, f weights.File) error {
	if u, ok := f.(interface{ Packed() *gguf.File }); ok {
		f = u.Packed()
	}
	meta := f.Metadata()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		fmt.Fprintf(w, "%s\t%s\n", printable(key), printable(meta[key]))
	}
	var elements, bytes int64
	names := f.Names()
	if len(meta) > 0 && len(names) > 0 {
		fmt.Fprintln(w)
	}
	for _, name := range names {
		info, _ := f.Info(name)
		shape, n := []string{}, int64(1)
		for _, d := range info.Shape {
			shape = append(shape, fmt.Sprint(d))
			n *= d
		}
		fmt.Fprintf(w, "%s\t%s\t[%s]\t%d bytes\n", printable(name), info.DType, strings.Join(shape, " "), info.Bytes)
		elements += n
		bytes += info.Bytes
	}
	fmt.Fprintf(w, "%d tensors, %d elements, %d bytes\n", len(names), elements, bytes)
	return w.Flush()
}

// printable is a text of a file on one line of at most 80 characters, without what a terminal would obey.
func printable(s string) string {
	runes := []rune(s)
	cut := len(runes) > 80
	if cut {
		runes = runes[:77]
	}
	quoted := fmt.Sprintf("%q", string(runes))
	quoted = quoted[1 : len(quoted)-1]
	if cut {
		quoted += "…"
	}
	return strings.ReplaceAll(quoted, `\"`, `"`)
}
