package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// How much memory networks take: each in a process of its own, which computes nothing else.

// memoryCases are those of which memory is measured too.
var memoryCases = strings.Fields("transformer-block resnet18 gpt2-token resnet18-step")

// resident is a case and the most that was ever resident of a process that computes it, in MB, by the library. Before is how much of it
// the library takes by itself.
type resident struct {
	Case   string             `json:"case"`
	Most   map[string]float64 `json:"most"`
	Before map[string]float64 `json:"before"`
}

// measureMemory has each case that was measured computed once more, where the system says how much memory a process has.
func (r *record) measureMemory(ctx context.Context, s *starter) error {
	if r.GPU || runtime.GOOS != "linux" {
		return nil
	}
	for _, name := range memoryCases {
		if !slices.ContainsFunc(r.Rows, func(x row) bool { return x.Case.Name == name }) {
			continue
		}
		m := resident{name, map[string]float64{}, map[string]float64{}}
		dir, err := os.MkdirTemp("", "weft-peers-")
		if err != nil {
			return err
		}
		for _, lib := range libraries {
			if !s.o.takes(lib.name, lib.module) {
				continue
			}
			before, most, err := s.memory(ctx, lib.name, lib.module, order{Do: "load", Case: name, Dir: dir})
			if err != nil {
				os.RemoveAll(dir)
				return err
			}
			if most > 0 {
				m.Before[lib.name], m.Most[lib.name] = before, most
			}
		}
		os.RemoveAll(dir)
		r.Memory = append(r.Memory, m)
		fmt.Fprintf(os.Stderr, "memory of %-23s %s\n", name, strings.Join(r.most(m), ", "))
	}
	return nil
}

// memory is what is resident of a process of a library when it has come up, and at most when it has computed a case some times; 0 if it cannot.
func (s *starter) memory(ctx context.Context, name, module string, load order) (before, most float64, err error) {
	w, err := s.worker(ctx, name+" for memory", module, s.o.threads)
	if err != nil {
		return 0, 0, err
	}
	defer workers{w}.stop()
	if _, err = w.ask(order{Do: "list"}, patience); err != nil {
		return 0, 0, err
	}
	if before, err = mostResident(w.cmd.Process.Pid); err != nil {
		return 0, 0, err
	}
	for _, o := range []order{load, {Do: "run", MS: s.o.ms}} {
		got, err := w.ask(o, patience)
		switch {
		case err != nil:
			return 0, 0, err
		case got.Lacks || got.Failed != "" || got.Wrong != "": // which its row says
			return 0, 0, nil
		}
	}
	most, err = mostResident(w.cmd.Process.Pid)
	return before, most, err
}

// mostResident is the most that was ever resident of a process, in MB.
func mostResident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			return kib * 1024 / 1e6, err
		}
	}
	return 0, errors.New("the system does not say how much memory a process has")
}

// most are the libraries with what they take.
func (r *record) most(m resident) (out []string) {
	for _, name := range r.names() {
		if m.Most[name] > 0 {
			out = append(out, fmt.Sprintf("%s %.0f MB", name, m.Most[name]))
		}
	}
	return out
}

// memoryTable says what was measured, or nothing.
func (r *record) memoryTable() string {
	if len(r.Memory) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n### Memory\n\nThe most that was ever resident of a process that computes a network and nothing else, in MB; in brackets what of it was there before the\n" +
		"network was. Weft's compiles the kernels meanwhile; what the C compiler takes, a process of its own, is not in it.\n\n| case |")
	for _, name := range r.names() {
		fmt.Fprintf(&b, " %s |", name)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---|", len(r.names())))
	for _, m := range r.Memory {
		fmt.Fprintf(&b, "| `%s` |", m.Case)
		for _, name := range r.names() {
			if m.Most[name] > 0 {
				fmt.Fprintf(&b, " %.0f (%.0f) |", m.Most[name], m.Before[name])
			} else {
				b.WriteString("  |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
