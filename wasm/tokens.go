//go:build !lean

package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type token struct {
	kind byte // 'n' a number, 'a' a name, 's' a text, 'o' an operator, 0 the end
	text string
	at   int // byte in the text
}

var operators = []string{"**", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "@", "<", ">", "(", ")", "[", "]", "{", "}", ",", ".", ":"}

func (s *speaker) scan() {
	letter := func(r rune) bool { return r == '_' || unicode.IsLetter(r) }
	for at := 0; at < len(s.text); {
		rest := s.text[at:]
		r, _ := utf8.DecodeRuneInString(rest)
		n := 0
		switch {
		case r == ' ' || r == '\t' || r == '\n':
			at++
			continue
		case r >= '0' && r <= '9' || r == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
			for n < len(rest) && (strings.IndexByte("0123456789.eE", rest[n]) >= 0 || (rest[n] == '-' || rest[n] == '+') && (rest[n-1]|0x20) == 'e') {
				n++
			}
			s.tokens = append(s.tokens, token{'n', rest[:n], at})
		case letter(r):
			if n = strings.IndexFunc(rest, func(r rune) bool { return !letter(r) && (r < '0' || r > '9') }); n < 0 {
				n = len(rest)
			}
			s.tokens = append(s.tokens, token{'a', rest[:n], at})
		case r == '"' || r == '\'':
			n = strings.IndexByte(rest[1:], rest[0])
			if n < 0 {
				s.stop(at, "the text that begins here has no end")
			}
			s.tokens = append(s.tokens, token{'s', rest[1 : n+1], at})
			n += 2
		default:
			for _, o := range operators {
				if strings.HasPrefix(rest, o) {
					n = len(o)
					break
				}
			}
			if n == 0 {
				s.stop(at, "%q means nothing here", string(r))
			}
			s.tokens = append(s.tokens, token{'o', rest[:n], at})
		}
		at += n
	}
	s.tokens = append(s.tokens, token{at: len(s.text)})
}

// stop fails while tokens are made.
func (s *speaker) stop(at int, format string, a ...any) {
	s.tokens = append(s.tokens, token{at: at})
	s.at = len(s.tokens) - 1
	s.fail(format, a...)
}

func (s *speaker) peek() token { return s.tokens[min(s.at, len(s.tokens)-1)] }

// accept takes an operator if it comes next.
func (s *speaker) accept(ops ...string) (string, bool) {
	t := s.peek()
	if t.kind == 'o' {
		for _, o := range ops {
			if t.text == o {
				s.at++
				return o, true
			}
		}
	}
	return "", false
}

func (s *speaker) want(op string) {
	if _, ok := s.accept(op); !ok {
		if t := s.peek(); t.kind != 0 {
			s.fail("%q stands where %q belongs", t.text, op)
		}
		s.fail("the end comes where %q belongs", op)
	}
}
