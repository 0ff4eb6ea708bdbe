package wgsl

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
)

// binding is what becomes of one of a kernel's buffers.
type binding struct {
	at      int // position of the first of the kernel's buffers that lies in the same slot
	write   bool
	mutable bool
}

// places numbers what is bound.
func places(ways []binding) []int {
	place, bound := make([]int, len(ways)), 0
	for i, w := range ways {
		if w.at != i {
			place[i] = place[w.at]
			continue
		}
		place[i] = bound
		bound++
	}
	return place
}

// array is a storage buffer as a kernel sees it.
type array struct {
	name        string // of what it is bound to
	word        string // type of its words
	words       int64
	four        bool // it is read by four words
	parts       int  // elements in a word
	half        bool // the parts are 16-bit floats
	load, store bool // helpers that are used: those for parts
}

// newArrays are those of the kernel's buffers. Arrays have a length: browsers make sure that an index is within it, which
// costs more where they must ask for it (a product on SwiftShader: a third).
func (r *renderer) newArrays(ways []binding) {
	place := places(ways)
	r.arrays = make([]array, len(ways))
	for i, q := range r.p.Params {
		n := r.subword(q.DType)
		r.arrays[i] = array{name: fmt.Sprintf("p%d", place[i]), word: r.stored(q.DType), words: max(1, (elements(q)+int64(n)-1)/int64(n)), parts: n, half: q.DType == dtype.F16}
	}
}

// declare is the type of the array.
func (a array) declare() string {
	if a.four {
		return fmt.Sprintf("array<vec4<%s>, %d>", a.word, a.words/4)
	}
	return fmt.Sprintf("array<%s, %d>", a.word, a.words)
}

// declarations spells what stands before the entry: once its statements are spelled, and it is known what they use.
func (r *renderer) declarations(vars int) string {
	var b strings.Builder
	if r.half {
		b.WriteString("enable f16;\n")
	}
	if r.team && !r.p.Features.Has(plan.Untold) {
		b.WriteString("enable subgroups;\n")
	}
	fmt.Fprintf(&b, "@group(0) @binding(0) var<uniform> u: array<vec4<u32>, %d>;\n", vars)
	bound, n := joined(r.arrays, r.ways), 0
	for i, w := range r.ways {
		if w.at != i {
			continue
		}
		access := "read"
		if w.write || w.mutable {
			access = "read_write"
		}
		n++
		fmt.Fprintf(&b, "@group(0) @binding(%d) var<storage, %s> %s: %s;\n", n, access, bound[i].name, bound[i].declare())
	}
	seen := map[string]bool{}
	for i, a := range r.arrays {
		for _, helper := range a.spell(bound[r.ways[i].at].four) {
			if !seen[helper] {
				seen[helper] = true
				b.WriteString(helper)
			}
		}
	}
	for _, s := range r.shared {
		b.WriteString(s)
	}
	for _, name := range r.order {
		b.WriteString(helpers()[name])
	}
	return b.String()
}

// joined are the arrays that are declared, by the first buffer of each binding. Where several become one, it is as long as
// the longest of them, and is read by four if all of them are.
func joined(arrays []array, ways []binding) []array {
	out := make([]array, len(ways))
	for i, w := range ways {
		a := arrays[i]
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

// spell gives the helpers that access the array. An invocation that writes a part owns the whole word: the directives see
// to that.
func (a array) spell(four bool) (helpers []string) {
	switch {
	case a.four && four:
		return []string{fmt.Sprintf("fn load_%s(i: i32) -> vec4<%s> { return %[1]s[i]; }\n", a.name, a.word)}
	case a.four:
		return []string{fmt.Sprintf("fn load_%s(i: i32) -> vec4<%s> { return vec4<%[2]s>(%[1]s[4 * i], %[1]s[4 * i + 1], %[1]s[4 * i + 2], %[1]s[4 * i + 3]); }\n", a.name, a.word)}
	case a.parts == 1:
		return nil
	}
	bits, mask, shift := 32/a.parts, 1<<(32/a.parts)-1, map[int]int{2: 1, 4: 2}[a.parts]
	if a.load && a.half {
		helpers = append(helpers, fmt.Sprintf("fn load_%[1]s(i: i32) -> f32 { return unpack2x16float(%[1]s[i >> 1u] >> ((u32(i) & 1u) * 16u)).x; }\n", a.name))
	} else if a.load {
		helpers = append(helpers, fmt.Sprintf("fn load_%[1]s(i: i32) -> u32 { return (%[1]s[i >> %[2]du] >> ((u32(i) & %[3]du) * %[4]du)) & 0x%[5]xu; }\n",
			a.name, shift, a.parts-1, bits, mask))
	}
	if a.store {
		helpers = append(helpers, fmt.Sprintf("fn store_%[1]s(i: i32, x: u32) {\n\tlet s = (u32(i) & %[3]du) * %[4]du;\n"+
			"\t%[1]s[i >> %[2]du] = (%[1]s[i >> %[2]du] & ~(0x%[5]xu << s)) | (x << s);\n}\n", a.name, shift, a.parts-1, bits, mask))
	}
	return helpers
}
