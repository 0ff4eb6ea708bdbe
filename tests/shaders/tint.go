package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed tint.mjs
var tintScript []byte

// tintPackage is Dawn for Node.
const tintPackage = "webgpu@0.6.2"

// perProcess is how many shaders Tint looks at in one process.
const perProcess = 400

// askTint installs Dawn for Node in the cache folder of the user, once.
func askTint(_ string, all []shader) (v verdict, err error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return v, missing("node and npm")
	}
	home, err := os.UserCacheDir()
	if err != nil {
		return v, err
	}
	home = filepath.Join(home, "weft", tintPackage)
	if err := os.MkdirAll(home, 0o777); err != nil {
		return v, err
	}
	if _, err := os.Stat(filepath.Join(home, "node_modules", "webgpu")); err != nil {
		cmd := exec.Command("npm", "install", "--ignore-scripts", "--no-fund", "--no-audit", "--prefix", home, tintPackage)
		if out, err := cmd.CombinedOutput(); err != nil {
			return v, missing(fmt.Sprintf("npm install %s: %v\n%s", tintPackage, err, out))
		}
	}
	script := filepath.Join(home, "tint.mjs")
	if err := os.WriteFile(script, tintScript, 0o666); err != nil {
		return v, err
	}
	v.asked = all
	for at := 0; at < len(all); at += perProcess {
		part := all[at:min(at+perProcess, len(all))]
		why, err := node(script, part)
		if err != nil {
			if why, err = node(script, part); err != nil {
				return v, err
			}
		}
		for i, w := range why {
			v.add(part[i], w)
		}
	}
	return v, nil
}

// node runs the script; what counts is that it came to its end, not how the process ended.
func node(script string, part []shader) (why []string, err error) {
	args := []string{script}
	place := map[string]int{}
	for i, s := range part {
		args = append(args, s.file)
		place[s.file] = i
	}
	var stderr bytes.Buffer
	cmd := exec.Command("node", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	why = make([]string, len(part))
	for line := range bytes.Lines(out) {
		var m struct {
			File, Message string
			Line, Done    int
		}
		switch {
		case json.Unmarshal(line, &m) != nil:
		case m.Done == len(part):
			return why, nil
		default:
			why[place[m.File]] = fmt.Sprintf("line %d: %s", m.Line, m.Message)
		}
	}
	return nil, fmt.Errorf("node %s: %w\n%s", script, err, &stderr)
}
