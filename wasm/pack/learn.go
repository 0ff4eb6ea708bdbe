package main

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Which functions stay in the first part is asked of the engine itself: one that tells of every function that is called runs what pages begin
// with, in Node. So nobody keeps a list, and what changes in the engine needs no care. Without Node the engine stays whole.

//go:embed learn
var programs embed.FS

// errNoNode says that there is no Node to ask the engine in.
var errNoNode = errors.New("there is no node (apt-get install nodejs), so it is not known which functions a first result needs: the engine stays in one part")

// telling is a module that calls the hook with a function's number whenever one begins.
func telling(module []byte) ([]byte, error) {
	m, err := formOf(module)
	if err != nil {
		return nil, err
	}
	code := appendUint(nil, uint64(len(m.bodies)))
	for i, body := range m.bodies {
		r := instructions(body)
		if r.err != nil {
			return nil, r.err
		}
		call := append(appendUint(append(appendSint([]byte{i32Const}, int64(i)), opCall), uint64(m.hook)), body[r.at:]...)
		code = append(appendUint(code, uint64(r.at+len(call))), body[:r.at]...)
		code = append(code, call...)
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range m.sections {
		if s.id == codeSection {
			s.body = code
		}
		out = appendSection(out, s.id, s.body)
	}
	return out, nil
}

// runs is how often the programs run, with other seeds each time: a function that one run in several calls is one that some page in several would wait
// for. Seeds and time are the engine's own (learn/rest.js), so that the same sources make the same parts.
const runs = 4

// learn runs the programs and gives the functions that they called, by number.
func learn(root, goroot string, module []byte) (map[int]bool, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, errNoNode
	}
	dir, err := os.MkdirTemp("", "weft-learn-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tells, err := telling(module)
	if err != nil {
		return nil, err
	}
	own := filepath.Join(dir, "own")
	if err := errors.Join(os.CopyFS(own, programs), os.WriteFile(filepath.Join(dir, "weft.wasm"), tells, 0o666)); err != nil {
		return nil, err
	}
	own = filepath.Join(own, "learn")
	for _, name := range append(append([]string{}, first...), later...) {
		if err := script(append([]string{own}, scriptFolders(root, goroot)...), name, dir, "{}", "{}"); err != nil {
			return nil, err
		}
	}
	if err := os.Rename(filepath.Join(own, "programs.js"), filepath.Join(dir, "programs.mjs")); err != nil {
		return nil, err
	}
	called := map[int]bool{}
	for run := range runs {
		cmd := exec.Command(node, "programs.mjs")
		cmd.Dir, cmd.Stderr, cmd.Env = dir, os.Stderr, append(os.Environ(), fmt.Sprint("WEFT_RUN=", run))
		said, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("programs that pages begin with: %w", err)
		}
		var list []int
		if err := json.Unmarshal(said, &list); err != nil {
			return nil, fmt.Errorf("programs that pages begin with: %w", err)
		}
		for _, i := range list {
			called[i] = true
		}
	}
	return called, nil
}

// Which of its functions Go's page allocator calls depends on where memory lies, which is another place in each run and browser: one that no run called
// some page would wait for; so it is with two functions of maps, whose seed is another in each. The names are as the linker writes them, see shake.go.
var allocator = strings.Fields(`
	runtime.pallocSum. runtime.__pageBits_.setAll runtime.__pallocBits_.findLargeN runtime.__pallocBits_.allocAll runtime.__pallocData_.allocAll
	runtime.addrRange.contains runtime.__addrRanges_.find runtime.memequal_varlen internal_runtime_maps.bitset.count
`)

// allocating gives these functions of a module, by number. There are none where it has no names.
func allocating(module []byte) map[int]bool {
	m, err := formOf(module)
	if err != nil {
		return nil
	}
	out := map[int]bool{}
	for i, name := range functionNames(module) {
		if slices.ContainsFunc(allocator, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			out[i-len(m.imported)] = true
		}
	}
	return out
}
