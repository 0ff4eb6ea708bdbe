// Command compare tells two folders of kernels apart, as make kernels writes them: what a change called refactor must not do.
//
//	make kernels DIR=before
//	make kernels DIR=after
//	go run ./tests/kernels/compare before after
//
// It prints, for each device, how many kernels are the same, and for each shape whose kernels differ the directives of both
// and the first line that differs. It ends with 1 where anything differs. It refuses to know which of both is better.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: compare before after")
		os.Exit(2)
	}
	out := bufio.NewWriter(os.Stdout)
	different, err := compare(out, os.Args[1], os.Args[2])
	if err := errors.Join(err, out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if different > 0 {
		os.Exit(1)
	}
}

// kernels are texts by device and by name; several kernels may have the same name.
type kernels map[string]map[string][]string

func read(dir string) (kernels, error) {
	all := kernels{}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no kernels in %s: make kernels DIR=%[1]s writes them", dir)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		device := filepath.Base(filepath.Dir(f))
		base := strings.TrimSuffix(filepath.Base(f), ".txt")
		name, entry := base, "entry"
		if i := strings.LastIndexByte(base, '-'); i >= 0 { // the entry follows from the text, and stands in it
			name, entry = base[:i], base[i+1:]
		}
		if all[device] == nil {
			all[device] = map[string][]string{}
		}
		all[device][name] = append(all[device][name], strings.ReplaceAll(string(text), entry, "entry"))
	}
	return all, nil
}

// compare writes the differences and counts them.
func compare(out io.Writer, before, after string) (different int, err error) {
	a, err := read(before)
	if err != nil {
		return 0, err
	}
	b, err := read(after)
	if err != nil {
		return 0, err
	}
	for _, device := range union(a, b) {
		same, gone, new := 0, 0, 0
		for _, name := range union(a[device], b[device]) {
			old, now := without(a[device][name], b[device][name]), without(b[device][name], a[device][name])
			same += len(a[device][name]) - len(old)
			gone, new = gone+len(old), new+len(now)
			for i := range max(len(old), len(now)) {
				tell(out, device, name, at(old, i), at(now, i))
			}
		}
		fmt.Fprintf(out, "%s: %d the same, %d only before, %d only after\n", device, same, gone, new)
		different += gone + new
	}
	return different, nil
}

// tell prints the first line in which two texts differ; an empty text is none.
func tell(out io.Writer, device, name, old, now string) {
	switch {
	case old == "":
		fmt.Fprintf(out, "%s %s: only after\n", device, name)
	case now == "":
		fmt.Fprintf(out, "%s %s: only before\n", device, name)
	default:
		a, b := strings.Split(old, "\n"), strings.Split(now, "\n")
		for i := range max(len(a), len(b)) {
			if at(a, i) != at(b, i) {
				fmt.Fprintf(out, "%s %s: line %d\n\t- %s\n\t+ %s\n", device, name, i+1, at(a, i), at(b, i))
				return
			}
		}
	}
}

func at(s []string, i int) string {
	if i < len(s) {
		return s[i]
	}
	return ""
}

// without is what a has and b has not, in order.
func without(a, b []string) (rest []string) {
	for _, t := range a {
		if !slices.Contains(b, t) {
			rest = append(rest, t)
		}
	}
	slices.Sort(rest)
	return rest
}

// union is the sorted names of both.
func union[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
