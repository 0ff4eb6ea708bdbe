// Package table collects how many cases pass on which device, from as many test programs as there are, and puts them side by
// side: a program adds a row, which is a line of text, to the file that WEFT_TABLE names; tests/table/print prints them all.
//
// It refuses to know what a case is.
//
//	table.Add(table.Row{Suite: "conformance", Device: "CPU", Passed: 5000})
package table

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Row is what came of a suite of cases on a device.
type Row struct {
	Suite, Device          string
	Passed, Failed, NotYet int
}

func (r Row) String() string {
	cases := ""
	if r.Suite == "conformance" {
		cases = " cases"
	}
	return fmt.Sprintf("%s %s: %d%s passed, %d failed, %d not yet", r.Suite, r.Device, r.Passed, cases, r.Failed, r.NotYet)
}

var line = regexp.MustCompile(`(?m)^([a-z-]+) ([^:\n]+): (\d+)(?: cases)? passed, (\d+) failed, (\d+) not yet$`)

// Parse finds the rows in a text.
func Parse(text string) (rows []Row) {
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		number := func(i int) int { n, _ := strconv.Atoi(m[i]); return n }
		rows = append(rows, Row{m[1], m[2], number(3), number(4), number(5)})
	}
	return rows
}

// Add prints a row and adds it to the file WEFT_TABLE.
func Add(r Row) error {
	fmt.Println(r)
	name := os.Getenv("WEFT_TABLE")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("WEFT_TABLE: %w", err)
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, r)
	return err
}

// Print writes a line for each device with its suites side by side. Of several rows of a suite on a device the last counts.
func Print(w io.Writer, rows []Row) error {
	var suites, devices []string
	for _, r := range rows {
		if !slices.Contains(suites, r.Suite) {
			suites = append(suites, r.Suite)
		}
		if !slices.Contains(devices, r.Device) {
			devices = append(devices, r.Device)
		}
	}
	slices.Sort(suites)
	slices.Sort(devices)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "device\t%s\t\n", strings.Join(suites, "\tfailed\tnot yet\t")+"\tfailed\tnot yet")
	for _, d := range devices {
		fmt.Fprintf(t, "%s\t", d)
		for _, s := range suites {
			text := "\t\t\t"
			for _, r := range rows {
				if r.Device == d && r.Suite == s {
					text = fmt.Sprintf("%d\t%d\t%d\t", r.Passed, r.Failed, r.NotYet)
				}
			}
			fmt.Fprint(t, text)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
