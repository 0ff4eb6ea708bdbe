package tokenizer

import (
	"strconv"
	"strings"
)

// decoder gives the bytes of a token.
type decoder interface {
	bytes(token string, d *decoding) []byte
}

// decoding is what a decoder remembers of a text.
type decoding struct {
	begun   bool // something was decoded
	trimmed bool // the space before the text is gone, or was not there
}

// literal gives a token that is written as it is.
func (d *decoding) literal(token string) []byte {
	d.begun, d.trimmed = true, true
	return []byte(token)
}

// decodeLetters reads tokens of byte-level vocabularies.
type decodeLetters struct{}

func (decodeLetters) bytes(token string, _ *decoding) []byte {
	if raw, ok := bytesOfLetters(token); ok {
		return raw
	}
	return []byte(token)
}

// decodeSpaces reads tokens with ▁ for spaces, and bytes as <0x41>.
type decodeSpaces struct {
	mark     string
	trim     bool // one space goes at the beginning of a text
	fallback bool
}

func (s decodeSpaces) bytes(token string, d *decoding) []byte {
	var out []byte
	if b, ok := byteOf(token); s.fallback && ok {
		out = []byte{b}
	} else {
		out = []byte(strings.ReplaceAll(token, s.mark, " "))
	}
	if s.trim && !d.trimmed && len(out) > 0 {
		d.trimmed = true
		if out[0] == ' ' {
			out = out[1:]
		}
	}
	d.begun = true
	return out
}

// byteOf reads <0x41>.
func byteOf(token string) (b byte, ok bool) {
	if len(token) != 6 || !strings.HasPrefix(token, "<0x") || token[5] != '>' {
		return 0, false
	}
	n, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(n), err == nil
}

// decodeWords reads tokens of WordPiece: spaces before those that do not continue a word.
type decodeWords struct {
	mark  string
	clean bool // no space before punctuation and contractions
}

var cleaner = strings.NewReplacer(" .", ".", " ?", "?", " !", "!", " ,", ",", " ' ", "'", " n't", "n't", " 'm", "'m", " do not", " don't", " 's", "'s", " 've", "'ve", " 're", "'re")

func (w decodeWords) bytes(token string, d *decoding) []byte {
	if d.begun {
		if rest, ok := strings.CutPrefix(token, w.mark); ok {
			token = rest
		} else {
			token = " " + token
		}
	}
	d.begun = true
	if w.clean {
		token = cleaner.Replace(token)
	}
	return []byte(token)
}

// decodePlain reads tokens that are text.
type decodePlain struct{}

func (decodePlain) bytes(token string, _ *decoding) []byte { return []byte(token) }
