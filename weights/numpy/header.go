package numpy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/weights"
)

// dtypes are the element types by their letter and size.
var dtypes = map[string]string{
	"b1": "BOOL", "i1": "I8", "i2": "I16", "i4": "I32", "i8": "I64", "u1": "U8", "u2": "U16", "u4": "U32", "u8": "U64",
	"f2": "F16", "f4": "F32", "f8": "F64", "c8": "C64",
}

// parseHeader reads a Python dict like {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
func parseHeader(text string) (*array, error) {
	p := &literal{rest: text}
	a := &array{}
	seen := map[string]bool{}
	p.expect("{")
	for p.err == nil && !p.accept("}") {
		key := p.text()
		p.expect(":")
		if seen[key] {
			return nil, fmt.Errorf("%.32q occurs twice", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			p.dtype(&a.info)
		case "fortran_order":
			a.fortran = p.bool()
		case "shape":
			a.info.Shape = p.sizes()
		default:
			if p.err == nil {
				p.err = fmt.Errorf("unknown field %.32q", key)
			}
		}
		if !p.accept(",") {
			p.expect("}")
			break
		}
	}
	switch {
	case p.err != nil:
		return nil, p.err
	case strings.TrimSpace(p.rest) != "":
		return nil, fmt.Errorf("%.16q follows the dict", strings.TrimSpace(p.rest))
	case len(seen) != 3:
		return nil, errors.New("descr, fortran_order and shape belong into it")
	}
	var err error
	a.info.Bytes, err = weights.Size(a.info.DType, a.info.Shape)
	return a, err
}

// literal reads what a header may hold; after an error it reads nothing.
type literal struct {
	rest string
	err  error
}

func (p *literal) accept(s string) bool {
	p.rest = strings.TrimLeft(p.rest, " \n")
	rest, ok := strings.CutPrefix(p.rest, s)
	if p.err == nil && ok {
		p.rest = rest
	}
	return p.err == nil && ok
}

func (p *literal) expect(s string) {
	if p.err == nil && !p.accept(s) {
		p.err = fmt.Errorf("%.16q where %q belongs", p.rest, s)
	}
}

func (p *literal) text() string {
	quote := "'"
	if !p.accept(quote) {
		quote = `"`
		p.expect(quote)
	}
	text, rest, ok := strings.Cut(p.rest, quote)
	if p.err == nil && (!ok || strings.ContainsAny(text, "\\\n")) {
		p.err = fmt.Errorf("%.16q where a text belongs", p.rest)
	}
	if p.err != nil {
		return ""
	}
	p.rest = rest
	return text
}

func (p *literal) dtype(info *weights.Info) {
	if p.accept("[") {
		p.err = errors.New("an array of records, which is not read")
		return
	}
	descr := p.text()
	if p.err != nil || len(descr) < 2 {
		p.err = errors.Join(p.err, fmt.Errorf("type %.16q is not read", descr))
		return
	}
	order, kind := descr[0], descr[1:]
	info.DType = dtypes[kind]
	switch {
	case kind[0] == 'O':
		p.err = errors.New("an array of Python objects, which is a program; nothing is executed")
	case info.DType == "":
		p.err = fmt.Errorf("type %.16q is not read", descr)
	case order == '>' && kind[1] != '1':
		p.err = fmt.Errorf("type %q is big-endian, which is not read; save it as '<%s'", descr, kind)
	case order != '<' && order != '|' && order != '=' && order != '>':
		p.err = fmt.Errorf("type %.16q is not read", descr)
	}
}

func (p *literal) bool() bool {
	if p.accept("True") {
		return true
	}
	p.expect("False")
	return false
}

func (p *literal) sizes() []int64 {
	out := []int64{}
	p.expect("(")
	for p.err == nil && !p.accept(")") {
		p.rest = strings.TrimLeft(p.rest, " \n")
		end := 0
		for end < len(p.rest) && p.rest[end] >= '0' && p.rest[end] <= '9' {
			end++
		}
		n, err := strconv.ParseInt(p.rest[:end], 10, 64)
		if err != nil || len(out) == weights.MaxRank {
			p.err = fmt.Errorf("%.24q is no size below 2^63, or one too many", p.rest)
			return nil
		}
		out = append(out, n)
		p.rest = strings.TrimPrefix(p.rest[end:], "L")
		if !p.accept(",") {
			p.expect(")")
			break
		}
	}
	return out
}
