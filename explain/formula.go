package explain

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/uop"
)

const (
	deepest = 6   // levels of a formula
	longest = 400 // bytes of one
)

var infix = map[uop.Op]string{
	uop.Add: "+", uop.Mul: "·", uop.Div: "/", uop.IDiv: "div", uop.Mod: "mod", uop.Less: "<", uop.Equal: "=", uop.And: "and", uop.Or: "or",
	uop.Xor: "xor", uop.Shl: "<<", uop.Shr: ">>",
}

// formula writes an expression as people do, as far as it is short.
func (s *Story) formula(u *uop.UOp) string {
	text := s.write(u, deepest)
	if len(text) > longest {
		cut := longest
		for cut > 0 && text[cut]&0xc0 == 0x80 { // not inside of a character
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

func (s *Story) write(u *uop.UOp, depth int) string {
	if i, ok := s.name.Get(u); ok && len(u.Shape()) > 0 {
		return fmt.Sprintf("%%%d %v", i, u)
	}
	if len(u.Src()) == 0 {
		return u.String()
	}
	if depth == 0 {
		return "…"
	}
	list := func(nodes []*uop.UOp) string {
		out := make([]string, len(nodes))
		for i, x := range nodes {
			out[i] = s.write(x, depth-1)
		}
		return strings.Join(out, ", ")
	}
	src := u.Src()
	switch op := infix[u.Op()]; {
	case op != "":
		return "(" + s.write(src[0], depth-1) + " " + op + " " + s.write(src[1], depth-1) + ")"
	case u.Op() == uop.Load:
		of := src[0].String()
		if element(u) {
			of = s.nameOf(src[0])
		}
		text := of + "[" + list(src[2:]) + "]"
		if !src[1].IsConst(1) {
			text += " where " + s.write(src[1], depth-1)
		}
		return text
	case u.Op() == uop.Where:
		return "(" + s.write(src[0], depth-1) + " ? " + s.write(src[1], depth-1) + " : " + s.write(src[2], depth-1) + ")"
	case u.Op() == uop.Reduce:
		a := u.Arg().(uop.ReduceArg)
		if over := list(src[a.Parts:]); over != "" {
			return fmt.Sprintf("%v over %s of (%s)", a.Monoid, over, list(src[:a.Parts]))
		}
		return fmt.Sprintf("%v along %v of (%s)", a.Monoid, a.Axes, list(src[:a.Parts]))
	case u.Op() == uop.Part:
		return fmt.Sprintf("part %v of %s", u.Arg(), list(src))
	}
	return u.Op().String() + "(" + list(src) + ")"
}
