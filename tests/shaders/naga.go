package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// findNaga looks where cargo installs as well.
func findNaga() (string, error) {
	if path, err := exec.LookPath("naga"); err == nil {
		return path, nil
	}
	cargo := os.Getenv("CARGO_HOME")
	if home, err := os.UserHomeDir(); cargo == "" && err == nil {
		cargo = filepath.Join(home, ".cargo")
	}
	path, err := exec.LookPath(filepath.Join(cargo, "bin", "naga"))
	if err != nil {
		return "", missing("naga (cargo install --locked naga-cli)")
	}
	return path, nil
}

// askNaga translates each shader to Metal and to HLSL.
func askNaga(work string, all []shader) (metal, hlsl verdict, err error) {
	naga, err := findNaga()
	if err != nil {
		return metal, hlsl, err
	}
	metal.asked, hlsl.asked = all, all
	var mu sync.Mutex
	var wait sync.WaitGroup
	next := make(chan shader)
	for range runtime.NumCPU() {
		wait.Go(func() {
			for s := range next {
				m, h := translate(naga, work, s)
				mu.Lock()
				metal.add(s, m)
				hlsl.add(s, h)
				mu.Unlock()
			}
		})
	}
	for _, s := range all {
		next <- s
	}
	close(next)
	wait.Wait()
	return metal, hlsl, nil
}

// directives are lines that browsers demand and naga rejects, though it knows what they enable.
var directives = regexp.MustCompile(`(?m)^(enable subgroups|requires \w+);\n`)

// translate does both in one process where that works.
func translate(naga, work string, s shader) (metal, hlsl string) {
	in := filepath.Join(work, "naga-"+filepath.Base(s.file))
	if err := os.WriteFile(in, directives.ReplaceAll([]byte(s.Source), nil), 0o666); err != nil {
		return err.Error(), err.Error()
	}
	toMetal, toHLSL := strings.TrimSuffix(in, "wgsl")+"metal", strings.TrimSuffix(in, "wgsl")+"hlsl"
	defer func() {
		for _, f := range []string{in, toMetal, toHLSL} {
			_ = os.Remove(f)
		}
	}()
	run := func(to ...string) string {
		out, err := exec.Command(naga, append([]string{"--shader-model", "66", in}, to...)...).CombinedOutput()
		if err == nil {
			return ""
		}
		return err.Error() + ": " + strings.TrimSpace(string(out))
	}
	if run(toMetal, toHLSL) == "" {
		return "", ""
	}
	return run(toMetal), run(toHLSL)
}
