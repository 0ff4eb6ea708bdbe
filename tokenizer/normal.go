package tokenizer

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normaliser changes a text before it is cut.
type normaliser func(text string) string

// normalisers are applied one after the other.
func normalised(all []normaliser, text string) string {
	for _, n := range all {
		text = n(text)
	}
	return text
}

// lower writes in lower case, character by character.
func lower(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == 'İ' { // the one whose lower case is two characters
			b.WriteString("i\u0307")
		} else {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// without drops characters.
func without(text string, drop func(r rune) bool) string {
	return strings.Map(func(r rune) rune {
		if drop(r) {
			return -1
		}
		return r
	}, text)
}

func isMark(r rune) bool { return unicode.Is(unicode.Mn, r) }

// bert are the normalisations of BERT: no control characters, one kind of space, spaces around Chinese characters, no accents, lower case.
func bert(clean, chinese, accents, lowercase bool) normaliser {
	return func(text string) string {
		if clean {
			text = without(text, func(r rune) bool {
				return r == 0 || r == 0xfffd || r != '\t' && r != '\n' && r != '\r' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs)
			})
			text = strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) {
					return ' '
				}
				return r
			}, text)
		}
		if chinese {
			var b strings.Builder
			for _, r := range text {
				if isChinese(r) {
					b.WriteRune(' ')
					b.WriteRune(r)
					b.WriteRune(' ')
				} else {
					b.WriteRune(r)
				}
			}
			text = b.String()
		}
		if accents {
			text = without(norm.NFD.String(text), isMark)
		}
		if lowercase {
			text = lower(text)
		}
		return text
	}
}

// isChinese is the characters that BERT takes for words.
func isChinese(r rune) bool {
	for _, b := range [][2]rune{{0x4e00, 0x9fff}, {0x3400, 0x4dbf}, {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
		{0xf900, 0xfaff}, {0x2f800, 0x2fa1f}} {
		if r >= b[0] && r <= b[1] {
			return true
		}
	}
	return false
}
