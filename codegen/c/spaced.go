package c

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// Elements that lie a few places apart, or one before the other, are loaded by whole vectors, which touch nothing before the first
// and behind the last of them, and brought together in registers.

// near says that so few vectors hold elements a stride apart that loading them all is less than loading one by one.
func (r *renderer) near(stride int) bool {
	return r.n > 2 && (stride == -1 || codegen.Abs(stride) >= 2 && codegen.Abs(stride) <= max(2, r.n/2))
}

// around is the mask of the conditions around, in integers of so many bits; "" for none.
func (r *renderer) around(bits int) string {
	if r.mask == "" {
		return ""
	}
	return r.convert(r.mask, maskElem(r.bits), maskElem(bits))
}

// own is the mask of the lanes that a gate, if not nil, and the conditions around it let take part, in integers of so many bits.
func (r *renderer) own(gate *uop.UOp, bits int) string {
	around := r.around(bits)
	switch {
	case gate == nil:
		return around
	case around == "":
		return r.maskOf(gate, bits)
	}
	return "(" + r.maskOf(gate, bits) + " & " + around + ")"
}

// vectorsOf says where the vectors begin that hold every stride-th element, and in which of them each lane finds its own.
func (r *renderer) vectorsOf(stride int) (begin []int, in func(lane int) int) {
	last := stride*(r.n-1) + 1 - r.n
	for k := range stride {
		begin = append(begin, min(k*r.n, last))
	}
	return begin, func(lane int) int { return stride * lane / r.n }
}

// spaced is the name of a function that loads every stride-th element.
func (r *renderer) spaced(e string, stride int) string {
	v, n := r.vtype(e), r.n
	back, begin, in := 0, []int{0}, func(int) int { return 0 } // how far before the first lane's element the first of all lies
	if stride < 0 {
		back = -stride * (n - 1)
	}
	if stride != -1 {
		begin, in = r.vectorsOf(codegen.Abs(stride))
	}
	text := fmt.Sprintf("p -= %d; %s t = *(const %su *)p; ", back, v, v)
	for k := 1; k < len(begin); k++ {
		text += fmt.Sprintf("t = __builtin_shufflevector(t, *(const %su *)(p + %d), %s); ", v, begin[k], each(n, func(i int) string {
			switch at := codegen.Abs(stride) * i; {
			case in(i) == k:
				return fmt.Sprint(n + at - begin[k])
			case in(i) == 0 && k == 1:
				return fmt.Sprint(at)
			}
			return fmt.Sprint(i)
		}))
	}
	if stride < 0 {
		text += fmt.Sprintf("t = __builtin_shufflevector(t, t, %s); ", each(n, func(i int) string { return fmt.Sprint(n - 1 - i) }))
	}
	name := fmt.Sprintf("by%s_%s", spacing(stride), v)
	r.define(name, fmt.Sprintf("static inline %s %s(const %s *p) { %s return t; }\n", v, name, byElem[e], text))
	return name
}

func spacing(stride int) string {
	if stride < 0 {
		return fmt.Sprintf("b%d", -stride)
	}
	return fmt.Sprint(stride)
}

// spacedMask is the name of a function that does so for the lanes of a mask; the others are 0. Where all that the whole vectors touch
// lies within the array, as nearly everywhere, they are loaded and what does not take part is cleared; else elements are loaded one by
// one. They touch least elements before the first lane's own and reach from there on.
func (r *renderer) spacedMask(e string, stride int) (name string, least, reach int) {
	v, m := r.vtype(e), r.vtype(maskElem(elemBits[e]))
	name = fmt.Sprintf("by%sm_%s", spacing(stride), v)
	load, reach := fmt.Sprintf("*(const %su *)(p + i)", v), r.n
	if stride != 1 {
		load, reach = r.spaced(e, stride)+"(p + i)", stride*(r.n-1)+1
	}
	if stride < 0 {
		least, reach = -stride*(r.n-1), 1
	}
	slow := fmt.Sprintf("static __attribute__((noinline, cold, unused)) %[1]s %[2]s_few(const %[3]s *p, %[4]s m) { return (%[1]s){%[5]s}; }\n",
		v, name, byElem[e], m, each(r.n, func(i int) string { return fmt.Sprintf("m[%d] ? p[%d] : 0", i, stride*i) }))
	head := fmt.Sprintf("static inline %s %s(const %s *p, int64_t i, uint64_t room, %s m) { ", v, name, byElem[e], m)
	body := fmt.Sprintf("return (uint64_t)(i - %d) < room ? (%s)((%s)%s & m) : %s_few(p + i, m); }\n", least, v, m, load, name)
	if stride == 1 { // some machines load some lanes as fast as all
		r.define(name, fmt.Sprintf("#ifdef WEFT_LDM_%[1]s\n%[2]sreturn WEFT_LDM_%[1]s(p + i, m); }\n#else\n%[3]s%[2]s%[4]s#endif\n", v, head, slow, body))
	} else {
		r.define(name, slow+head+body)
	}
	return name, least, reach
}
