package chat

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// piece is a part of a template: text, or what stands between {{ }} or {% %}.
type piece struct {
	kind   byte // 't' text, '{' a value that is printed, '%' a statement
	text   string
	line   int
	tokens []token
}

// token is a word of an expression: a name, a number, a string or a sign.
type token struct {
	kind byte // 'n' name, 'i' integer, 'f' float, 's' string, 'o' sign; 0: the end
	text string
	line int
}

// scanner cuts a template. White space is taken away as the libraries of models do: a line break after a statement, and blanks of a line
// before one.
type scanner struct {
	name, source string
	at, line     int
	pieces       []piece
	strip        bool // the white space that follows goes
	trim         bool // one line break that follows goes
}

func scan(name, source string) ([]piece, error) {
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	s := &scanner{name: name, source: strings.TrimSuffix(source, "\n"), line: 1}
	for s.at < len(s.source) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	return s.pieces, nil
}

func (s *scanner) fail(line int, format string, args ...any) error {
	return &Error{Name: s.name, Line: line, Cause: fmt.Sprintf(format, args...)}
}

// opening finds the next of {{, {% and {#; the end where there is none.
func (s *scanner) opening(from int) int {
	for i := from; i+1 < len(s.source); i++ {
		if s.source[i] == '{' && strings.IndexByte("{%#", s.source[i+1]) >= 0 {
			return i
		}
	}
	return len(s.source)
}

// next takes text and the tag behind it.
func (s *scanner) next() error {
	open := s.opening(s.at)
	text := s.source[s.at:open]
	if open == len(s.source) {
		s.put(text, false)
		s.at = open
		return nil
	}
	kind, after := s.source[open+1], open+2
	sign := byte(0)
	if after < len(s.source) && (s.source[after] == '-' || s.source[after] == '+') {
		sign = s.source[after]
		after++
	}
	blank := 0
	if kind != '{' && sign == 0 { // blanks from the line's beginning on
		blank = len(text) - len(strings.TrimRight(text, " \t"))
		begin := open - blank
		if begin > 0 && s.source[begin-1] != '\n' {
			blank = 0
		}
	}
	s.put(text[:len(text)-blank], sign == '-')
	s.line += strings.Count(s.source[s.at:open], "\n")
	return s.tag(kind, after)
}

// put keeps text, without the white space that tags around it take.
func (s *scanner) put(text string, stripEnd bool) {
	if s.strip {
		text = strings.TrimLeft(text, " \t\n\f\v")
	} else if s.trim {
		text = strings.TrimPrefix(text, "\n")
	}
	if stripEnd {
		text = strings.TrimRight(text, " \t\n\f\v")
	}
	s.strip, s.trim = false, false
	if text != "" {
		s.pieces = append(s.pieces, piece{kind: 't', text: text, line: s.line})
	}
}

// tag takes a comment, a statement or a value.
func (s *scanner) tag(kind byte, at int) error {
	line := s.line
	if kind == '#' {
		end := strings.Index(s.source[at:], "#}")
		if end < 0 {
			return s.fail(line, "a comment {# has no end #}")
		}
		s.line += strings.Count(s.source[at:at+end], "\n")
		sign := byte(0)
		if end > 0 {
			sign = s.source[at+end-1]
		}
		s.strip, s.trim = sign == '-', sign != '+'
		s.at = at + end + 2
		return nil
	}
	p := piece{kind: kind, line: line}
	end := "}}"
	if kind == '%' {
		end = "%}"
	}
	depth := 0
	for {
		for at < len(s.source) && strings.IndexByte(" \t\n", s.source[at]) >= 0 {
			if s.source[at] == '\n' {
				s.line++
			}
			at++
		}
		rest := s.source[at:]
		sign := byte(0)
		if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') && strings.HasPrefix(rest[1:], end) {
			sign = rest[0]
		}
		if sign != 0 || strings.HasPrefix(rest, end) && depth == 0 {
			at += len(end)
			if sign != 0 {
				at++
			}
			s.at, s.strip, s.trim = at, sign == '-', kind == '%' && sign != '+'
			s.pieces = append(s.pieces, p)
			if kind == '%' && len(p.tokens) == 1 && p.tokens[0].text == "raw" {
				return s.raw(line)
			}
			return nil
		}
		t, n, err := s.token(rest, line)
		if err != nil {
			return err
		}
		if t.kind == 'o' {
			switch t.text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth--
			}
		}
		p.tokens = append(p.tokens, t)
		s.line += strings.Count(rest[:n], "\n")
		at += n
	}
}

