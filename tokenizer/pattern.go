package tokenizer

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pre-tokenisers are written as regular expressions that look ahead, which package regexp refuses because it keeps to linear time. This is
// the part of the language that they use: alternatives, groups ((?:…), (?i:…), (…)), classes, escapes \s \S \d \w \p{…}, ? * + {m,n}, greedy
// only, (?=…), (?!…) and $. The first alternative that matches wins, as in Perl. Steps are counted, and a match that takes too many
// of them is an error.

// pattern is a parsed expression.
type pattern struct {
	source string
	root   node
}

// node is a part of an expression: match calls then with each place where it can end, in order, until that is content.
type node interface {
	match(m *matching, at int, then func(at int) bool) bool
}

type (
	sequence []node
	choice   []node
	class    func(r rune) bool
	repeat   struct {
		of       node
		min, max int
	}
	look struct {
		of  node
		not bool
	}
	end struct{}
)

const (
	maxPattern = 1 << 16 // bytes
	maxNesting = 32
	maxRepeat  = 1000
	unlimited  = 1 << 30
)

var errPattern = errors.New("is not understood")

type patternParser struct {
	rest  string
	fold  bool
	depth int
}

// parsePattern parses an expression, or says what of it is not understood.
func parsePattern(source string) (*pattern, error) {
	if len(source) > maxPattern {
		return nil, fmt.Errorf("a pattern of %d bytes, at most %d are read", len(source), maxPattern)
	}
	if !utf8.ValidString(source) {
		return nil, errors.New("a pattern that is not valid UTF-8")
	}
	p := &patternParser{rest: source}
	root, err := p.choice()
	if err == nil && p.rest != "" {
		err = errPattern
	}
	if err != nil {
		return nil, fmt.Errorf("pattern %.200q: at byte %d: %w", source, len(source)-len(p.rest), err)
	}
	return &pattern{source, root}, nil
}

