package grammar

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// merged are ranges in their order, those that touch joined.
func merged(all [][2]rune) (out [][2]rune) {
	all = slices.SortedFunc(slices.Values(all), func(a, b [2]rune) int { return cmp.Compare(a[0], b[0]) })
	for _, r := range all {
		if n := len(out); n > 0 && r[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], r[1])
			continue
		}
		out = append(out, r)
	}
	return out
}

// others are the characters that merged ranges leave out.
func others(all [][2]rune) (out [][2]rune) {
	from := rune(0)
	for _, r := range all {
		if r[0] > from {
			out = append(out, [2]rune{from, r[0] - 1})
		}
		from = r[1] + 1
	}
	if from <= utf8.MaxRune {
		out = append(out, [2]rune{from, utf8.MaxRune})
	}
	return out
}

// set is one character of merged ranges, as bytes of UTF-8.
func (p *notation) set(all [][2]rune) sequence {
	key := fmt.Sprint(all)
	if r, ok := p.common[key]; ok {
		return seq(r)
	}
	ascii := element{kind: bytes}
	var long []sequence
	for _, r := range all {
		for _, s := range encoded(r[0], r[1]) {
			if len(s) > 1 {
				long = append(long, s)
				continue
			}
			for i, word := range s[0].set {
				ascii.set[i] |= word
			}
		}
	}
	if ascii.set != [4]uint64{} {
		if long == nil {
			return seq(ascii)
		}
		long = append(long, seq(ascii))
	}
	if len(long) == 0 {
		p.wrong(p.at, "the set is empty: surrogates are no characters")
		return nil
	}
	at := p.at
	r := p.reserve()
	p.put(at, r, long)
	p.common[key] = r
	return seq(r)
}

// encoded are sequences of sets of bytes that are the characters of a range, without surrogates: it is cut wherever the number of bytes changes,
// or where bytes behind one that differs have not all values (Thompson's way, as package regexp/syntax describes it).
func encoded(lo, hi rune) []sequence {
	if lo > hi {
		return nil
	}
	cut := func(last rune) []sequence { return append(encoded(lo, last), encoded(last+1, hi)...) }
	switch {
	case lo < 0xd800 && hi >= 0xd800:
		return cut(0xd7ff)
	case lo >= 0xd800 && lo < 0xe000:
		return encoded(0xe000, hi)
	}
	for _, last := range []rune{0x7f, 0x7ff, 0xffff} {
		if lo <= last && hi > last {
			return cut(last)
		}
	}
	for i := 1; i < utf8.RuneLen(lo); i++ {
		low := rune(1)<<(6*i) - 1
		if lo&^low == hi&^low {
			continue
		}
		if lo&low != 0 {
			return cut(lo | low)
		}
		if hi&low != low {
			return cut(hi&^low - 1)
		}
	}
	a, b := utf8.AppendRune(nil, lo), utf8.AppendRune(nil, hi)
	var out sequence
	for i := range a {
		out = append(out, span(a[i], b[i]))
	}
	return []sequence{out}
}
