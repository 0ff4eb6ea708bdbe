package tokenizer

import "strings"

// Byte-level vocabularies write each byte as a letter that can be seen: those of Latin-1 that can be as themselves, the others
// by letters from U+0100 on (Radford and others, 2019).
var (
	letters [256]rune
	bytesOf = map[rune]byte{}
)

func init() {
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if !(r >= '!' && r <= '~' || r >= '¡' && r <= '¬' || r >= '®' && r <= 'ÿ') {
			r = next
			next++
		}
		letters[b] = r
		bytesOf[r] = byte(b)
	}
}

// lettersOf writes bytes as letters.
func lettersOf(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteRune(letters[text[i]])
	}
	return b.String()
}

// bytesOfLetters is the way back; ok is false where a letter stands for no byte.
func bytesOfLetters(text string) (out []byte, ok bool) {
	for _, r := range text {
		b, ok := bytesOf[r]
		if !ok {
			return nil, false
		}
		out = append(out, b)
	}
	return out, true
}