func (p *patternParser) accept(s string) bool {
	rest, ok := strings.CutPrefix(p.rest, s)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *patternParser) choice() (node, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, errors.New("groups are nested too deep")
	}
	defer func() { p.depth-- }()
	var all choice
	for {
		s, err := p.sequence()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
		if !p.accept("|") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *patternParser) sequence() (node, error) {
	var all sequence
	for p.rest != "" && p.rest[0] != '|' && p.rest[0] != ')' {
		n, err := p.atom()
		if err != nil {
			return nil, err
		}
		if n, err = p.repeated(n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// repeated reads what stands behind an atom.
func (p *patternParser) repeated(n node) (node, error) {
	low, high := 1, 1
	switch {
	case p.accept("?"):
		low = 0
	case p.accept("*"):
		low, high = 0, unlimited
	case p.accept("+"):
		high = unlimited
	case strings.HasPrefix(p.rest, "{"):
		var err error
		if low, high, err = p.bounds(); err != nil {
			return nil, err
		}
	default:
		return n, nil
	}
	if p.rest != "" && strings.ContainsRune("?*+{", rune(p.rest[0])) {
		return nil, errPattern // lazy and possessive ones
	}
	return repeat{n, low, high}, nil
}

func (p *patternParser) bounds() (low, high int, err error) {
	inner, rest, ok := strings.Cut(p.rest[1:], "}")
	if !ok {
		return 0, 0, errPattern
	}
	a, b, two := strings.Cut(inner, ",")
	if low, ok = smallNumber(a); !ok {
		return 0, 0, errPattern
	}
	high = low
	if two {
		high = unlimited
		if b != "" {
			if high, ok = smallNumber(b); !ok || high < low {
				return 0, 0, errPattern
			}
		}
	}
	p.rest = rest
	return low, high, nil
}

func smallNumber(s string) (n int, ok bool) {
	for _, c := range s {
		if c < '0' || c > '9' || n > maxRepeat {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, s != "" && n <= maxRepeat
}

func (p *patternParser) atom() (node, error) {
	switch {
	case p.accept("(?:"):
		return p.group(p.fold)
	case p.accept("(?i:"):
		return p.group(true)
	case p.accept("(?="):
		n, err := p.group(p.fold)
		return look{n, false}, err
	case p.accept("(?!"):
		n, err := p.group(p.fold)
		return look{n, true}, err
	case strings.HasPrefix(p.rest, "(?"):
		return nil, errPattern
	case p.accept("("):
		return p.group(p.fold)
	case p.accept("["):
		return p.class()
	case p.accept("$"):
		return end{}, nil
	case p.accept("."):
		return class(func(r rune) bool { return r != '\n' }), nil
	}
	if strings.ContainsRune("?*+{^", rune(p.rest[0])) {
		return nil, errPattern
	}
	c, r, err := p.escape()
	if err != nil || c != nil {
		return c, err
	}
	return p.single(r), nil
}

// single is one character, or both of its cases.
func (p *patternParser) single(r rune) class {
	if !p.fold || unicode.SimpleFold(r) == r {
		return func(x rune) bool { return x == r }
	}
	return func(x rune) bool {
		for y := unicode.SimpleFold(x); ; y = unicode.SimpleFold(y) {
			if y == r {
				return true
			}
			if y == x {
				return false
			}
		}
	}
}

func (p *patternParser) group(fold bool) (node, error) {
	old := p.fold
	p.fold = fold
	n, err := p.choice()
	p.fold = old
	if err == nil && !p.accept(")") {
		err = errors.New("a group does not end")
	}
	return n, err
}

// escape reads a character, or a class that begins with a backslash.
func (p *patternParser) escape() (class, rune, error) {
	r, n := utf8.DecodeRuneInString(p.rest)
	if p.rest == "" {
		return nil, 0, errors.New("it ends too early")
	}
	p.rest = p.rest[n:]
	if r != '\\' {
		return nil, r, nil
	}
	r, n = utf8.DecodeRuneInString(p.rest)
	if p.rest == "" {
		return nil, 0, errors.New("it ends with a backslash")
	}
	p.rest = p.rest[n:]
	switch r {
	case 's':
		return unicode.IsSpace, 0, nil
	case 'S':
		return func(r rune) bool { return !unicode.IsSpace(r) }, 0, nil
	case 'd':
		return func(r rune) bool { return unicode.Is(unicode.Nd, r) }, 0, nil
	case 'w':
		return isWord, 0, nil
	case 'W':
		return func(r rune) bool { return !isWord(r) }, 0, nil
	case 'p', 'P':
		return p.property(r == 'P')
	case 'r':
		return nil, '\r', nil
	case 'n':
		return nil, '\n', nil
	case 't':
		return nil, '\t', nil
	}
	if r >= 0x80 || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return nil, 0, errPattern
	}
	return nil, r, nil
}

// isWord is \w: letters, marks, digits, connectors (Unicode TR 18).
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Pc, r) || unicode.Is(unicode.Other_Alphabetic, r) ||
		unicode.Is(unicode.Nl, r) || r == 0x200c || r == 0x200d
}

func (p *patternParser) property(not bool) (class, rune, error) {
	name, rest, ok := strings.Cut(p.rest, "}")
	if !ok || !strings.HasPrefix(name, "{") {
		return nil, 0, errPattern
	}
	name = name[1:]
	if n, ok := strings.CutPrefix(name, "^"); ok {
		name, not = n, !not
	}
	table := unicode.Categories[name]
	if table == nil {
		table = unicode.Scripts[name]
	}
	if table == nil {
		return nil, 0, fmt.Errorf("the property %.32q is not known", name)
	}
	p.rest = rest
	return func(r rune) bool { return unicode.Is(table, r) != not }, 0, nil
}

// class reads what stands between brackets.
func (p *patternParser) class() (node, error) {
	not := p.accept("^")
	var singles []class
	var ranges [][2]rune
	for first := true; first || !p.accept("]"); first = false {
		if strings.HasPrefix(p.rest, "[") || strings.HasPrefix(p.rest, "&&") {
			return nil, errPattern
		}
		c, low, err := p.escape()
		if err != nil {
			return nil, err
		}
		if c != nil {
			singles = append(singles, c)
			continue
		}
		high := low
		if strings.HasPrefix(p.rest, "-") && !strings.HasPrefix(p.rest, "-]") {
			p.rest = p.rest[1:]
			if c, high, err = p.escape(); err != nil || c != nil || high < low {
				return nil, errors.Join(errPattern, err)
			}
		}
		if p.fold && (unicode.IsLetter(low) || unicode.IsLetter(high)) {
			return nil, errPattern
		}
		ranges = append(ranges, [2]rune{low, high})
	}
	return class(func(r rune) bool {
		for _, b := range ranges {
			if r >= b[0] && r <= b[1] {
				return !not
			}
		}
		for _, c := range singles {
			if c(r) {
				return !not
			}
		}
		return not
	}), nil
}
