package codegen_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/model"
)

func TestShow(t *testing.T) {
	if os.Getenv("SHOW") == "" {
		t.Skip()
	}
	for i, n := range nine {
		if n.name == os.Getenv("SHOW") {
			k := n.spec()
			p, kernel := lowered(t, k.s, nineDirectives(t, i, k.s))
			fmt.Println(codegen.Dump(p))
			fmt.Println(kernel.Source)
		}
	}
}

func TestShowChoice(t *testing.T) {
	if os.Getenv("SHOW") == "" {
		t.Skip()
	}
	for _, n := range nine {
		k := n.spec()
		fmt.Println(n.name, ":", codegen.DirectivesString(model.Choose(k.s, target())))
	}
}
