package chat

import "strconv"

// tuple reads expressions with commas between; one alone is itself.
func (p *parser) tuple() (expression, error) {
	first, err := p.expression()
	if err != nil || p.peek().text != "," || p.peek().kind != 'o' {
		return first, err
	}
	all := []expression{first}
	for p.is('o', ",") {
		if t := p.peek(); t.kind == 0 || t.kind == 'o' && (t.text == ")" || t.text == "]") {
			break
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return &listExpression{all, true}, nil
}

// expression reads one: a if b else c.
func (p *parser) expression() (expression, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("expressions stand in each other deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	e, err := p.or()
	for err == nil && p.is('n', "if") {
		c := &choiceExpression{then: e}
		if c.when, err = p.or(); err != nil {
			return nil, err
		}
		if p.is('n', "else") {
			if c.otherwise, err = p.expression(); err != nil {
				return nil, err
			}
		}
		e = c
	}
	return e, err
}

func (p *parser) or() (expression, error) {
	a, err := p.and()
	for err == nil && p.is('n', "or") {
		b, e := p.and()
		a, err = &logicExpression{a, b, true}, e
	}
	return a, err
}

func (p *parser) and() (expression, error) {
	a, err := p.not()
	for err == nil && p.is('n', "and") {
		b, e := p.not()
		a, err = &logicExpression{a, b, false}, e
	}
	return a, err
}

func (p *parser) not() (expression, error) {
	count := 0
	for p.is('n', "not") {
		count++
	}
	e, err := p.compare()
	for ; err == nil && count > 0 && count < maxDepth; count-- {
		e = &notExpression{e}
	}
	return e, err
}

// comparison is what of a comparison comes next; "" if none does.
func (p *parser) comparison() string {
	t := p.peek()
	switch {
	case t.kind == 'o' && (t.text == "==" || t.text == "!=" || t.text == "<" || t.text == "<=" || t.text == ">" || t.text == ">="), t.kind == 'n' && t.text == "in":
		p.take()
		return t.text
	case t.kind == 'n' && t.text == "not" && len(p.tokens) > 1 && p.tokens[1].text == "in" && p.tokens[1].kind == 'n':
		p.take()
		p.take()
		return "not in"
	}
	return ""
}

func (p *parser) compare() (expression, error) {
	first, err := p.levels(0)
	c := &compareExpression{line: p.line, first: first}
	for err == nil {
		op := p.comparison()
		if op == "" {
			break
		}
		var b expression
		b, err = p.levels(0)
		c.ops, c.others = append(c.ops, op), append(c.others, b)
	}
	if len(c.ops) == 0 {
		return first, err
	}
	return c, err
}

// levels are the operators that take two numbers or texts, those that bind less first.
var levels = [][]string{{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}}

func (p *parser) levels(n int) (expression, error) {
	if n == len(levels) {
		return p.unary(true)
	}
	a, err := p.levels(n + 1)
	for err == nil {
		op := ""
		for _, s := range levels[n] {
			if p.is('o', s) {
				op = s
				break
			}
		}
		if op == "" {
			break
		}
		b, e := p.levels(n + 1)
		a, err = &twoExpression{p.line, op, a, b}, e
	}
	return a, err
}

func (p *parser) unary(filters bool) (e expression, err error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("expressions stand in each other deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.is('o', "-"):
		e, err = p.unary(false)
		e = &negateExpression{p.line, e}
	case p.is('o', "+"):
		e, err = p.unary(false)
	default:
		e, err = p.primary()
	}
	if err == nil {
		e, err = p.postfix(e)
	}
	if err == nil && filters {
		e, err = p.filters(e)
	}
	return e, err
}

func (p *parser) primary() (expression, error) {
	t := p.take()
	switch t.kind {
	case 's':
		text := t.text
		for p.peek().kind == 's' {
			text += p.take().text
		}
		return &constExpression{text}, nil
	case 'i':
		n, err := integer(t.text)
		if err != nil {
			return nil, p.fail("the integer %.32s is too large", t.text)
		}
		return &constExpression{n}, nil
	case 'f':
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, p.fail("the number %.32s is too large", t.text)
		}
		return &constExpression{f}, nil
	case 'n':
		switch t.text {
		case "true", "True":
			return &constExpression{true}, nil
		case "false", "False":
			return &constExpression{false}, nil
		case "none", "None":
			return &constExpression{nil}, nil
		}
		return &nameExpression{p.line, t.text}, nil
	}
	switch t.text {
	case "(":
		if p.is('o', ")") {
			return &listExpression{nil, true}, nil
		}
		e, err := p.tuple()
		if err != nil {
			return nil, err
		}
		return e, p.want('o', ")")
	case "[":
		return p.items()
	case "{":
		return p.pairs()
	case "":
		return nil, p.fail("an expression is missing")
	}
	return nil, p.fail("%.16q begins no expression", t.text)
}

func (p *parser) items() (expression, error) {
	out := &listExpression{}
	for !p.is('o', "]") {
		if len(out.items) > 0 {
			if err := p.want('o', ","); err != nil {
				return nil, err
			}
			if p.is('o', "]") {
				break
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, e)
	}
	return out, nil
}

func (p *parser) pairs() (expression, error) {
	out := &dictExpression{line: p.line}
	for !p.is('o', "}") {
		if len(out.keys) > 0 {
			if err := p.want('o', ","); err != nil {
				return nil, err
			}
			if p.is('o', "}") {
				break
			}
		}
		k, err := p.expression()
		if err != nil {
			return nil, err
		}
		if err := p.want('o', ":"); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		out.keys, out.values = append(out.keys, k), append(out.values, v)
	}
	return out, nil
}

// postfix reads fields, items, slices and calls.
func (p *parser) postfix(e expression) (expression, error) {
	for n := 0; ; n++ {
		if n > maxDepth {
			return nil, p.fail("more than %d fields and calls of one value", maxDepth)
		}
		switch {
		case p.is('o', "."):
			t := p.take()
			if t.kind != 'n' && t.kind != 'i' {
				return nil, p.fail("a field's name was expected, not %.16q", t.text)
			}
			var key any = t.text
			if t.kind == 'i' {
				key, _ = integer(t.text)
			}
			e = &itemExpression{p.line, e, &constExpression{key}, true}
		case p.is('o', "["):
			i, err := p.index(e)
			if err != nil {
				return nil, err
			}
			e = i
		case p.is('o', "("):
			c := &callExpression{line: p.line, what: e}
			var err error
			if c.arguments, err = p.arguments(); err != nil {
				return nil, err
			}
			e = c
		default:
			return e, nil
		}
	}
}

// index reads what stands in brackets behind a value.
func (p *parser) index(of expression) (expression, error) {
	var parts [3]expression
	n := 0
	for {
		if t := p.peek(); !(t.kind == 'o' && (t.text == ":" || t.text == "]")) {
			e, err := p.expression()
			if err != nil {
				return nil, err
			}
			parts[n] = e
		}
		if p.is('o', "]") {
			break
		}
		if err := p.want('o', ":"); err != nil {
			return nil, err
		}
		if n++; n == 3 {
			return nil, p.fail("a slice has at most three parts")
		}
	}
	if n > 0 {
		return &sliceExpression{p.line, of, parts}, nil
	}
	if parts[0] == nil {
		return nil, p.fail("an index is missing")
	}
	return &itemExpression{p.line, of, parts[0], false}, nil
}

// arguments are those of a call: by place and by name.
type arguments struct {
	places []expression
	names  []string
	named  []expression
}

func (p *parser) arguments() (a arguments, err error) {
	for first := true; !p.is('o', ")"); first = false {
		if !first {
			if err := p.want('o', ","); err != nil {
				return a, err
			}
			if p.is('o', ")") {
				break
			}
		}
		name := ""
		if t := p.peek(); t.kind == 'n' && len(p.tokens) > 1 && p.tokens[1].kind == 'o' && p.tokens[1].text == "=" {
			name = t.text
			p.take()
			p.take()
		}
		e, err := p.expression()
		if err != nil {
			return a, err
		}
		if name != "" {
			a.names, a.named = append(a.names, name), append(a.named, e)
		} else if len(a.names) > 0 {
			return a, p.fail("an argument by place stands behind one by name")
		} else {
			a.places = append(a.places, e)
		}
	}
	return a, nil
}

// filters reads filters and tests behind a value.
func (p *parser) filters(e expression) (expression, error) {
	for n := 0; ; n++ {
		if n > maxDepth {
			return nil, p.fail("more than %d filters of one value", maxDepth)
		}
		switch {
		case p.is('o', "|"):
			f := &filterExpression{line: p.line, of: e}
			var err error
			if f.name, err = p.word(); err != nil {
				return nil, err
			}
			if !known(f.name) {
				return nil, p.fail("the filter %.32q is not known", f.name)
			}
			if p.is('o', "(") {
				if f.arguments, err = p.arguments(); err != nil {
					return nil, err
				}
			}
			e = f
		case p.is('n', "is"):
			t, err := p.test(e)
			if err != nil {
				return nil, err
			}
			e = t
		default:
			return e, nil
		}
	}
}

func (p *parser) test(of expression) (expression, error) {
	t := &testExpression{line: p.line, of: of, not: p.is('n', "not")}
	var err error
	if t.name, err = p.word(); err != nil {
		return nil, err
	}
	if _, ok := tests[t.name]; !ok {
		return nil, p.fail("the test %.32q is not known", t.name)
	}
	switch next := p.peek(); {
	case p.is('o', "("):
		t.arguments, err = p.arguments()
	case next.kind == 's' || next.kind == 'i' || next.kind == 'f' || next.kind == 'o' && (next.text == "[" || next.text == "{"),
		next.kind == 'n' && next.text != "else" && next.text != "or" && next.text != "and" && next.text != "if" && next.text != "is":
		var e expression
		if e, err = p.primary(); err == nil {
			e, err = p.postfix(e)
		}
		t.arguments.places = []expression{e}
	}
	return t, err
}
