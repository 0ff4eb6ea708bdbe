package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// added is a token that is found in a text before anything else is.
type added struct {
	id                 int
	special            bool // not part of what a model says: control
	left, right, alone bool // takes the spaces before or behind; only where no letter or digit is beside it
	normalised         bool // is looked for in the normalised text
	text               string
}

// finder finds added tokens: the first, and of those at one place the longest.
type finder struct {
	byFirst map[byte][]added // longest first
}

func newFinder(all []added) *finder {
	f := &finder{map[byte][]added{}}
	for _, a := range all {
		list := f.byFirst[a.text[0]]
		i := len(list)
		for i > 0 && len(list[i-1].text) < len(a.text) {
			i--
		}
		list = append(list, added{})
		copy(list[i+1:], list[i:])
		list[i] = a
		f.byFirst[a.text[0]] = list
	}
	return f
}

// find gives the first added token of text[from:], and the bytes that it takes.
func (f *finder) find(text string, from int, special bool) (a *added, begin, end int) {
	for i := from; i < len(text); i++ {
		list := f.byFirst[text[i]]
		for k := range list {
			a := &list[k]
			if a.special && !special || len(a.text) > len(text)-i || text[i:i+len(a.text)] != a.text {
				continue
			}
			begin, end := i, i+len(a.text)
			if a.alone && (wordAt(text[:begin], false) || wordAt(text[end:], true)) {
				continue
			}
			for a.left && begin > from {
				r, n := utf8.DecodeLastRuneInString(text[from:begin])
				if !unicode.IsSpace(r) {
					break
				}
				begin -= n
			}
			for a.right && end < len(text) {
				r, n := utf8.DecodeRuneInString(text[end:])
				if !unicode.IsSpace(r) {
					break
				}
				end += n
			}
			return a, begin, end
		}
	}
	return nil, len(text), len(text)
}

// wordAt says whether a text begins or ends with what words are made of.
func wordAt(text string, first bool) bool {
	if text == "" {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(text)
	if first {
		r, _ = utf8.DecodeRuneInString(text)
	}
	return isWord(r)
}
