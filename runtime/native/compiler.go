//go:build !wasm

package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Multiply-add is an op of the compiler, so -ffp-contract=off keeps a·b+c as written and no
// result depends on the C compiler's taste. No flag here changes a value.
var flags = []string{"-O2", "-fPIC", "-shared", "-fwrapv", "-fno-strict-aliasing",
	"-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-w"}

// machineFlags are tried in order: compilers for some machines know only one of them. A loop over (i < n ? p[i] : 0)
// becomes a masked load, of which gcc 12 makes a blend that reads all lanes, those behind n too: that loop is
// not to be made a vector.
var machineFlags = [][]string{{"-march=native", noIfConversion}, {"-march=native"}, {"-mcpu=native", noIfConversion}, {"-mcpu=native"}, {}}

const noIfConversion = "-fno-tree-loop-if-convert" // of gcc; clang does not know it

var compilerNames = []string{"clang", "gcc", "cc"}

// compiler is a C compiler and everything that decides what its code looks like.
type compiler struct {
	command  []string // path and the user's own arguments
	flags    []string
	name     string // for people: "gcc 12.2.0"
	identity string // part of every cache key: path, flags, version, features of this processor
	broken   error  // why it cannot compile; Load returns it
}

// findCompiler looks for the compiler. One that was named but does not work is not replaced
// by another: the error is kept for Load.
func findCompiler(cc string) (*compiler, error) {
	command := strings.Fields(cc)
	if len(command) == 0 {
		for _, name := range compilerNames {
			if path, err := exec.LookPath(name); err == nil {
				command = []string{path}
				break
			}
		}
		if len(command) == 0 {
			return nil, &NoCompiler{Looked: compilerNames}
		}
	}
	c := &compiler{command: command, name: filepath.Base(command[0])}
	path, err := exec.LookPath(command[0])
	if err != nil {
		c.broken = &CompileError{Command: strings.Join(command, " "), Err: err}
		return c, nil
	}
	c.command = append([]string{path}, command[1:]...)
	for _, machine := range machineFlags {
		c.flags = append(append([]string{}, machine...), flags...)
		if c.broken = c.probe(); c.broken == nil {
			break
		}
	}
	return c, nil
}

// probe asks the compiler for the macros it predefines under the flags. They tell whether it
// accepts the flags, its version, and exactly which features of the processor it will use: a
// cache folder shared by two machine types must not end in an illegal instruction.
func (c *compiler) probe() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	macros, err := c.run(ctx, "", append(append([]string{}, c.flags...), "-E", "-dM", "-x", "c", os.DevNull), nil)
	if err != nil {
		return err
	}
	version, err := c.run(ctx, "", []string{"--version"}, nil)
	if err != nil {
		return err
	}
	c.identity = strings.Join([]string{strings.Join(c.command, " "), strings.Join(c.flags, " "), version, macros}, "\n")
	c.name = compilerName(c.command[0], macros)
	return nil
}

var macroNumber = regexp.MustCompile(`(?m)^#define (__clang_major__|__clang_minor__|__clang_patchlevel__|__GNUC__|__GNUC_MINOR__|__GNUC_PATCHLEVEL__) (\d+)\s*$`)

func compilerName(path, macros string) string {
	is := map[string]string{}
	for _, m := range macroNumber.FindAllStringSubmatch(macros, -1) {
		is[m[1]] = m[2]
	}
	switch {
	case is["__clang_major__"] != "":
		return fmt.Sprintf("clang %s.%s.%s", is["__clang_major__"], is["__clang_minor__"], is["__clang_patchlevel__"])
	case is["__GNUC__"] != "":
		return fmt.Sprintf("gcc %s.%s.%s", is["__GNUC__"], is["__GNUC_MINOR__"], is["__GNUC_PATCHLEVEL__"])
	}
	return filepath.Base(path)
}

// compile turns C text into a library file in dir, which is empty, and returns its path.
// File names are relative and constant, so the same text gives the same bytes in any folder.
func (c *compiler) compile(ctx context.Context, dir, source string, kernels []string) (string, error) {
	if err := os.WriteFile(filepath.Join(dir, "kernels.c"), []byte(source), 0o600); err != nil {
		return "", err
	}
	out := "kernels" + libraryExt
	_, err := c.run(ctx, dir, append(append([]string{}, c.flags...), "-o", out, "kernels.c"), kernels)
	return filepath.Join(dir, out), err
}

// run starts the compiler and returns what it printed to standard output. Its own temporary
// files go to dir too, so that a killed process leaves nothing elsewhere.
func (c *compiler) run(ctx context.Context, dir string, args, kernels []string) (string, error) {
	args = append(append([]string{}, c.command[1:]...), args...)
	cmd := exec.CommandContext(ctx, c.command[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if dir != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+dir)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if err == nil {
		return stdout.String(), nil
	}
	if why := ctx.Err(); errors.Is(why, context.DeadlineExceeded) {
		err = why // how the compiler ended says nothing
	} else if why != nil {
		return "", why
	}
	output := strings.TrimSpace(stderr.String() + "\n" + stdout.String())
	return "", &CompileError{Kernels: kernels, Command: cmd.String(), Output: shorten(output, 4000), Err: err}
}

// shorten keeps the beginning, where compilers put the first and true error.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n… (%d more bytes)", len(text)-most)
}
