package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// machine says where this runs, a line for each thing.
func machine() []string {
	return []string{
		fmt.Sprintf("%s, %d processors, %s/%s", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH),
		runtime.Version(),
		compiler(),
	}
}

// processor is its name as the system knows it.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "a processor without a name"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "a processor without a name"
}

// compiler is the version of the C compiler that the CPU device uses.
func compiler() string {
	names := []string{"clang", "gcc", "cc"}
	if cc := os.Getenv("CC"); cc != "" {
		names = []string{cc}
	}
	for _, name := range names {
		words := strings.Fields(name)
		if out, err := exec.Command(words[0], append(words[1:], "--version")...).Output(); err == nil {
			first, _, _ := strings.Cut(string(out), "\n")
			return first
		}
	}
	return "no C compiler"
}
