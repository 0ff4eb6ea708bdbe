package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// Plots are SVG that browsers show light or dark. The axis is the logarithm of the ratio: to the right of 1 Weft is faster.

const plotStyle = `text{font:12px system-ui,sans-serif;fill:#24292f}.small{font-size:11px;fill:#57606a}.grid{stroke:#d0d7de}.one{stroke:#57606a}
.fast{fill:#0969da;stroke:#0969da}.slow{fill:#bc4c00;stroke:#bc4c00}.mean{stroke:#24292f;stroke-width:3}.whisker{stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.grid{stroke:#3d444d}.one{stroke:#9198a1}
.fast{fill:#58a6ff;stroke:#58a6ff}.slow{fill:#f0883e;stroke:#f0883e}.mean{stroke:#e6edf3}}`

const (
	plotWidth = 900.0
	plotLeft  = 210.0 // labels
	plotRight = 60.0
	plotTop   = 50.0
)

// axis maps ratios to places.
type axis struct{ from, to float64 } // powers of two

// axisOf has room for all ratios and 1.
func axisOf(ratios []float64) axis {
	a := axis{-1, 1}
	for _, r := range ratios {
		if r > 0 {
			a.from, a.to = min(a.from, math.Floor(math.Log2(r))), max(a.to, math.Ceil(math.Log2(r)))
		}
	}
	return a
}

// x is the place of a ratio; what lies beyond an end is shown there.
func (a axis) x(ratio float64) float64 {
	at := min(max(math.Log2(ratio), a.from), a.to)
	return plotLeft + (plotWidth-plotLeft-plotRight)*(at-a.from)/(a.to-a.from)
}

// picture is an SVG in the making.
type picture struct {
	strings.Builder
}

func newPicture(title string, a axis, height float64) *picture {
	p := &picture{}
	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %g %g" width="%g" height="%g">`+"\n<title>%s</title>\n<style>%s</style>\n",
		plotWidth, height, plotWidth, height, escape(title), plotStyle)
	p.text("small", "end", a.x(1)-10, 14, "\u2190 others are faster")
	p.text("small", "start", a.x(1)+10, 14, "Weft is faster \u2192")
	for e := a.from; e <= a.to; e++ {
		class := "grid"
		if e == 0 {
			class = "one"
		}
		x := a.x(math.Exp2(e))
		p.line(class, x, plotTop-8, x, height-8)
		p.text("small", "middle", x, plotTop-14, ratioLabel(e))
	}
	return p
}

// ratioLabel writes a power of two.
func ratioLabel(e float64) string {
	if e < 0 {
		return fmt.Sprintf("1/%g", math.Exp2(-e))
	}
	return fmt.Sprintf("%g", math.Exp2(e))
}

func (p *picture) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(p, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", class, x1, y1, x2, y2)
}

func (p *picture) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(p, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, anchor, x, y, escape(s))
}

// dot is a case; a browser shows its title under the pointer.
func (p *picture) dot(x, y, ratio float64, title string) {
	fmt.Fprintf(p, `<circle class="%s" cx="%.1f" cy="%.1f" r="4"><title>%s</title></circle>`+"\n", speed(ratio), x, y, escape(title))
}

func (p *picture) end() string { return p.String() + "</svg>\n" }

func speed(ratio float64) string {
	if ratio >= 1 {
		return "fast"
	}
	return "slow"
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}

// groupPlot has a line for each group: a dot for each case, a stroke at the geometric mean.
func (r *record) groupPlot() string {
	const step = 28.0
	var ratios []float64
	for _, x := range r.Rows {
		ratios = append(ratios, x.figures(r.Limits).ratio)
	}
	a := axisOf(ratios)
	var shown []group
	for _, g := range groups {
		if geomean(r.of(g)).n > 0 {
			shown = append(shown, g)
		}
	}
	p := newPicture("Time of the fastest of the others by Weft's, by groups: a dot a case, a stroke at the geometric mean", a, plotTop+step*float64(len(shown))+8)
	for i, g := range shown {
		y := plotTop + step*(float64(i)+0.5)
		mean := geomean(r.of(g)).ratio
		p.text("", "end", plotLeft-12, y+4, g.title)
		for _, x := range r.of(g) {
			if f := x.figures(r.Limits); f.ratio > 0 {
				p.dot(a.x(f.ratio), y, f.ratio, fmt.Sprintf("%s: %.2f to %s", x.Case.Name, f.ratio, f.best))
			}
		}
		p.line("mean", a.x(mean), y-9, a.x(mean), y+9)
		p.text("", "end", plotWidth-8, y+4, fmt.Sprintf("%.2f", mean))
	}
	return p.end()
}

// rowPlot has a line for each case: its ratio, and the range of it within rounds.
func (r *record) rowPlot() string {
	const step = 17.0
	var ratios []float64
	lines := 0
	for _, g := range groups {
		for _, x := range r.of(g) {
			if f := x.figures(r.Limits); f.ratio > 0 {
				ratios = append(ratios, f.ratio)
				lines++
			}
		}
	}
	a := axisOf(ratios)
	p := newPicture("Time of the fastest of the others by Weft's, case by case, and its range within rounds", a, plotTop+step*float64(lines)+8)
	y := plotTop + step/2
	for _, g := range groups {
		for _, x := range r.of(g) {
			f := x.figures(r.Limits)
			if !(f.ratio > 0) {
				continue
			}
			p.text("", "end", plotLeft-12, y+4, x.Case.Name)
			if f.most > 0 {
				p.line("whisker "+speed(f.ratio), a.x(f.least), y, a.x(f.most), y)
			}
			p.dot(a.x(f.ratio), y, f.ratio, fmt.Sprintf("%s: %.2f to %s", x.Case.About, f.ratio, f.best))
			p.text("", "end", plotWidth-8, y+4, fmt.Sprintf("%.2f", f.ratio))
			y += step
		}
	}
	return p.end()
}
