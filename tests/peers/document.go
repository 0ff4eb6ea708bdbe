package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// keep notes a whole run, for -again.
func (r *record) keep() error {
	dir, err := cacheDir()
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, runFile(r.GPU)), text, 0o666)
}

func runFile(gpu bool) string {
	if gpu {
		return "run-gpu.json"
	}
	return "run.json"
}

func lastRun(gpu bool) (*record, error) {
	dir, err := cacheDir()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, runFile(gpu)))
	if err != nil {
		return nil, fmt.Errorf("no whole run yet: %w", err)
	}
	var r record
	return &r, json.Unmarshal(text, &r)
}

// write puts the document and its plots into a folder.
func (r *record) write(dir string) error {
	name := r.file()
	for name, text := range map[string]string{name + ".md": r.document(), name + "-groups.svg": r.groupPlot(), name + "-rows.svg": r.rowPlot()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// file is the name of the document, and what its plots' names begin with.
func (r *record) file() string {
	if r.GPU {
		return "performance-gpu"
	}
	return "performance"
}

// summary is the mean of each group and of all.
func (r *record) summary() string {
	var b strings.Builder
	line := func(title string, rows []row) {
		if m := geomean(rows); m.n > 0 {
			fmt.Fprintf(&b, "%-30s %5.2f in the geometric mean of %d, by the fastest runs %.2f\n", title, m.ratio, m.n, m.atBest)
		}
	}
	for _, g := range groups {
		line(g.title, r.of(g))
	}
	line("All", r.Rows)
	return b.String()
}

const beginning = `# Beside PyTorch, JAX and ONNX Runtime

    make bench-peers                     # everything, and this document: about %d minutes
    make bench-peers ONLY=products       # a group, or cases whose names contain it; nothing is written

%s measures everyday tensor programs in Weft on the CPU beside the best that Python has, in one run. It needs Python 3 with venv, and
installs from PyPI into the user's cache folder %s:
6 GB in all where PyPI has PyTorch with CUDA only. They are for this measurement: nothing else in the repository needs them. This
document is generated. Cases in which somebody else is faster say what a run on one thread says in which each launch is waited for; what else is
known of them comes from %s.

## How it measures

- Each library is a process of its own that stays alive; one computes at a time. Everyone has %d threads.
- Weft computes a case first, a function that was captured, and writes its inputs, the model and the results. The others read them and their
  results are compared: a wrong one fails the run. Of steps of training, the losses of three steps are compared.
- Then everyone takes turns: a round to warm up and %d that count, each beginning with another library. A turn is %g ms, one run at least; its time is
  the median of its runs, and the tables have the median of the turns.
- A time ends when the result lies in memory that the library owns; then the result is given back, by Discard in Weft. Inputs are there beforehand. In Weft and ONNX Runtime weights of
  layers are constants, which both may pack once; where PyTorch has several ways to say a thing, the fastest was taken. %s is PyTorch behind
  it with its usual settings, JAX is behind jax.jit.
- *Ratio* is the time of the fastest of the others by Weft's: above 1 Weft is faster. *In rounds* is the least and the greatest such ratio within a
  round, which tells how much the machine was disturbed; *fastest run* is the ratio of the fastest runs of all, which other
  work on the machine disturbs least: libraries whose threads wait for each other lose more than their share of time to it. *Of the limit* is Weft's share of what the processor can do, %.0f GFLOP/s of
  float32 or, where memory is the limit, %.1f GB/s, as %s measures it; data that stays in caches can be faster than
  memory, and narrow types than float32.
`

const beginningGPU = `# On a graphics processor, beside PyTorch with CUDA

    make bench-gpu                     # everything, and this document
    make bench-gpu ONLY=products       # a group, or cases whose names contain it; nothing is written

The same programs as in [performance.md](performance.md), Weft on the device WEBGPU (WGSL through wgpu and Vulkan) beside PyTorch with CUDA, whose
libraries are written by hand for this processor. All is float32: tensor cores, which WGSL does not reach, are left out (PyTorch's TF32 is off).
This document is generated.

- Weft computes a case first and writes its inputs, the model and the results; PyTorch reads them and its results are compared: a wrong one fails the run.
- A round warms up and %d count. A turn is %g ms, one run at least; its time is the median of its runs, and the tables have the median of the turns.
- A time ends when the device has done all work of a run: submitting and waiting are part of it.
- *Ratio* is PyTorch's time by Weft's: above 1 Weft is faster.
`

func (r *record) document() string {
	var b strings.Builder
	if r.GPU {
		fmt.Fprintf(&b, beginningGPU, r.Rounds, r.MS)
	} else {
		fmt.Fprintf(&b, beginning, 20, "`tests/peers`", list(versions), "`tests/peers/keeps.go`", r.Threads, r.Rounds, r.MS, "torch.compile", r.Limits.GFlops, r.Limits.GBps, "`weft bench limits`")
	}
	fmt.Fprintf(&b, "\n## The machine\n\n")
	for _, m := range r.Machine {
		fmt.Fprintf(&b, "- %s\n", m)
	}
	for _, lib := range libraries {
		if about := r.About[lib.name]; about != "" {
			fmt.Fprintf(&b, "- %s: %s\n", lib.name, about)
		}
	}
	fmt.Fprintf(&b, "\nMeasured on %s by `%s`.\n\n## What came out\n\n", r.When, r.Command)
	b.WriteString(r.means())
	fmt.Fprintf(&b, "\n![The ratios of each group, a dot a case, and their geometric means](%[1]s-groups.svg)\n"+
		"\n![The ratio of each case and its range within rounds](%[1]s-rows.svg)\n", r.file())
	for _, g := range groups {
		if rows := r.of(g); len(rows) > 0 {
			b.WriteString(r.table(g, rows))
		}
	}
	b.WriteString(r.memoryTable())
	return b.String()
}

// means is the table of geometric means.
func (r *record) means() string {
	var b strings.Builder
	all := geomean(r.Rows)
	fmt.Fprintf(&b, "In the geometric mean of %d cases the ratio is **%.2f**, and %.2f of the fastest runs; Weft is the fastest in %d.\n\n"+
		"| | cases | ratio, geometric mean | fastest run | Weft is the fastest in |\n|---|---|---|---|---|\n", all.n, all.ratio, all.atBest, fastest(r.Rows))
	for _, g := range groups {
		if m := geomean(r.of(g)); m.n > 0 {
			fmt.Fprintf(&b, "| %s | %d | %.2f | %.2f | %d |\n", g.title, m.n, m.ratio, m.atBest, fastest(r.of(g)))
		}
	}
	return b.String()
}

func fastest(rows []row) (n int) {
	for _, r := range rows {
		if r.figures(limits{}).ratio >= 1 {
			n++
		}
	}
	return n
}

// table is a group's: milliseconds of everyone, and what follows from them.
func (r *record) table(g group, rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\nMilliseconds; the fastest of the others is **bold**.\n\n| case |", g.title)
	names := r.names()
	for _, name := range names {
		fmt.Fprintf(&b, " %s |", name)
	}
	fmt.Fprintf(&b, " ratio | in rounds | fastest run | of the limit |\n|---|%s---|---|---|---|\n", strings.Repeat("---|", len(names)))
	var slow []string
	for _, x := range rows {
		f := x.figures(r.Limits)
		fmt.Fprintf(&b, "| `%s` %s |", x.Case.Name, x.Case.About)
		for _, name := range names {
			fmt.Fprintf(&b, " %s |", cell(x.Results[name], name == f.best))
		}
		ratio, atBest, share := "", "", ""
		if f.ratio > 0 {
			ratio, atBest = fmt.Sprintf("%.2f", f.ratio), fmt.Sprintf("%.2f", f.atBest)
		}
		if f.share > 0 {
			share = percent(f.share)
		}
		fmt.Fprintf(&b, " %s | %s | %s | %s |\n", ratio, f.spread(), atBest, share)
		if f.behind() && !r.GPU {
			said := []string{x.says(r.One), keeps[x.Case.Name]}
			slow = append(slow, fmt.Sprintf("- `%s`, %.2f: %s.\n", x.Case.Name, f.ratio, strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), ". ")))
		}
	}
	if len(slow) > 0 {
		fmt.Fprintf(&b, "\nWhat keeps it:\n\n%s", strings.Join(slow, ""))
	}
	return b.String()
}

// names are those of the libraries that have a column: on a graphics processor those that had turns.
func (r *record) names() (out []string) {
	for _, lib := range libraries {
		if !r.GPU || r.About[lib.name] != "" {
			out = append(out, lib.name)
		}
	}
	return out
}

func cell(r result, best bool) string {
	switch {
	case r.Wrong != "":
		return "wrong"
	case !(r.MS > 0):
		return ""
	case best:
		return "**" + milliseconds(r.MS) + "**"
	}
	return milliseconds(r.MS)
}

// milliseconds has three digits that count.
func milliseconds(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.*f", 2+leading(ms), ms)
	case ms < 100:
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}

// leading is how many zeros a number below 10 begins with.
func leading(x float64) (n int) {
	for x < 1 && n < 3 {
		x *= 10
		n++
	}
	return n
}

func percent(share float64) string {
	if share < 0.1 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// list joins the names of versions.
func list(versions []string) string {
	out := slices.Clone(versions)
	for i, v := range out {
		out[i] = strings.Replace(v, "==", " ", 1)
	}
	return strings.Join(out[:len(out)-1], ", ") + " and " + out[len(out)-1]
}
