package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/weft-ml/weft/data"
)

// showColumns pictures stand beside each other, or as many as a terminal has room for.
const showColumns = 4

// gap is between pictures.
const gap = 2

// room is how many characters a line of what is printed has; 0: any number.
func (p *program) room() int {
	out := p.out
	if r, ok := out.(*results); ok {
		out = r.to
	}
	if f, ok := out.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// beside is how many pictures of a width stand beside each other.
func beside(width, room int) int {
	if room <= 0 {
		return showColumns
	}
	return min(showColumns, max(1, (room+gap)/(width+gap)))
}

// show prints what the network sees and says: the first pictures of the held-back ones and, if there
// are any, the first that it got wrong.
func (p *program) show(split data.Split, guesses []guess) {
	var first, wrong []int
	most := beside(captioned(split.W), p.room())
	for i, g := range guesses {
		if len(first) < most {
			first = append(first, i)
		} else if g.digit != split.Labels[i] && len(wrong) < most {
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
	width := captioned(split.W) + gap
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

// captioned is how many characters a picture takes with what is said below it.
func captioned(w int) int { return max(min(w, 40), 20) }

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
