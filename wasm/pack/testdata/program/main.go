// A program that leans on the tables that packing changes: stacks that grow, frames that the collector reads, panics.
package main

import (
	"fmt"
	"runtime"
	"sort"
)

// rest is what split looks for.
//
//go:wasmimport weft rest
func rest(function int32)

type tree struct {
	left, right *tree
	name        string
}

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{name: fmt.Sprint("leaf ", depth)}
	}
	t := &tree{name: fmt.Sprint(depth)}
	t.left = grow(depth - 1)
	if depth%3 == 0 {
		runtime.GC()
	}
	t.right = grow(depth - 1)
	return t
}

func (t *tree) size() int {
	if t == nil {
		return 0
	}
	return 1 + t.left.size() + t.right.size()
}

func deep(n int, row [16]int) int {
	row[n%16] += n
	if n == 0 {
		return row[0]
	}
	return deep(n-1, row) + row[n%16]
}

func recovered() (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	var list []int
	return fmt.Sprint(list[len(text)])
}

func main() {
	fmt.Println(grow(9).size(), deep(20000, [16]int{}), recovered())
	out := make(chan string)
	for i := range 5 {
		go func() { out <- fmt.Sprintf("%d: %v", i, 1.5*float64(i)) }()
	}
	runtime.GC() // while their frames are those of functions that did not begin
	var all []string
	for range 5 {
		all = append(all, <-out)
		runtime.GC()
	}
	sort.Strings(all)
	fmt.Println(all, map[string]int{"b": 2, "a": 1})
	rest(0)
}
