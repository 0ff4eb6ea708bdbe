// Command print prints the rows that tests wrote to the file WEFT_TABLE as one table. It refuses to run any test.
//
//	WEFT_TABLE=$PWD/rows go test ./tests/... ; go run ./tests/table/print rows
package main

import (
	"fmt"
	"os"

	"github.com/weft-ml/weft/tests/table"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: print file (one that WEFT_TABLE named)")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = table.Print(os.Stdout, table.Parse(string(text)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "print:", err)
		os.Exit(1)
	}
}
