// Command shaders writes the kernels of the conformance suite, of the cases recorded from PyTorch and of some graphs of
// real size for the graphics adapters that there are, and asks everyone whom they must get past: Chromium, which makes a
// pipeline of each; Tint, its compiler, with the features that its adapter here may lack; and naga, whose translations to
// Metal and HLSL macOS and Windows need. Nothing is computed, so no graphics driver is needed.
//
//	go run ./tests/shaders
//
// It ends with a line of the counts. A refusal is a failure, named with the message and the file of the shader, which is
// kept. Someone who is not there is said, and is a failure too.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "shaders:", err)
		os.Exit(1)
	}
}

// verdict is what one of those who are asked says.
type verdict struct {
	asked   []shader
	refused []refusal
}

type refusal struct {
	shader
	why string
}

// add notes what is said against a shader; nothing is an acceptance.
func (v *verdict) add(s shader, why string) {
	if why != "" {
		v.refused = append(v.refused, refusal{s, why})
	}
}

func (v *verdict) accepted() int { return len(v.asked) - len(v.refused) }

var errMissing = errors.New("it is not installed")

func missing(what string) error { return fmt.Errorf("%w: %s", errMissing, what) }

// mostPrinted is how many refusals of each are printed.
const mostPrinted = 10

func run() error {
	work, err := os.MkdirTemp("", "weft-shaders-")
	if err != nil {
		return err
	}
	begin := time.Now()
	all, err := suite(work)
	if err != nil {
		return errors.Join(err, os.RemoveAll(work))
	}
	tell("collected", begin)
	var chrome, tint, metal, hlsl verdict
	var missed error
	for _, ask := range []struct {
		name string
		do   func() error
	}{
		{"Tint", func() (err error) { tint, err = askTint(work, all); return err }},
		{"naga", func() (err error) { metal, hlsl, err = askNaga(work, all); return err }},
		{"Chromium", func() (err error) { chrome, err = askChromium(work, all); return err }},
	} {
		begin := time.Now()
		err := ask.do()
		if err != nil && !errors.Is(err, errMissing) {
			return fmt.Errorf("%s: %w", ask.name, err)
		}
		if err != nil {
			fmt.Printf("%s not asked: %v\n", ask.name, err)
			missed = errors.Join(missed, fmt.Errorf("%s: %w", ask.name, err))
			continue
		}
		tell(ask.name, begin)
	}
	err = errors.Join(missed, report("Chromium", chrome), report("Tint", tint), report("Metal", metal), report("HLSL", hlsl))
	fmt.Println(summary(all, chrome, tint, metal, hlsl))
	if err != nil {
		return fmt.Errorf("%w\nthe shaders are in %s", err, work)
	}
	return os.RemoveAll(work)
}

func tell(what string, since time.Time) {
	fmt.Printf("%-12s %.0f s\n", what, time.Since(since).Seconds())
}

// report prints refusals; it is an error if there are any.
func report(who string, v verdict) error {
	for _, r := range v.refused[:min(len(v.refused), mostPrinted)] {
		fmt.Printf("%s refuses %s (%s): %s\n", who, r.Name, filepath.Base(r.file), strings.TrimSpace(r.why))
	}
	if len(v.refused) > 0 {
		return fmt.Errorf("%s refuses %d shaders", who, len(v.refused))
	}
	return nil
}

// summary is the line of counts. What Chromium's adapter has no features for is counted apart: Tint has judged it.
func summary(all []shader, chrome, tint, metal, hlsl verdict) string {
	line := fmt.Sprintf("shaders %d: Chromium %d", len(all), chrome.accepted())
	if n := len(all) - len(chrome.asked); n > 0 && len(chrome.asked) > 0 {
		line += fmt.Sprintf(" of %d (%d need features that its adapter here has not: its compiler Tint alone)", len(chrome.asked), n)
	}
	return line + fmt.Sprintf(", Tint %d, Metal %d, HLSL %d", tint.accepted(), metal.accepted(), hlsl.accepted())
}
