// Command laws prints where each law is written, a line a law: its name, a tab, its file and line. wasm/pack builds the engine for pages with
// it, as a module for pages does not know the lines of its source.
package main

import (
	"fmt"

	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/symbolic"
)

func main() {
	for _, r := range append(symbolic.Rules.All(), schedule.Laws()...) {
		fmt.Printf("%s\t%s\n", r.Name, r.At())
	}
}
