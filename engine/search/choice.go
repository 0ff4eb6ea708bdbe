package search

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weft-ml/weft/codegen/tune"
)

// Choice is what was found for a kernel on a machine: plain data that is kept, and shipped with programs.
type Choice struct {
	Key     string // of the kernel and of what its code depends on, in hexadecimal digits
	Machine string // where it was measured
	Name    string // of the model's kernel, for people
	// Seconds of one run.
	ModelSeconds, BestSeconds float64
	// Model and Best are lists of directives. A choice counts only as long as the model's list is the one given here.
	Model, Best string
	Complete    bool // the search ended by itself
}

// What is kept is text: a first line with the version, then a line a choice, of fields separated by tabs.
const version = "weft directives 1"

// Limits of that text, whoever wrote it.
const (
	MostBytes = 16 << 20
	mostLine  = 12 << 10
	mostWord  = 200 // bytes of a machine's and a kernel's name
	keyDigits = 64
)

// FormatChoices writes what ParseChoices reads.
func FormatChoices(list []Choice) []byte {
	var b strings.Builder
	b.WriteString(version + "\n")
	f := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, c := range list {
		ended := "whole"
		if !c.Complete {
			ended = "partial"
		}
		b.WriteString(strings.Join([]string{c.Key, Word(c.Machine), Word(c.Name), f(c.ModelSeconds), f(c.BestSeconds), c.Model, c.Best, ended}, "\t") + "\n")
	}
	return []byte(b.String())
}

// Word makes a name one that a line can hold.
func Word(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == utf8.RuneError || r == 0x7f }), " ")
	for len(s) > mostWord {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}

// ParseChoices reads choices that anybody may have written. That their directives are lists of directives is all that is known then:
// whether a kernel may run so is for tune.Allowed to say.
func ParseChoices(text []byte) ([]Choice, error) {
	if len(text) > MostBytes {
		return nil, fmt.Errorf("kept directives: %d bytes are more than %d", len(text), MostBytes)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if lines[0] != version {
		return nil, fmt.Errorf("kept directives: the first line is not %q: it is no file of kept directives, or one of another version of Weft", version)
	}
	var out []Choice
	for i, l := range lines[1:] {
		c, err := parseChoice(l)
		if err != nil {
			return nil, fmt.Errorf("kept directives: line %d: %w", i+2, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func parseChoice(line string) (c Choice, err error) {
	if len(line) > mostLine || !utf8.ValidString(line) {
		return c, fmt.Errorf("it is longer than %d bytes, or no text", mostLine)
	}
	f := strings.Split(line, "\t")
	if len(f) != 8 {
		return c, fmt.Errorf("%d fields, not 8", len(f))
	}
	c = Choice{Key: f[0], Machine: f[1], Name: f[2], Model: f[5], Best: f[6], Complete: f[7] == "whole"}
	if _, err := hex.DecodeString(c.Key); err != nil || len(c.Key) != keyDigits || c.Key != strings.ToLower(c.Key) {
		return c, fmt.Errorf("the key is not %d hexadecimal digits", keyDigits)
	}
	if c.Machine != Word(c.Machine) || c.Name != Word(c.Name) || !c.Complete && f[7] != "partial" {
		return c, errors.New("it has another form")
	}
	for i, at := range []*float64{&c.ModelSeconds, &c.BestSeconds} {
		if *at, err = strconv.ParseFloat(f[3+i], 64); err != nil || !(*at >= 0) || math.IsInf(*at, 0) {
			return c, fmt.Errorf("%.20q is no time", f[3+i])
		}
	}
	for _, text := range []string{c.Model, c.Best} {
		if _, err := tune.Parse(text); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Ratio is the time of the best by that of the model's: 1 where the model's was not beaten.
func (c *Choice) Ratio() float64 {
	if !(c.BestSeconds > 0) || !(c.ModelSeconds > 0) {
		return 1
	}
	return min(1, c.BestSeconds/c.ModelSeconds)
}

// Sort orders choices by machine, name and key.
func Sort(list []Choice) {
	slices.SortFunc(list, func(a, b Choice) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
}
