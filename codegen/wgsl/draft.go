package wgsl

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/plan"
)

// draft is a kernel whose buffers are not bound yet: what is declared is data, and text mentions buffers and the workgroup's
// number as $0, $1, … and $w. It is spelled once the steps of a plan say what is bound where.
type draft struct {
	name, entry string
	enable      string // directives
	vars        int    // vectors of the uniform block
	arrays      []array
	shared      string // declarations of the workgroup's arrays
	helpers     string
	group       int    // invocations of a workgroup
	body        string // the entry's arguments and statements
}

// array is the declaration of a storage buffer.
type array struct {
	word        string // type of its words
	words       int64
	four        bool // declared and read by four words
	parts       int  // elements in a word
	half        bool // the parts are 16-bit floats
	load, store bool // helpers that are used: those for parts
}

// declare is the type of the array.
func (a array) declare() string {
	if a.four {
		return fmt.Sprintf("array<vec4<%s>, %d>", a.word, a.words/4)
	}
	return fmt.Sprintf("array<%s, %d>", a.word, a.words)
}

// unbound has each buffer bound by itself, and none written but by this kernel.
func unbound(k *plan.Kernel) []binding {
	ways := make([]binding, len(k.Binds))
	for i, b := range k.Binds {
		ways[i] = binding{at: i, write: b.Write}
	}
	return ways
}

// spell gives the declarations and the entry's text behind its name. If first is not 0, workgroups are numbered from
// u[first].x on.
func (d *draft) spell(ways []binding, first int) (head, body string) {
	place, bound := make([]int, len(ways)), 0 // in the list of what is bound
	for i, w := range ways {
		if w.at != i {
			place[i] = place[w.at]
			continue
		}
		place[i] = bound
		bound++
	}
	workgroup, vars := "wg.x", d.vars
	if first > 0 {
		workgroup, vars = fmt.Sprintf("(wg.x + u[%d].x)", first), first+1
	}
	var b strings.Builder
	b.WriteString(d.enable)
	fmt.Fprintf(&b, "@group(0) @binding(0) var<uniform> u: array<vec4<u32>, %d>;\n", vars)
	arrays := d.joined(ways)
	for i, w := range ways {
		if w.at != i {
			continue
		}
		access := "read"
		if w.write || w.mutable {
			access = "read_write"
		}
		fmt.Fprintf(&b, "@group(0) @binding(%d) var<storage, %s> p%d: %s;\n", place[i]+1, access, place[i], arrays[i].declare())
	}
	seen := map[string]bool{}
	for i, a := range d.arrays {
		for _, helper := range a.spell(fmt.Sprintf("p%d", place[i]), arrays[ways[i].at].four) {
			if !seen[helper] {
				seen[helper] = true
				b.WriteString(helper)
			}
		}
	}
	b.WriteString(d.shared)
	b.WriteString(d.helpers)
	return b.String(), mentioned(d.body, place, workgroup)
}

// source is the whole text.
func (d *draft) source(head, body string) string {
	return fmt.Sprintf("// %s\n%s@compute @workgroup_size(%d)\nfn %s%s", d.name, head, d.group, d.entry, body)
}

// joined are the arrays that are declared, by the first buffer of each binding. Where several become one, it is as long as
// the longest of them, and is read by four if all of them are.
func (d *draft) joined(ways []binding) []array {
	out := make([]array, len(ways))
	for i, w := range ways {
		a := d.arrays[i]
		if w.at == i {
			out[i] = a
			continue
		}
		four := out[w.at].four && a.four
		if a.words > out[w.at].words {
			out[w.at] = a
		}
		out[w.at].four = four
	}
	return out
}

// spell gives the helpers that access an array of this name. An invocation that writes a part owns the whole word: the
// directives see to that.
func (a array) spell(p string, four bool) (helpers []string) {
	switch {
	case a.four && four:
		return []string{fmt.Sprintf("fn load_%s(i: i32) -> vec4<%s> { return %[1]s[i]; }\n", p, a.word)}
	case a.four:
		return []string{fmt.Sprintf("fn load_%s(i: i32) -> vec4<%s> { return vec4<%[2]s>(%[1]s[4 * i], %[1]s[4 * i + 1], %[1]s[4 * i + 2], %[1]s[4 * i + 3]); }\n", p, a.word)}
	case a.parts == 1:
		return nil
	}
	bits, mask, shift := 32/a.parts, 1<<(32/a.parts)-1, map[int]int{2: 1, 4: 2}[a.parts]
	if a.load && a.half {
		helpers = append(helpers, fmt.Sprintf("fn load_%[1]s(i: i32) -> f32 { return unpack2x16float(%[1]s[i >> 1u] >> ((u32(i) & 1u) * 16u)).x; }\n", p))
	} else if a.load {
		helpers = append(helpers, fmt.Sprintf("fn load_%[1]s(i: i32) -> u32 { return (%[1]s[i >> %[2]du] >> ((u32(i) & %[3]du) * %[4]du)) & 0x%[5]xu; }\n",
			p, shift, a.parts-1, bits, mask))
	}
	if a.store {
		helpers = append(helpers, fmt.Sprintf("fn store_%[1]s(i: i32, x: u32) {\n\tlet s = (u32(i) & %[3]du) * %[4]du;\n"+
			"\t%[1]s[i >> %[2]du] = (%[1]s[i >> %[2]du] & ~(0x%[5]xu << s)) | (x << s);\n}\n", p, shift, a.parts-1, bits, mask))
	}
	return helpers
}

// mentioned fills in what a text mentions.
func mentioned(text string, place []int, workgroup string) string {
	var b strings.Builder
	b.Grow(len(text))
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		n, end := 0, 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			n, end = 10*n+int(rest[end]-'0'), end+1
		}
		if end > 0 {
			fmt.Fprintf(&b, "p%d", place[n])
		} else {
			b.WriteString(workgroup)
			end = len("w")
		}
		text = rest[end:]
	}
}
