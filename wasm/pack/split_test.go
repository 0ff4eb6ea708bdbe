package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ran runs a program in two parts and gives what it says, with the numbers that it called the hook with.
func (w workshop) ran(first, rest []byte) (said string, called map[int]bool) {
	w.write("rest.wasm", rest)
	said, err := w.run(first)
	require.NoError(w.t, err, said)
	text, err := os.ReadFile(filepath.Join(w.dir, "called.json"))
	require.NoError(w.t, err)
	var list []int
	require.NoError(w.t, json.Unmarshal(text, &list))
	called = map[int]bool{}
	for _, i := range list {
		called[i] = true
	}
	return said, called
}

// toldOf gives the module of the program and which functions it calls.
func toldOf(t *testing.T) (w workshop, module []byte, called map[int]bool) {
	w = newWorkshop(t)
	module, err := squeeze(program(t), false, false)
	require.NoError(t, err)
	tells, err := telling(module)
	require.NoError(t, err)
	said, called := w.ran(tells, nil)
	require.Equal(t, says, said)
	require.Greater(t, len(called), 100)
	return w, module, called
}

// A program does the same whichever of its functions are in its rest: all, none, those that it calls or those that it does not, and any.
func TestSplitProgramRuns(t *testing.T) {
	w, module, called := toldOf(t)

	random := rand.New(rand.NewPCG(1, 2))
	drawn := map[int]bool{}
	for i := range 10000 {
		drawn[i] = random.IntN(2) == 0
	}
	for name, hot := range map[string]func(i int) bool{
		"all": func(int) bool { return false }, "none": func(int) bool { return true },
		"what is not called": func(i int) bool { return called[i] }, "what is called": func(i int) bool { return !called[i] },
		"some": func(i int) bool { return drawn[i] }, "the others": func(i int) bool { return !drawn[i] },
	} {
		first, rest, err := split(module, hot)
		require.NoError(t, err, name)
		for _, filled := range []bool{false, true} {
			if filled {
				before := len(first)
				first, err = fill(first)
				require.NoError(t, err, name)
				assert.Less(t, len(first), before-100000, "the tables that follow from their places are left out")
			}
			said, hooks := w.ran(first, rest)
			assert.Equal(t, says, said, "%s is in the rest", name)
			assert.Equal(t, map[int]bool{0: true}, hooks, name)
		}
		if name == "what is not called" {
			assert.Less(t, len(first), len(module)*3/4)
			assert.Less(t, len(first)+len(rest), len(module))
		}
	}
}

// What tables say of a function is there wherever its frames are looked at: by the collector, where a stack grows, and where a panic unwinds it. So
// the rest is loaded when any of the program's own functions begins, or one of some others.
func TestTablesAreThereInTime(t *testing.T) {
	w, module, called := toldOf(t)
	list := slices.Sorted(maps.Keys(called))
	var sets [][]int
	for i := range 8 {
		var some []int
		for at := i; at < len(list); at += 8 {
			some = append(some, list[at])
		}
		sets = append(sets, some)
	}
	m, err := formOf(program(t))
	require.NoError(t, err)
	for i, name := range functionNames(program(t)) { // begun as a goroutine, by defer, and by calls
		if i -= len(m.imported); called[i] && strings.HasPrefix(name, "main.") {
			sets = append(sets, []int{i})
		}
	}
	require.Greater(t, len(sets), 8+5)
	for _, set := range sets {
		first, rest, err := split(module, func(i int) bool { return called[i] && !slices.Contains(set, i) })
		require.NoError(t, err)
		said, _ := w.ran(first, rest)
		assert.Equal(t, says, said, "%d of what is called is in the rest", set)
	}
	first, _, err := split(module, func(i int) bool { return called[i] })
	require.NoError(t, err)
	without, _, err := split(module, func(i int) bool { return true })
	require.NoError(t, err)
	size := func(b []byte) int {
		m := &form{}
		require.NoError(t, m.readSections(b))
		from, memory, ok := image(m.section(dataSection).b)
		require.True(t, ok)
		return len(memory) - from - bytes.Count(memory[from:], []byte{0})
	}
	assert.Less(t, size(first), size(without)-25000, "what is said of the others is not in the first part")
}

// A rest of another build does not fit.
func TestRestOfAnotherBuild(t *testing.T) {
	w := newWorkshop(t)
	module, err := squeeze(program(t), false, false)
	require.NoError(t, err)
	first, _, err := split(module, func(int) bool { return false })
	require.NoError(t, err)
	other := append([]byte{}, module...)
	other[len(other)-1] ^= 1
	_, rest, err := split(other, func(int) bool { return false })
	require.NoError(t, err)
	w.write("rest.wasm", rest)
	said, err := w.run(first)
	require.Error(t, err)
	require.Contains(t, said, "LinkError")
}

// What the compiler writes in another form than is known is told, and such a module stays in one part.
func TestOtherForms(t *testing.T) {
	module, err := squeeze(program(t), false, false)
	require.NoError(t, err)
	all := func(int) bool { return false }
	m, err := formOf(module)
	require.NoError(t, err)
	with := func(id byte, body []byte) (out []byte) {
		out = append(out, module[:8]...)
		for _, s := range m.sections {
			if s.id == id {
				s.body = body
			}
			out = appendSection(out, s.id, s.body)
		}
		return out
	}
	for name, c := range map[string]struct {
		id   byte
		body []byte
	}{
		"elements in another order":  {elementSection, append([]byte{1, 0, i32Const, 0, end, 2}, 9, 8)},
		"several tables of elements": {elementSection, []byte{2}},
		"a global without a number":  {globalSection, []byte{1, i32, 1, opGlobalGet, 0, end}},
		"a type of something else":   {typeSection, []byte{1, 0x5f, 0, 0}},
		"no code":                    {codeSection, []byte{0}},
	} {
		_, _, err := split(with(c.id, c.body), all)
		assert.ErrorIs(t, err, errForm, name)
	}
	_, _, err = split(with(importSection, []byte{0}), all)
	assert.ErrorContains(t, err, "weft.rest")
	_, err = calls([]byte{0, 0xfd, 0, end}, func(int) []byte { return nil }) // an instruction of vectors
	assert.ErrorIs(t, err, errForm)
	for part := range 9 {
		_, _, err := split(module[:len(module)*part/9&^7|8], all)
		assert.Error(t, err)
	}
}

// Tables that do not follow the rule stay as they are.
func TestFillLeavesOthers(t *testing.T) {
	module, err := squeeze(program(t), false, false)
	require.NoError(t, err)
	m := &form{}
	require.NoError(t, m.readSections(module))
	_, memory, ok := image(m.section(dataSection).b)
	require.True(t, ok)
	l := records(memory)
	require.Greater(t, l.n, 500)
	at, n := pieces(memory)
	require.Greater(t, n, 16*500)

	memory[at+pieceEntry*1000]++
	_, fewer := pieces(memory)
	require.Equal(t, 1000, fewer, "as many as follow it")
	memory[at+pieceEntry*3]++
	_, fewer = pieces(memory)
	require.Zero(t, fewer)
	memory[l.at+8*7]++
	require.Zero(t, records(memory).n)

	filled, err := fill(module)
	require.NoError(t, err)
	again, err := fill(filled)
	require.NoError(t, err)
	require.True(t, string(again) == string(filled), "there is a start function")
}
