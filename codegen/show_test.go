package codegen_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/weft-ml/weft/codegen"
)

func TestShow(t *testing.T) {
	if os.Getenv("SHOW") == "" {
		t.Skip()
	}
	m, _ := codegen.ParseMoves(os.Getenv("SHOW"))
	p, k := lower(t, productSpec(7, 40, 11).s, m)
	fmt.Println(codegen.Dump(p))
	fmt.Println(k.Source)
	p, k = lower(t, softmaxSpec(5, 37).s, nil)
	fmt.Println(codegen.Dump(p))
	fmt.Println(k.Source)
}
