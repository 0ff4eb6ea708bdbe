package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// How many bytes the engine and its scripts may have, compressed with brotli, before a first result: in two parts, and in one, as it is built where
// there is no Node.
const budgetSplit, budgetWhole = 954_000, 1_500_000

// loaded is what a page loads to have the engine. rest.wasm, fetch.js, errands.js, optimizers.js, jit.js, files.js, saved.js, picture.js, models.js, whole.wasm and
// models.wasm come when they are asked for or later, explain.js and pressure.js where something is wrong, node.js in Node.
var loaded = []string{"weft.wasm", "weft.js", "worker.js"}

// report prints sizes, and checks what a page loads at first against its budget. weft.wasm.br stays for hosts that serve compressed files.
func report(dir string) error {
	if err := weigh(dir); err != nil || !canCompress() {
		return err
	}
	for _, other := range [][2]string{
		{"rest.wasm", "after the first result, or when it is needed"}, {"whole.wasm", "where a page asks for inspect or a search"},
		{"models.wasm", "where a page asks for a model of others"},
	} {
		if n, small, err := compressed(filepath.Join(dir, other[0])); err == nil {
			fmt.Printf("%-14s %9d bytes, %7d compressed (brotli), loaded %s\n", other[0], n, small, other[1])
		}
	}
	return nil
}

// weigh prints the sizes of what a page loads at first; more than the budget is an error.
func weigh(dir string) error {
	budget := budgetSplit
	if info, err := os.Stat(filepath.Join(dir, "rest.wasm")); err != nil || info.Size() == int64(len(empty)) {
		budget = budgetWhole
	}
	raw, packed := 0, 0
	if !canCompress() {
		fmt.Println("How large the engine is compressed is not known here: that takes brotli (apt-get install brotli) or node.")
		return nil
	}
	for _, name := range loaded {
		file := filepath.Join(dir, name)
		n, small, err := compressed(file)
		if err != nil {
			return err
		}
		fmt.Printf("%-14s %9d bytes, %7d compressed (brotli)\n", name, n, small)
		raw, packed = raw+n, packed+small
	}
	fmt.Printf("%-14s %9d bytes, %7d compressed (brotli), %d %% of the budget of %d\n", "together", raw, packed, 100*packed/budget, budget)
	if packed > budget {
		return fmt.Errorf("the engine has %d bytes compressed, %d more than its budget", packed, packed-budget)
	}
	return nil
}

// canCompress says whether there is a program that compresses with brotli.
func canCompress() bool {
	_, brotli := exec.LookPath("brotli")
	_, node := exec.LookPath("node")
	return brotli == nil || node == nil
}

func compressed(file string) (raw, packed int, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, 0, err
	}
	if _, err := exec.LookPath("brotli"); err == nil {
		if out, err := exec.Command("brotli", "-q", "11", "-w", "24", "-k", "-f", file).CombinedOutput(); err != nil {
			return 0, 0, fmt.Errorf("brotli: %w: %s", err, out)
		}
		small, err := os.Stat(file + ".br")
		if err != nil {
			return 0, 0, err
		}
		if filepath.Ext(file) != ".wasm" {
			os.Remove(file + ".br")
		}
		return int(info.Size()), int(small.Size()), nil
	}
	const script = `const z=require('zlib'),f=require('fs'),p=z.constants,b=f.readFileSync(process.argv[1]);` +
		`console.log(z.brotliCompressSync(b,{params:{[p.BROTLI_PARAM_QUALITY]:11,[p.BROTLI_PARAM_LGWIN]:24,[p.BROTLI_PARAM_SIZE_HINT]:b.length}}).length)`
	out, err := exec.Command("node", "-e", script, file).Output()
	if err != nil {
		return 0, 0, fmt.Errorf("measuring needs brotli (apt-get install brotli) or node: %w", err)
	}
	small, err := strconv.Atoi(strings.TrimSpace(string(out)))
	return int(info.Size()), small, err
}