// raw takes what stands between {% raw %} and {% endraw %} as text.
func (s *scanner) raw(line int) error {
	s.pieces = s.pieces[:len(s.pieces)-1]
	for from := s.at; ; {
		open := strings.Index(s.source[from:], "{%")
		if open < 0 {
			return s.fail(line, "raw has no endraw")
		}
		open += from
		inner := strings.TrimLeft(s.source[open+2:], "-+")
		inner = strings.TrimLeft(inner, " \t\n")
		if !strings.HasPrefix(inner, "endraw") {
			from = open + 2
			continue
		}
		text := s.source[s.at:open]
		s.put(text, s.source[open+2] == '-')
		end := strings.Index(s.source[open:], "%}")
		if end < 0 {
			return s.fail(line, "endraw has no end %%}")
		}
		sign := s.source[open+end-1]
		s.line += strings.Count(s.source[s.at:open+end], "\n")
		s.at, s.strip, s.trim = open+end+2, sign == '-', sign != '+'
		return nil
	}
}

var signs = []string{"**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">", "=", "(", ")", "[", "]", "{", "}", ",", ".", ":", "|"}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// token takes the word with which rest begins, and says how many bytes it has.
func (s *scanner) token(rest string, opened int) (token, int, error) {
	if rest == "" {
		return token{}, 0, s.fail(opened, "a tag that begins here has no end")
	}
	c := rest[0]
	switch {
	case letter(c):
		n := 1
		for n < len(rest) && (letter(rest[n]) || digit(rest[n])) {
			n++
		}
		return token{'n', rest[:n], s.line}, n, nil
	case digit(c):
		return s.number(rest)
	case c == '"' || c == '\'':
		return s.quoted(rest)
	}
	for _, sign := range signs {
		if strings.HasPrefix(rest, sign) {
			return token{'o', sign, s.line}, len(sign), nil
		}
	}
	return token{}, 0, s.fail(s.line, "%.8q has no meaning here", rest)
}

func (s *scanner) number(rest string) (token, int, error) {
	n, kind := 0, byte('i')
	digits := func() {
		for n < len(rest) && (digit(rest[n]) || rest[n] == '_' && n > 0) {
			n++
		}
	}
	digits()
	if n+1 < len(rest) && rest[n] == '.' && digit(rest[n+1]) {
		kind = 'f'
		n++
		digits()
	}
	if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
		m := n + 1
		if m < len(rest) && (rest[m] == '-' || rest[m] == '+') {
			m++
		}
		if m < len(rest) && digit(rest[m]) {
			kind, n = 'f', m
			digits()
		}
	}
	return token{kind, strings.ReplaceAll(rest[:n], "_", ""), s.line}, n, nil
}

// quoted takes a string with Python's escapes.
func (s *scanner) quoted(rest string) (token, int, error) {
	var out strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == rest[0]:
			return token{'s', out.String(), s.line}, i + 1, nil
		case c != '\\' || i+1 == len(rest):
			out.WriteByte(c)
		default:
			text, n, err := escaped(rest[i+1:])
			if err != nil {
				return token{}, 0, s.fail(s.line, "%v", err)
			}
			out.WriteString(text)
			i += n
		}
	}
	return token{}, 0, s.fail(s.line, "the string %.16q has no end", rest)
}

// escaped is what an escape means, behind its backslash, and of how many bytes it is.
func escaped(rest string) (string, int, error) {
	const letters, mean = "ntrabfv\\'\"", "\n\t\r\a\b\f\v\\'\""
	if i := strings.IndexByte(letters, rest[0]); i >= 0 {
		return mean[i : i+1], 1, nil
	}
	if rest[0] == '\n' {
		return "", 1, nil
	}
	n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[rest[0]]
	if n == 0 {
		return "\\" + rest[:1], 1, nil
	}
	if len(rest) <= n {
		return "", 0, fmt.Errorf("the escape \\%s is cut off", rest)
	}
	r, err := strconv.ParseUint(rest[1:1+n], 16, 32)
	if err != nil || !utf8.ValidRune(rune(r)) {
		return "", 0, fmt.Errorf("the escape \\%.9s is no character", rest)
	}
	return string(rune(r)), 1 + n, nil
}
