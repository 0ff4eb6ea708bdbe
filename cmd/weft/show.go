package main

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/data"
)

// showColumns pictures stand beside each other.
const showColumns = 4

// show prints what the network sees and says: the first pictures of the held-back ones and, if there
// are any, the first that it got wrong.
func (p *program) show(split data.Split, guesses []guess) {
	var first, wrong []int
	for i, g := range guesses {
		if len(first) < showColumns {
			first = append(first, i)
		} else if g.digit != split.Labels[i] && len(wrong) < showColumns {
			wrong = append(wrong, i)
		}
	}
	p.showRow(split, guesses, first)
	if len(wrong) > 0 {
		fmt.Fprintln(p.out, "Some that it got wrong:")
		p.showRow(split, guesses, wrong)
	}
}

func (p *program) showRow(split data.Split, guesses []guess, row []int) {
	width := max(min(split.W, 40), 20) + 2
	pictures := make([][]string, len(row))
	for i, n := range row {
		pictures[i] = picture(split.Image(n), split.H, split.W)
	}
	for y := range pictures[0] {
		var line strings.Builder
		for _, lines := range pictures {
			line.WriteString(pad(lines[y], width))
		}
		fmt.Fprintln(p.out, strings.TrimRight(line.String(), " "))
	}
	var line strings.Builder
	for _, n := range row {
		g := guesses[n]
		text := fmt.Sprintf("%d, %.0f %% sure", g.digit, 100*g.sure)
		if g.digit != split.Labels[n] {
			text += fmt.Sprintf(" (is %d)", split.Labels[n])
		}
		line.WriteString(pad(text, width))
	}
	fmt.Fprintf(p.out, "%s\n\n", strings.TrimRight(line.String(), " "))
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(1, width-len([]rune(s))))
}

// picture draws in characters, two rows of pixels a line because characters are twice as high as wide.
// Pictures wider than 40 are thinned out.
func picture(pixels []byte, h, w int) []string {
	shades := []rune(" ·:+*#█")
	by := (w + 39) / 40
	var lines []string
	for y := 0; y < h; y += 2 * by {
		var line strings.Builder
		for x := 0; x < w; x += by {
			sum, n := 0, 0
			for dy := range min(2*by, h-y) {
				for dx := range min(by, w-x) {
					sum += int(pixels[(y+dy)*w+x+dx])
					n++
				}
			}
			line.WriteRune(shades[sum*len(shades)/(256*n)])
		}
		lines = append(lines, line.String())
	}
	return lines
}
