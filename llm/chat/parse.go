package chat

import (
	"fmt"
	"slices"
	"strconv"
)

// parser makes statements of pieces.
type parser struct {
	name   string
	pieces []piece
	at     int
	tokens []token // of the tag that is read
	line   int
	depth  int
	loops  int // that a break would end
}

// tagWords are the statements that are read, and by what.
var tagWords map[string]func(*parser) (statement, error)

func init() {
	tagWords = map[string]func(*parser) (statement, error){"for": (*parser).forTag, "if": (*parser).ifTag, "set": (*parser).setTag, "macro": (*parser).macroTag,
		"break": (*parser).breakTag, "continue": (*parser).breakTag, "generation": (*parser).generationTag}
}

func (p *parser) fail(format string, args ...any) error {
	return &Error{Name: p.name, Line: p.line, Cause: fmt.Sprintf(format, args...)}
}

func (p *parser) parse() ([]statement, error) {
	body, end, err := p.block()
	if err == nil && end != "" {
		err = p.fail("%s ends nothing", end)
	}
	return body, err
}

// block reads statements up to one of the tags that end them, whose word is returned and whose other tokens are left.
func (p *parser) block(ends ...string) (body []statement, end string, err error) {
	if p.depth++; p.depth > maxDepth {
		return nil, "", p.fail("blocks stand in each other deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	for ; p.at < len(p.pieces); p.at++ {
		piece := p.pieces[p.at]
		p.line, p.tokens = piece.line, piece.tokens
		switch piece.kind {
		case 't':
			body = append(body, textStatement(piece.text))
			continue
		case '{':
			e, err := p.whole()
			if err != nil {
				return nil, "", err
			}
			body = append(body, &printStatement{e})
			continue
		}
		word := p.take().text
		if slices.Contains(ends, word) || len(word) > 3 && word[:3] == "end" || word == "else" || word == "elif" {
			if len(ends) > 0 && !slices.Contains(ends, word) {
				return nil, "", p.fail("%s ends nothing here; %q would", word, ends)
			}
			p.at++
			return body, word, nil
		}
		read, ok := tagWords[word]
		if !ok {
			return nil, "", p.fail("the statement %.32q is not known", word)
		}
		p.at++
		s, err := read(p)
		if err != nil {
			return nil, "", err
		}
		body = append(body, s)
		p.at--
	}
	if len(ends) > 0 {
		return nil, "", p.fail("the template ends before %s", ends[len(ends)-1])
	}
	return body, "", nil
}

// whole reads an expression that is all there is.
func (p *parser) whole() (expression, error) {
	e, err := p.tuple()
	if err == nil {
		err = p.done()
	}
	return e, err
}

func (p *parser) done() error {
	if len(p.tokens) > 0 {
		return p.fail("%.16q was not expected", p.tokens[0].text)
	}
	return nil
}

func (p *parser) peek() token {
	if len(p.tokens) == 0 {
		return token{line: p.line}
	}
	return p.tokens[0]
}

func (p *parser) take() token {
	t := p.peek()
	if len(p.tokens) > 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

// is takes a sign or a word if it comes next.
func (p *parser) is(kind byte, text string) bool {
	if t := p.peek(); t.kind == kind && t.text == text {
		p.take()
		return true
	}
	return false
}

func (p *parser) want(kind byte, text string) error {
	if !p.is(kind, text) {
		return p.fail("%q was expected, not %.16q", text, p.peek().text)
	}
	return nil
}

func (p *parser) word() (string, error) {
	t := p.take()
	if t.kind != 'n' {
		return "", p.fail("a name was expected, not %.16q", t.text)
	}
	return t.text, nil
}

// names reads names with commas between.
func (p *parser) names() ([]string, error) {
	var out []string
	for {
		open := p.is('o', "(")
		n, err := p.word()
		if err != nil {
			return nil, err
		}
		if out = append(out, n); open {
			for p.is('o', ",") {
				if n, err = p.word(); err != nil {
					return nil, err
				}
				out = append(out, n)
			}
			return out, p.want('o', ")")
		}
		if !p.is('o', ",") {
			return out, nil
		}
	}
}

func (p *parser) forTag() (statement, error) {
	f := &forStatement{line: p.line}
	var err error
	if f.names, err = p.names(); err != nil {
		return nil, err
	}
	if err = p.want('n', "in"); err != nil {
		return nil, err
	}
	if f.over, err = p.or(); err != nil { // "x if y" is a loop with a condition
		return nil, err
	}
	if p.is('n', "if") {
		if f.only, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if err = p.done(); err != nil {
		return nil, err
	}
	p.loops++
	body, end, err := p.block("else", "endfor")
	p.loops--
	if f.body = body; err != nil {
		return nil, err
	}
	if end == "else" {
		if f.none, _, err = p.block("endfor"); err != nil {
			return nil, err
		}
	}
	return f, p.done()
}

func (p *parser) ifTag() (statement, error) {
	s := &ifStatement{}
	var err error
	if s.when, err = p.whole(); err != nil {
		return nil, err
	}
	var end string
	if s.then, end, err = p.block("elif", "else", "endif"); err != nil {
		return nil, err
	}
	switch end {
	case "elif":
		if p.depth++; p.depth > maxDepth {
			return nil, p.fail("more than %d branches", maxDepth)
		}
		defer func() { p.depth-- }()
		other, err := p.ifTag()
		s.otherwise = []statement{other}
		return s, err
	case "else":
		if s.otherwise, _, err = p.block("endif"); err != nil {
			return nil, err
		}
	}
	return s, p.done()
}

func (p *parser) setTag() (statement, error) {
	s := &setStatement{line: p.line}
	var err error
	if s.names, err = p.names(); err != nil {
		return nil, err
	}
	if len(s.names) == 1 && p.is('o', ".") {
		if s.field, err = p.word(); err != nil {
			return nil, err
		}
	}
	if p.is('o', "=") {
		s.value, err = p.whole()
		return s, err
	}
	if err = p.done(); err != nil || len(s.names) != 1 {
		return nil, p.fail("set wants a name and =")
	}
	s.body, _, err = p.block("endset")
	if err == nil {
		err = p.done()
	}
	return s, err
}

func (p *parser) macroTag() (statement, error) {
	m := &macroStatement{}
	var err error
	if m.name, err = p.word(); err != nil {
		return nil, err
	}
	if err = p.want('o', "("); err != nil {
		return nil, err
	}
	for !p.is('o', ")") {
		if len(m.names) > 0 {
			if err = p.want('o', ","); err != nil {
				return nil, err
			}
		}
		name, err := p.word()
		if err != nil {
			return nil, err
		}
		var usual expression
		if p.is('o', "=") {
			if usual, err = p.expression(); err != nil {
				return nil, err
			}
		}
		m.names, m.usual = append(m.names, name), append(m.usual, usual)
	}
	if err = p.done(); err != nil {
		return nil, err
	}
	loops := p.loops
	p.loops = 0
	m.body, _, err = p.block("endmacro")
	p.loops = loops
	if err == nil && len(p.tokens) > 0 { // the name may be said again
		_, err = p.word()
	}
	if err == nil {
		err = p.done()
	}
	return m, err
}

func (p *parser) breakTag() (statement, error) {
	word := p.pieces[p.at-1].tokens[0].text
	if p.loops == 0 {
		return nil, p.fail("%s outside of a loop", word)
	}
	return leaveStatement(word), p.done()
}

// generationTag reads what marks the model's own words for training; they are printed as any.
func (p *parser) generationTag() (statement, error) {
	if err := p.done(); err != nil {
		return nil, err
	}
	body, _, err := p.block("endgeneration")
	if err == nil {
		err = p.done()
	}
	return &groupStatement{body}, err
}

func integer(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }
